"""Evictors by count, by time and by distance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.errors import PlanError
from penstock.time import Duration, to_millis
from penstock.windows.delta_function import DeltaFunction, to_delta_callable
from penstock.windows.evictor import Evictor, TimestampedValue
from penstock.windows.window import Window


class _OneSidedEvictor(Evictor):
    """Evicts elements either before or after the window function."""

    __slots__ = ()
    do_evict_after: bool

    @abstractmethod
    def evict(self, elements: list[TimestampedValue], size: int) -> None:
        """Deletes elements from the list."""

    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        if not self.do_evict_after:
            self.evict(elements, size)

    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        if self.do_evict_after:
            self.evict(elements, size)


@dataclass(frozen=True, slots=True)
class CountEvictor(_OneSidedEvictor):
    """Keeps the last `max_count` elements of a window.

    >>> elements = [TimestampedValue(v, None) for v in "abc"]
    >>> CountEvictor.of(2).evict_before(elements, 3, None, None); [e.value for e in elements]
    ['b', 'c']
    """

    max_count: int
    do_evict_after: bool = False

    def __post_init__(self) -> None:
        if self.max_count < 0:
            raise PlanError(
                "EVICTOR_COUNT",
                f"A count evictor has a count of {self.max_count}, but it must not be negative. "
                "Pass the number of elements to keep.",
            )

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Returns an evictor that runs before the window function, or after it with `do_evict_after`."""
        return CountEvictor(max_count, do_evict_after)

    def evict(self, elements: list[TimestampedValue], size: int) -> None:
        del elements[: max(0, size - self.max_count)]


@dataclass(frozen=True, slots=True)
class TimeEvictor(_OneSidedEvictor):
    """Keeps the elements that are less than `window_size` milliseconds older than the newest one.

    If an element has no timestamp, no element is evicted.

    >>> elements = [TimestampedValue(v, v) for v in (1, 5, 6)]
    >>> TimeEvictor.of(Duration.of_millis(4)).evict_before(elements, 3, None, None); [e.value for e in elements]
    [5, 6]
    """

    window_size: int
    do_evict_after: bool = False

    def __post_init__(self) -> None:
        if self.window_size < 0:
            raise PlanError(
                "EVICTOR_TIME",
                f"A time evictor has a time of {self.window_size} ms, but it must not be negative. "
                "Pass a time such as Duration.of_seconds(10).",
            )

    @staticmethod
    def of(window_size: Duration | timedelta | int, do_evict_after: bool = False) -> TimeEvictor:
        """Returns an evictor that runs before the window function, or after it with `do_evict_after`."""
        return TimeEvictor(to_millis(window_size), do_evict_after)

    def evict(self, elements: list[TimestampedValue], size: int) -> None:
        times = [e.timestamp for e in elements if e.timestamp is not None]
        if len(times) == len(elements) and times:
            cutoff = max(times) - self.window_size
            elements[:] = [e for e, time in zip(elements, times, strict=True) if time > cutoff]


@dataclass(frozen=True, slots=True)
class DeltaEvictor(_OneSidedEvictor):
    """Keeps the elements whose distance to the last element, delta(element, last), is less than `threshold`.

    >>> elements = [TimestampedValue(v, None) for v in (1, 5, 6)]
    >>> DeltaEvictor.of(3, lambda old, new: new - old).evict_before(elements, 3, None, None); [e.value for e in elements]
    [5, 6]
    """

    threshold: float
    delta_function: DeltaFunction | Callable[[Any, Any], float]
    do_evict_after: bool = False

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaFunction | Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> DeltaEvictor:
        """Returns an evictor that runs before the window function, or after it with `do_evict_after`."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def evict(self, elements: list[TimestampedValue], size: int) -> None:
        if elements:
            delta, last = to_delta_callable(self.delta_function), elements[-1].value
            elements[:] = [e for e in elements if delta(e.value, last) < self.threshold]
