"""Session windows, which end after a period of inactivity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.errors import PlanError, TimeError
from penstock.time import Duration, to_millis
from penstock.windows.assigner import MergingWindowAssigner, WindowAssigner, require_timestamp
from penstock.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.window import TimeWindow


class SessionWindowTimeGapExtractor(ABC):
    """Extracts the session gap of an element in milliseconds."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Returns the session gap of an element in milliseconds."""


@dataclass(frozen=True, slots=True)
class _SessionWindows(MergingWindowAssigner[Any, TimeWindow]):
    gap: int

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise PlanError(
                "SESSION_GAP",
                f"{type(self).__name__} has a gap of {self.gap} ms, but it must be positive. "
                "Pass the period of inactivity after which a session ends, such as Duration.of_minutes(30).",
            )


@dataclass(frozen=True, slots=True)
class _DynamicSessionWindows(MergingWindowAssigner[Any, TimeWindow]):
    extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]

    def session_of(self, element: Any, time: int) -> TimeWindow:
        """Returns the window of an element, from a time to the end of its gap."""
        extractor = self.extractor
        gap = extractor.extract(element) if isinstance(extractor, SessionWindowTimeGapExtractor) else extractor(element)
        if gap <= 0:
            raise TimeError(
                "SESSION_GAP",
                f"The gap extractor returned {gap!r} for {element!r}, but a gap is a positive number of milliseconds. "
                "Return the period of inactivity after which the session of this element ends.",
            )
        return TimeWindow(time, time + gap)


class EventTimeSessionWindows(_SessionWindows):
    """Assigns elements to sessions by their timestamps. A session ends when no element arrives within the gap.

    >>> EventTimeSessionWindows.with_gap(Duration.of_millis(5)).assign_windows("a", 10, None)
    [TimeWindow(start=10, end=15)]
    """

    __slots__ = ()

    @classmethod
    def with_gap(cls, size: Duration | timedelta | int) -> EventTimeSessionWindows:
        """Returns an assigner with a fixed gap. An `int` is in milliseconds."""
        return cls(to_millis(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicEventTimeSessionWindows:
        """Returns an assigner that computes the gap of each element, in milliseconds."""
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        start = require_timestamp(timestamp)
        return [TimeWindow(start, start + self.gap)]

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class ProcessingTimeSessionWindows(_SessionWindows):
    """Assigns elements to sessions by processing time. A session ends when no element arrives within the gap.

    >>> ProcessingTimeSessionWindows.with_gap(Duration.of_minutes(30)).gap
    1800000
    """

    __slots__ = ()

    @classmethod
    def with_gap(cls, size: Duration | timedelta | int) -> ProcessingTimeSessionWindows:
        """Returns an assigner with a fixed gap. An `int` is in milliseconds."""
        return cls(to_millis(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicProcessingTimeSessionWindows:
        """Returns an assigner that computes the gap of each element, in milliseconds."""
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        now = context.get_current_processing_time()
        return [TimeWindow(now, now + self.gap)]

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


class DynamicEventTimeSessionWindows(_DynamicSessionWindows):
    """Assigns elements to sessions by their timestamps. Each element has its own gap.

    >>> EventTimeSessionWindows.with_dynamic_gap(len).assign_windows("abc", 10, None)
    [TimeWindow(start=10, end=13)]
    """

    __slots__ = ()

    @classmethod
    def with_dynamic_gap(
        cls, extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]
    ) -> DynamicEventTimeSessionWindows:
        """Returns an assigner that computes the gap of each element, in milliseconds."""
        return cls(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [self.session_of(element, require_timestamp(timestamp))]

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class DynamicProcessingTimeSessionWindows(_DynamicSessionWindows):
    """Assigns elements to sessions by processing time. Each element has its own gap.

    >>> ProcessingTimeSessionWindows.with_dynamic_gap(len).is_event_time()
    False
    """

    __slots__ = ()

    @classmethod
    def with_dynamic_gap(
        cls, extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]
    ) -> DynamicProcessingTimeSessionWindows:
        """Returns an assigner that computes the gap of each element, in milliseconds."""
        return cls(extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return [self.session_of(element, context.get_current_processing_time())]

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
