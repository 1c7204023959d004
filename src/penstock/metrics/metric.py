"""Metrics as a function sees them, under PyFlink's names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


class Metric:
    """Anything that a function measures."""


class Counter(Metric, ABC):
    """A number that goes up and down."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Counts up."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Counts down."""

    @abstractmethod
    def get_count(self) -> int:
        """What this subtask has counted since it was opened."""


class Meter(Metric, ABC):
    """How many events there were, and how many of them per second."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Something happened, once or several times."""

    @abstractmethod
    def get_count(self) -> int:
        """What this subtask has marked since it was opened."""


class Distribution(Metric, ABC):
    """Number, sum, smallest and largest of some values."""

    @abstractmethod
    def update(self, value: float) -> None:
        """Takes in one more value."""


class MetricGroup(ABC):
    """Where a function registers metrics; a group may hold other groups."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group within this one; with `extra` a pair of groups, the inner one is given."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """A counter of this name; the same one when it is asked for again."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """A value that the function computes when asked: at the end of every batch."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """A meter of this name: how often something happens."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """A distribution of this name: count, sum, least, greatest and mean of whole numbers."""
