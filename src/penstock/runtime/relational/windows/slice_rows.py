"""Rows of a batch by slice: which slice each row is added to, which rows are late, and where firing windows cut the batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.specs.window import Window
from penstock.runtime.relational.windows.assign import row_times
from penstock.runtime.relational.windows.due import WindowClock
from penstock.runtime.relational.windows.grid import WindowGrid
from penstock.runtime.relational.windows.local_time import Millis, is_shifted, local_times


@dataclass(slots=True)
class SliceRows:
    """The rows that belong to a window which has not ended, in their order.

    slices: the end of the slice of each row. passed: whether the first window of the slice had ended when the row arrived, so
    that the row counts only in the later ones. clocks: the watermark when each row arrived.
    """

    changes: Changes
    slices: Millis
    passed: NDArray[np.bool_]
    clocks: Millis

    def __len__(self) -> int:
        return self.changes.length

    def slice(self, start: int, stop: int) -> SliceRows:
        """Returns the rows from one position to another."""
        return SliceRows(
            self.changes.slice(start, stop),
            self.slices[start:stop],
            self.passed[start:stop],
            self.clocks[start:stop],
        )

    def filter(self, keep: NDArray[np.bool_]) -> SliceRows:
        """Returns some of the rows."""
        return SliceRows(self.changes.filter(keep), self.slices[keep], self.passed[keep], self.clocks[keep])

    def cuts(self, grid: WindowGrid, zone: str) -> list[int]:
        """Returns the positions before which windows must fire: a row that is late for a window must not count in it.

        Rows are in the order of their watermarks, so all other windows can fire at the end of the batch.
        """
        if not self.passed.any():
            return []
        at = np.flatnonzero(self.passed)
        clocks = self.clocks[at]
        if not is_shifted(zone):  # no window ends between watermarks of the same step
            clocks = (clocks + 1 - grid.offset - grid.size) // grid.step
        _, first = np.unique(clocks, return_index=True)
        return [int(i) for i in at[np.sort(first)]]


def rows_by_slice(
    changes: Changes, window: Window, grid: WindowGrid, clock: WindowClock, clocks: Millis, now: int
) -> tuple[SliceRows, int]:
    """Returns the rows of a batch by slice, without those that are late for all their windows, and the number of late rows."""
    rows, times = row_times(changes, window, now)
    slices = grid.slice_ends(local_times(times, window.zone))
    found, late = on_time_rows(changes, rows, slices, clocks[rows], grid, clock)
    return found, int(late.sum())


def on_time_rows(
    changes: Changes, rows: NDArray[np.int64], slices: Millis, clocks: Millis, grid: WindowGrid, clock: WindowClock
) -> tuple[SliceRows, NDArray[np.bool_]]:
    """Returns the rows at some positions, with their slices, that are in a window which has not ended; and which are late."""
    last = grid.last_window_ends(slices)
    inside = np.ones(len(rows), np.bool_)
    passed = np.zeros(len(rows), np.bool_)
    if grid.shares_slices or grid.step > grid.size:
        first = grid.first_window_ends(slices)
        inside = first <= last  # there may be gaps between windows
        passed = clock.due(first) <= clocks
    late = inside & (clock.due(last) <= clocks)
    keep = inside & ~late
    if not keep.all():
        rows, slices, passed, clocks = rows[keep], slices[keep], passed[keep], clocks[keep]
    kept = changes if len(rows) == changes.length else changes.take(rows)
    return SliceRows(kept, slices, passed, clocks), late
