"""Windows of one size that start at every slide, so that an element is in several."""

from __future__ import annotations

import math
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
class _Sliding(WindowAssigner[Any, TimeWindow]):
    size: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.size <= 0 or self.slide <= 0:
            raise PlanError(
                "WINDOW_SIZE",
                f"{name} has a size of {self.size} ms and a slide of {self.slide} ms; both must be positive. "
                "Give lengths such as Duration.of_minutes(10) and Duration.of_minutes(1).",
            )
        if abs(self.offset) >= self.slide:
            raise PlanError(
                "WINDOW_OFFSET",
                f"{name} has an offset of {self.offset} ms and a slide of {self.slide} ms; the offset must be smaller "
                "than the slide. A window starts at every slide, so the rest of offset / slide gives the same windows.",
            )

    def grid(self) -> tuple[int, int] | None:
        known = type(self) in (SlidingEventTimeWindows, SlidingProcessingTimeWindows)
        return (
            (math.gcd(self.size, self.slide), self.offset) if known else None
        )  # a subclass may put elements elsewhere

    def windows_of(self, time: int) -> list[TimeWindow]:
        """The windows of a time, the latest first."""
        size, slide = self.size, self.slide
        last = time - (time - self.offset) % slide
        return [TimeWindow(start, start + size) for start in range(last, time - size, -slide)]


class SlidingEventTimeWindows(_Sliding):
    """Overlapping windows by the elements' timestamps.

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
        return cls(millis_of(size), millis_of(slide), millis_of(offset))

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return self.windows_of(event_time_of(timestamp))

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class SlidingProcessingTimeWindows(_Sliding):
    """Overlapping windows by the batch clock.

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
        return cls(millis_of(size), millis_of(slide), millis_of(offset))

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return self.windows_of(context.get_current_processing_time())

    def get_default_trigger(self, env: Any = None) -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
