"""Sliding windows: windows of a fixed size that overlap."""

from __future__ import annotations

import math
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
class _SlidingWindows(WindowAssigner[Any, TimeWindow]):
    size: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.size <= 0 or self.slide <= 0:
            raise PlanError(
                "WINDOW_SIZE",
                f"{name} has a size of {self.size} ms and a slide of {self.slide} ms, but both must be positive. "
                "Pass times such as Duration.of_minutes(10) and Duration.of_minutes(1).",
            )
        if abs(self.offset) >= self.slide:
            raise PlanError(
                "WINDOW_OFFSET",
                f"{name} has an offset of {self.offset} ms and a slide of {self.slide} ms, but the offset must be smaller "
                "than the slide. Windows start at every slide, so offset % slide results in the same windows.",
            )

    def grid(self) -> tuple[int, int] | None:
        if type(self) not in (SlidingEventTimeWindows, SlidingProcessingTimeWindows):
            return None  # a subclass may assign other windows
        return math.gcd(self.size, self.slide), self.offset

    def windows_of(self, time: int) -> list[TimeWindow]:
        """Returns the windows that contain a time, latest first."""
        size, slide = self.size, self.slide
        last = time - (time - self.offset) % slide
        return [TimeWindow(start, start + size) for start in range(last, time - size, -slide)]


class SlidingEventTimeWindows(_SlidingWindows):
    """Assigns elements to overlapping windows by their timestamps.

    >>> SlidingEventTimeWindows.of(Duration.of_millis(10), Duration.of_millis(5)).assign_windows("a", 7, None)
    [TimeWindow(start=5, end=15), TimeWindow(start=0, end=10)]
    """

    __slots__ = ()

    @classmethod
    def of(
        cls,
        size: Duration | timedelta | int,
        slide: Duration | timedelta | int,
        offset: Duration | timedelta | int = 0,
    ) -> SlidingEventTimeWindows:
        """Returns an assigner of windows of `size` that start every `slide`. An `int` is in milliseconds."""
        return cls(to_millis(size), to_millis(slide), to_millis(offset))

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return self.windows_of(require_timestamp(timestamp))

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class SlidingProcessingTimeWindows(_SlidingWindows):
    """Assigns elements to overlapping windows by processing time.

    >>> SlidingProcessingTimeWindows.of(Duration.of_minutes(1), Duration.of_seconds(10)).slide
    10000
    """

    __slots__ = ()

    @classmethod
    def of(
        cls,
        size: Duration | timedelta | int,
        slide: Duration | timedelta | int,
        offset: Duration | timedelta | int = 0,
    ) -> SlidingProcessingTimeWindows:
        """Returns an assigner of windows of `size` that start every `slide`. An `int` is in milliseconds."""
        return cls(to_millis(size), to_millis(slide), to_millis(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return self.windows_of(context.get_current_processing_time())

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
