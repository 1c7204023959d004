"""Windows on a grid (TUMBLE, HOP, CUMULATE), and the slices that they consist of.

All times are local times in milliseconds. A slice is the smallest interval whose rows belong to the same windows, so a row is
added to one slice only, and a window merges its slices when it ends. A slice is named by its end.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from penstock.runtime.relational.specs.window import Window

Millis = NDArray[np.int64]


class WindowGrid:
    """The windows and slices of a specification.

    >>> grid = WindowGrid(Window("HOP", 15, 5))
    >>> slices = grid.slice_ends(np.array([7]))
    >>> slices.tolist(), grid.first_window_ends(slices).tolist(), grid.last_window_ends(slices).tolist()
    ([10], [10], [20])
    """

    def __init__(self, window: Window) -> None:
        self.kind = window.kind
        self.size = window.size
        self.step = window.size if window.kind == "TUMBLE" else window.slide  # between the ends of windows
        self.offset = window.offset
        self.slice = math.gcd(self.size, self.step) if window.kind == "HOP" else self.step

    @property
    def shares_slices(self) -> bool:
        """Returns whether a row may be in several windows."""
        return self.kind == "CUMULATE" or self.slice < self.size

    def slice_ends(self, times: Millis) -> Millis:
        """Returns the end of the slice of each time."""
        return self._floor(times, self.slice) + self.slice

    def first_window_ends(self, slices: Millis) -> Millis:
        """Returns the end of the first window that contains each slice. Gaps between windows are after `last_window_ends`."""
        if self.kind != "HOP":
            return slices
        return slices + (self.offset + self.size - slices) % self.step

    def last_window_ends(self, slices: Millis) -> Millis:
        """Returns the end of the last window that contains each slice."""
        return self._floor(slices - self.slice, self.size if self.kind == "CUMULATE" else self.step) + self.size

    def window_starts(self, ends: Millis) -> Millis:
        """Returns the start of the window with each end."""
        return self._floor(ends - 1, self.size) if self.kind == "CUMULATE" else ends - self.size

    def windows(self, times: Millis) -> tuple[NDArray[np.int64], Millis, Millis]:
        """Returns all windows of times, in Flink's order: the position of the time, the start and the end of each window.

        The windows of HOP come in descending order, those of CUMULATE in ascending order.

        >>> rows, starts, ends = WindowGrid(Window("CUMULATE", 15, 5)).windows(np.array([7, 21]))
        >>> rows.tolist(), starts.tolist(), ends.tolist()
        ([0, 0, 1, 1], [0, 0, 15, 15], [10, 15, 25, 30])
        """
        slices = self.slice_ends(times)
        first, last = self.first_window_ends(slices), self.last_window_ends(slices)
        counts = np.maximum((last - first) // self.step + 1, 0)
        rows = np.repeat(np.arange(len(times)), counts)
        nth = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        ends = last[rows] - nth * self.step if self.kind == "HOP" else first[rows] + nth * self.step
        return rows, self.window_starts(ends), ends

    def _floor(self, times: Millis, size: int) -> Millis:
        return times - (times - self.offset) % size
