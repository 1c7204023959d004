"""The metrics of one operator in one subtask. The changes of a batch that is rolled back are discarded."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.errors import PlanError
from penstock.metrics.metric import Counter, Distribution, Meter, MetricGroup
from penstock.metrics.values import (
    CounterValue,
    DistributionValue,
    GaugeValue,
    MeterValue,
    MetricValue,
    OperatorMetrics,
)

_log = logging.getLogger("penstock.metrics")


class _Counter(Counter):
    __slots__ = ("_before", "_count", "_last")

    def __init__(self) -> None:
        self._count = 0
        self._before = 0  # at the start of the current batch
        self._last = 0  # at the start of the previous batch

    def inc(self, n: int = 1) -> None:
        self._count += n

    def dec(self, n: int = 1) -> None:
        self._count -= n

    def get_count(self) -> int:
        return self._count

    def take(self, now: int) -> MetricValue:
        return CounterValue(self._change())

    def _change(self) -> int:
        change = self._count - self._before
        self._last, self._before = self._before, self._count
        return change

    def roll_back(self, taken: bool) -> None:
        self._count = self._before = self._last if taken else self._before


class _Meter(_Counter, Meter):
    __slots__ = ("_past", "_span")

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self._span = seconds * 1000
        self._past: deque[tuple[int, int]] = deque()  # time and count at the ends of the batches within the time span

    def mark_event(self, value: int = 1) -> None:
        self._count += value

    def take(self, now: int) -> MetricValue:
        past = self._past
        while len(past) > 1 and past[1][0] <= now - self._span:
            past.popleft()
        before = past[0][1] if past else 0
        past.append((now, self._count))
        return MeterValue(self._change(), (self._count - before) * 1000 / self._span)

    def roll_back(self, taken: bool) -> None:
        super().roll_back(taken)
        if taken and self._past:
            self._past.pop()


class _Distribution(Distribution):
    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: list[float] = []

    def update(self, value: float) -> None:
        self._values.append(value)

    def take(self, now: int) -> MetricValue:
        values, self._values = self._values, []
        if not values:
            return DistributionValue()
        return DistributionValue(len(values), sum(values), min(values), max(values))

    def roll_back(self, taken: bool) -> None:
        self._values = []


class _Gauge:
    def __init__(self, name: str, function: Callable[[], Any]) -> None:
        self._name = name
        self._function = function

    def take(self, now: int) -> MetricValue:
        try:
            value = self._function()
        except Exception as error:  # a failing gauge must not fail the job
            _log.warning("Gauge '%s' raised %s: %s", self._name, type(error).__name__, error)
            value = None
        return GaugeValue(value if isinstance(value, int | float | str | None) else repr(value))

    def roll_back(self, taken: bool) -> None:
        """A gauge has no state."""


_RegisteredMetric = _Counter | _Meter | _Distribution | _Gauge
M = TypeVar("M", bound=_RegisteredMetric)


class SubtaskMetrics:
    """The registered metrics of one operator in one subtask.

    >>> metrics = SubtaskMetrics("count")
    >>> seen = metrics.group().counter("seen")
    >>> metrics.begin(); seen.inc(); metrics.roll_back()
    >>> metrics.begin(); seen.inc(); metrics.take(0)
    OperatorMetrics(operator='count', values={'seen': CounterValue(count=1)})
    """

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self._metrics: dict[str, _RegisteredMetric] = {}
        self._running = False  # a batch has begun
        self._taken = False  # the changes of the last batch were taken

    def group(self) -> MetricGroup:
        return _Group(self, ())

    def begin(self) -> None:
        """Begins a batch. Discards the changes of an attempt that did not finish."""
        if self._running:
            self.roll_back()
        self._running, self._taken = True, False

    def take(self, now: int) -> OperatorMetrics:
        """Returns the changes since the batch began."""
        self._running, self._taken = False, True
        return OperatorMetrics(self._operator, {name: metric.take(now) for name, metric in self._metrics.items()})

    def roll_back(self) -> None:
        """Discards the changes of the last batch, whether it finished or not."""
        for metric in self._metrics.values():
            metric.roll_back(self._taken)
        self._running = self._taken = False

    def register(self, name: str, kind: type[M], create: Callable[[], M]) -> M:
        known = self._metrics.get(name)
        if known is None:
            created = self._metrics[name] = create()
            return created
        if type(known) is not kind:
            raise PlanError(
                "METRIC_NAME",
                f"Operator '{self._operator}' registers metric '{name}' twice, with different types. "
                "Use another name or another group for one of them.",
            )
        return known


class _Group(MetricGroup):
    def __init__(self, metrics: SubtaskMetrics, path: tuple[str, ...]) -> None:
        self._metrics = metrics
        self._path = path

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        return _Group(self._metrics, (*self._path, name) if extra is None else (*self._path, name, extra))

    def counter(self, name: str) -> Counter:
        return self._metrics.register(self._full_name(name), _Counter, _Counter)

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self._metrics.register(self._full_name(name), _Gauge, lambda: _Gauge(name, obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        return self._metrics.register(self._full_name(name), _Meter, lambda: _Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        return self._metrics.register(self._full_name(name), _Distribution, _Distribution)

    def _full_name(self, name: str) -> str:
        return ".".join((*self._path, name))
