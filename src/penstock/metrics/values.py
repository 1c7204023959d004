"""Metric values in reports: changes of counters and distributions, current values of gauges and rates."""

from __future__ import annotations

import msgspec


class CounterValue(msgspec.Struct, tag="counter", array_like=True, frozen=True):
    """The change of a counter, or its total."""

    count: int

    def after(self, before: CounterValue) -> CounterValue:
        return CounterValue(before.count + self.count)


class MeterValue(msgspec.Struct, tag="meter", array_like=True, frozen=True):
    """The number of events, and the current rate per second."""

    count: int
    rate: float

    def after(self, before: MeterValue) -> MeterValue:
        return MeterValue(before.count + self.count, self.rate)


class GaugeValue(msgspec.Struct, tag="gauge", array_like=True, frozen=True):
    """The current value of a gauge."""

    value: int | float | str | None

    def after(self, before: GaugeValue) -> GaugeValue:
        return self


class DistributionValue(msgspec.Struct, tag="distribution", array_like=True, frozen=True):
    """Count, sum, minimum and maximum.

    >>> DistributionValue(1, 5, 5, 5).after(DistributionValue(2, 4, 1, 3))
    DistributionValue(count=3, sum=9, least=1, most=5)
    """

    count: int = 0
    sum: int | float = 0  # with float alone, msgspec would convert integers
    least: int | float | None = None
    most: int | float | None = None

    def after(self, before: DistributionValue) -> DistributionValue:
        lows = [v for v in (before.least, self.least) if v is not None]
        highs = [v for v in (before.most, self.most) if v is not None]
        return DistributionValue(
            before.count + self.count, before.sum + self.sum, min(lows, default=None), max(highs, default=None)
        )


MetricValue = CounterValue | MeterValue | GaugeValue | DistributionValue


class OperatorMetrics(msgspec.Struct, array_like=True):
    """The metrics of one operator, by group and name joined by dots."""

    operator: str
    values: dict[str, MetricValue]


MetricsDelta = dict[str, OperatorMetrics]  # by operator uid


def accumulate(value: MetricValue, before: MetricValue | None) -> MetricValue:
    """Adds the value of a batch to a total. A metric that changed its type starts again."""
    if before is None or type(before) is not type(value):
        return value
    return value.after(before)  # type: ignore[arg-type]
