"""Tumbling windows: windows of a fixed size that do not overlap."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.errors import PlanError
from penstock.time import Duration, to_millis
from penstock.windows.assigner import WindowAssigner, require_timestamp
from penstock.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.window import TimeWindow


@dataclass(frozen=True, slots=True)
class _TumblingWindows(WindowAssigner[Any, TimeWindow]):
    size: int
    offset: int = 0

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.size <= 0:
            raise PlanError(
                "WINDOW_SIZE",
                f"{name} has a size of {self.size} ms, but it must be positive. "
                "Pass a time such as Duration.of_seconds(10).",
            )
        if abs(self.offset) >= self.size:
            raise PlanError(
                "WINDOW_OFFSET",
                f"{name} has an offset of {self.offset} ms and a size of {self.size} ms, but the offset must be smaller "
                "than the size. Windows repeat every size, so offset % size results in the same windows.",
            )

    def grid(self) -> tuple[int, int] | None:
        if type(self) not in (TumblingEventTimeWindows, TumblingProcessingTimeWindows):
            return None  # a subclass may assign other windows
        return self.size, self.offset

    def window_of(self, time: int) -> TimeWindow:
        """Returns the window that contains a time."""
        start = time - (time - self.offset) % self.size
        return TimeWindow(start, start + self.size)


class TumblingEventTimeWindows(_TumblingWindows):
    """Assigns elements to windows of a fixed size by their timestamps.

    >>> TumblingEventTimeWindows.of(Duration.of_millis(10)).assign_windows("a", 12, None)
    [TimeWindow(start=10, end=20)]
    """

    __slots__ = ()

    @classmethod
    def of(cls, size: Duration | timedelta | int, offset: Duration | timedelta | int = 0) -> TumblingEventTimeWindows:
        """Returns an assigner of windows of `size`. An `int` is in milliseconds."""
        return cls(to_millis(size), to_millis(offset))

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [self.window_of(require_timestamp(timestamp))]

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class TumblingProcessingTimeWindows(_TumblingWindows):
    """Assigns elements to windows of a fixed size by processing time.

    >>> TumblingProcessingTimeWindows.of(Duration.of_minutes(1), Duration.of_seconds(10)).offset
    10000
    """

    __slots__ = ()

    @classmethod
    def of(
        cls, size: Duration | timedelta | int, offset: Duration | timedelta | int = 0
    ) -> TumblingProcessingTimeWindows:
        """Returns an assigner of windows of `size`. An `int` is in milliseconds."""
        return cls(to_millis(size), to_millis(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return [self.window_of(context.get_current_processing_time())]

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
