"""Windows that last as long as elements keep coming: sessions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.errors import PlanError, TimeError
from penstock.time import Duration, millis_of
from penstock.windows.assigner import MergingWindowAssigner, WindowAssigner, event_time_of
from penstock.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.window import TimeWindow


class SessionWindowTimeGapExtractor(ABC):
    """Gives each element the gap, in milliseconds, after which its session ends."""

    @abstractmethod
    def extract(self, element: Any) -> int: ...


@dataclass(frozen=True, slots=True)
class _Session(MergingWindowAssigner[Any, TimeWindow]):
    gap: int

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise PlanError(
                "SESSION_GAP",
                f"{type(self).__name__} has a gap of {self.gap} ms; it must be positive. "
                "Give the silence after which a session ends, such as Duration.of_minutes(30).",
            )


@dataclass(frozen=True, slots=True)
class _DynamicSession(MergingWindowAssigner[Any, TimeWindow]):
    extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]

    def session_of(self, element: Any, time: int) -> TimeWindow:
        extractor = self.extractor
        gap = extractor.extract(element) if isinstance(extractor, SessionWindowTimeGapExtractor) else extractor(element)
        if gap <= 0:
            raise TimeError(
                "SESSION_GAP",
                f"The gap extractor gave {gap!r} for {element!r}; a gap is a positive number of milliseconds. "
                "Let the extractor return the silence after which this element's session ends.",
            )
        return TimeWindow(time, time + gap)


class EventTimeSessionWindows(_Session):
    """Sessions by the elements' timestamps.

    >>> EventTimeSessionWindows.with_gap(Duration.of_millis(5)).assign_windows("a", 10, None)
    [TimeWindow(start=10, end=15)]
    """

    __slots__ = ()

    @classmethod
    def with_gap(cls, size: Duration | timedelta | int) -> EventTimeSessionWindows:
        return cls(millis_of(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicEventTimeSessionWindows:
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        start = event_time_of(timestamp)
        return [TimeWindow(start, start + self.gap)]

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class ProcessingTimeSessionWindows(_Session):
    """Sessions by the batch clock.

    >>> ProcessingTimeSessionWindows.with_gap(Duration.of_minutes(30)).gap
    1800000
    """

    __slots__ = ()

    @classmethod
    def with_gap(cls, size: Duration | timedelta | int) -> ProcessingTimeSessionWindows:
        return cls(millis_of(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicProcessingTimeSessionWindows:
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


class DynamicEventTimeSessionWindows(_DynamicSession):
    """Sessions by the elements' timestamps; each element brings its own gap.

    >>> EventTimeSessionWindows.with_dynamic_gap(len).assign_windows("abc", 10, None)
    [TimeWindow(start=10, end=13)]
    """

    __slots__ = ()

    @classmethod
    def with_dynamic_gap(
        cls, extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]
    ) -> DynamicEventTimeSessionWindows:
        return cls(extractor)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [self.session_of(element, event_time_of(timestamp))]

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class DynamicProcessingTimeSessionWindows(_DynamicSession):
    """Sessions by the batch clock; each element brings its own gap.

    >>> ProcessingTimeSessionWindows.with_dynamic_gap(len).is_event_time()
    False
    """

    __slots__ = ()

    @classmethod
    def with_dynamic_gap(
        cls, extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]
    ) -> DynamicProcessingTimeSessionWindows:
        return cls(extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return [self.session_of(element, context.get_current_processing_time())]

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
