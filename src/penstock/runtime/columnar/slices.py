"""Windows that stand on a grid of time, cut into slices whose elements belong to the same windows (time.md 5.9)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.runtime.records import Column
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP
from penstock.windows import WindowAssigner
from penstock.windows.assigner import event_time_of


@dataclass(frozen=True, slots=True)
class Grid:
    """Tumbling windows have one slice each; sliding ones share slices of gcd(size, slide).

    >>> Grid(10, 5, 0).windows_of(5)
    [5, 0]
    """

    size: int
    slide: int
    offset: int

    @classmethod
    def of(cls, assigner: WindowAssigner[Any, Any]) -> Grid:
        """The grid of a tumbling or sliding assigner."""
        size: int = assigner.size  # type: ignore[attr-defined]
        return cls(size, getattr(assigner, "slide", size), assigner.offset)  # type: ignore[attr-defined]

    @property
    def width(self) -> int:
        return math.gcd(self.size, self.slide)

    def slices(self, times: Column) -> Column:
        """The start of each time's slice."""
        if len(times) and times.min() == NO_TIMESTAMP:
            event_time_of(NO_TIMESTAMP)
        return times - (times - self.offset) % self.width

    def different(self, slices: Column) -> list[int]:
        """The different ones of some slices, in order."""
        if not len(slices):
            return []
        lowest, width = int(slices.min()), self.width
        steps = (slices - lowest) // width
        if int(steps.max()) > 4 * len(steps) + 1024:  # far apart
            return [int(s) for s in np.unique(slices)]
        return [lowest + width * step for step in np.flatnonzero(np.bincount(steps)).tolist()]

    def last_starts(self, slices: Column) -> Column:
        """The start of the last window of each slice."""
        return slices if self.slide == self.width else slices - (slices - self.offset) % self.slide

    def last_start(self, start: int) -> int:
        """The start of the last window of a slice."""
        return start - (start - self.offset) % self.slide

    def windows_of(self, start: int) -> list[int]:
        """The starts of a slice's windows, the latest first."""
        return list(range(self.last_start(start), start - self.size, -self.slide))

    def slices_of(self, window: int) -> range:
        """The slices of the window that starts here."""
        return range(window, window + self.size, self.width)

    def classes(self, slices: Column, watermarks: Column) -> tuple[Column, Column] | None:
        """How many of a slice's windows had been cleaned up when an element came, and when the last of them was.

        None where that is none, for all elements: so it is when they come in order.
        """
        behind = np.flatnonzero(watermarks >= slices + (self.width - 1))
        if not len(behind):
            return None
        classes = np.zeros(len(slices), np.int64)
        passed = np.full(len(slices), MIN_WATERMARK, np.int64)
        some, marks = slices[behind], watermarks[behind]
        last = self.last_starts(some)
        windows = (last - (some - self.size) - 1) // self.slide + 1
        first_cleanup = last - (windows - 1) * self.slide + self.size - 1
        reached = marks >= first_cleanup
        cleaned = np.minimum((np.maximum(marks, first_cleanup) - first_cleanup) // self.slide + reached, windows)
        classes[behind] = cleaned
        passed[behind] = np.where(reached, first_cleanup + (cleaned - 1) * self.slide, MIN_WATERMARK)
        return classes, passed
