"""The metric classes that functions use, with PyFlink's names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


class Metric:
    """Base class of all metrics."""


class Counter(Metric, ABC):
    """A count that can be incremented and decremented."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Increments the count by `n`."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Decrements the count by `n`."""

    @abstractmethod
    def get_count(self) -> int:
        """Returns the count of this subtask since the function was opened."""


class Meter(Metric, ABC):
    """The number of events, and the rate of events per second."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Records `value` events."""

    @abstractmethod
    def get_count(self) -> int:
        """Returns the number of events of this subtask since the function was opened."""


class Distribution(Metric, ABC):
    """Count, sum, minimum and maximum of recorded values."""

    @abstractmethod
    def update(self, value: float) -> None:
        """Records a value."""


class MetricGroup(ABC):
    """A named group in which a function registers metrics. Groups can be nested."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Returns a subgroup. With `extra`, creates a group `name` with a subgroup `extra` and returns the subgroup."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Returns the counter of this name. Further calls with the name return the same counter."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Registers a function that returns the current value. It is called at the end of every batch."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Returns the meter of this name. Its rate is the average over the given time span."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Returns the distribution of this name, which has count, sum, minimum, maximum and mean of the values."""
