"""Windows on a grid of time, divided into slices whose elements belong to the same windows (time-rules 5.9)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.runtime.loop.records import Column
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP
from penstock.windows import WindowAssigner
from penstock.windows.assigner import require_timestamp


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of windows. A tumbling window is one slice; sliding windows share slices of gcd(size, slide).

    >>> Grid(10, 5, 0).window_starts(5)
    [5, 0]
    """

    size: int
    slide: int
    offset: int

    @classmethod
    def from_assigner(cls, assigner: WindowAssigner[Any, Any]) -> Grid:
        """Returns the grid of a tumbling or sliding assigner."""
        size: int = assigner.size  # type: ignore[attr-defined]
        return cls(size, getattr(assigner, "slide", size), assigner.offset)  # type: ignore[attr-defined]

    @property
    def width(self) -> int:
        """The length of a slice in milliseconds."""
        return math.gcd(self.size, self.slide)

    def slice_starts(self, times: Column) -> Column:
        """Returns the start of the slice of each timestamp."""
        if len(times) and times.min() == NO_TIMESTAMP:
            require_timestamp(NO_TIMESTAMP)
        return times - (times - self.offset) % self.width

    def distinct(self, slices: Column) -> list[int]:
        """Returns the distinct slices, ascending."""
        if not len(slices):
            return []
        lowest, width = int(slices.min()), self.width
        steps = (slices - lowest) // width
        if int(steps.max()) > 4 * len(steps) + 1024:  # far apart
            return [int(s) for s in np.unique(slices)]
        return [lowest + width * step for step in np.flatnonzero(np.bincount(steps)).tolist()]

    def last_window_starts(self, slices: Column) -> Column:
        """Returns the start of the last window of each slice."""
        return slices if self.slide == self.width else slices - (slices - self.offset) % self.slide

    def last_window_start(self, start: int) -> int:
        """Returns the start of the last window of a slice."""
        return start - (start - self.offset) % self.slide

    def window_starts(self, start: int) -> list[int]:
        """Returns the starts of the windows of a slice, latest first."""
        return list(range(self.last_window_start(start), start - self.size, -self.slide))

    def slices_of_window(self, window: int) -> range:
        """Returns the slices of the window with the given start."""
        return range(window, window + self.size, self.width)

    def lateness_classes(self, slices: Column, watermarks: Column) -> tuple[Column, Column] | None:
        """Returns how many windows of its slice had been cleaned up when each element arrived, and the last cleanup time.

        Returns None if that is zero for all elements, as it is for elements that arrive in order.
        """
        behind = np.flatnonzero(watermarks >= slices + (self.width - 1))
        if not len(behind):
            return None
        classes = np.zeros(len(slices), np.int64)
        passed = np.full(len(slices), MIN_WATERMARK, np.int64)
        some, marks = slices[behind], watermarks[behind]
        last = self.last_window_starts(some)
        windows = (last - (some - self.size) - 1) // self.slide + 1
        first_cleanup = last - (windows - 1) * self.slide + self.size - 1
        reached = marks >= first_cleanup
        cleaned = np.minimum((np.maximum(marks, first_cleanup) - first_cleanup) // self.slide + reached, windows)
        classes[behind] = cleaned
        passed[behind] = np.where(reached, first_cleanup + (cleaned - 1) * self.slide, MIN_WATERMARK)
        return classes, passed
