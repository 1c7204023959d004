"""Windows of one size, side by side."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.errors import PlanError
from penstock.time import Duration, millis_of
from penstock.windows.assigner import WindowAssigner, event_time_of
from penstock.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.window import TimeWindow


@dataclass(frozen=True, slots=True)
class _Tumbling(WindowAssigner[Any, TimeWindow]):
    size: int
    offset: int = 0

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.size <= 0:
            raise PlanError(
                "WINDOW_SIZE",
                f"{name} has a size of {self.size} ms; it must be positive. "
                "Give a length such as Duration.of_seconds(10).",
            )
        if abs(self.offset) >= self.size:
            raise PlanError(
                "WINDOW_OFFSET",
                f"{name} has an offset of {self.offset} ms and a size of {self.size} ms; the offset must be smaller "
                "than the size. Windows repeat every size, so the rest of offset / size gives the same windows.",
            )

    def grid(self) -> tuple[int, int] | None:
        known = type(self) in (TumblingEventTimeWindows, TumblingProcessingTimeWindows)
        return (self.size, self.offset) if known else None  # a subclass may put elements elsewhere

    def window_of(self, time: int) -> TimeWindow:
        start = time - (time - self.offset) % self.size
        return TimeWindow(start, start + self.size)


class TumblingEventTimeWindows(_Tumbling):
    """Windows of one size by the elements' timestamps.

    >>> TumblingEventTimeWindows.of(Duration.of_millis(10)).assign_windows("a", 12, None)
    [TimeWindow(start=10, end=20)]
    """

    __slots__ = ()

    @classmethod
    def of(cls, size: Duration | timedelta | int, offset: Duration | timedelta | int = 0) -> TumblingEventTimeWindows:
        return cls(millis_of(size), millis_of(offset))

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [self.window_of(event_time_of(timestamp))]

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class TumblingProcessingTimeWindows(_Tumbling):
    """Windows of one size by the batch clock.

    >>> TumblingProcessingTimeWindows.of(Duration.of_minutes(1), Duration.of_seconds(10)).offset
    10000
    """

    __slots__ = ()

    @classmethod
    def of(
        cls, size: Duration | timedelta | int, offset: Duration | timedelta | int = 0
    ) -> TumblingProcessingTimeWindows:
        return cls(millis_of(size), millis_of(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return [self.window_of(context.get_current_processing_time())]

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
