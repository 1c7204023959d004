"""Tumbling and sliding event-time windows, stored in slices (time-rules 5.9) with one entry per key and slice and no timers.

The timers of a window have the same time for all keys, so the watermark alone determines which windows fire. Without
allowed lateness a fired window never fires again. So an element that is late for some of its windows is still added to its
slice, after the windows that it is too late for have fired.
"""

from __future__ import annotations

import numpy as np

from penstock.runtime.columnar.accumulators import Groups
from penstock.runtime.columnar.emissions import ColumnarEmissions, Firing
from penstock.runtime.columnar.input_columns import InputColumns
from penstock.runtime.columnar.operator import GridWindowOperator
from penstock.runtime.loop.emissions import Advance


class SlicedWindowOperator(GridWindowOperator):
    """Windows on a grid that fire when the watermark passes their end."""

    table_name = "__slices__"

    def _stored_grid(self) -> list[int]:
        return [
            self._grid.width,
            self._grid.offset % self._grid.width,
        ]  # windows of another size may have the same slices

    def next_event_time(self, watermark: int) -> int | None:
        start = self._table.first_time()
        if start is None:
            return None
        ends = [self._max_timestamp(window) for window in self._grid.window_starts(start)]
        return min((end for end in ends if end > watermark), default=None)

    def _process_elements(self, columns: InputColumns, advance: Advance, out: ColumnarEmissions) -> None:
        on_time, partly_late = self._split_by_lateness(columns)
        added = self._group_by_slice(on_time)
        ending = self._ending_windows({*added, *self._grid.slice_starts(partly_late.times).tolist()}, advance)
        needed = {s for window in ending for s in self._grid.slices_of_window(window)}
        slices = {
            s: merged for s in needed if (merged := self._merge(added.get(s), self._table.read_all(s))) is not None
        }
        for window in ending:
            self._fire_window(window, slices, partly_late, advance, out)
        for start, groups in self._group_by_slice(partly_late).items():
            added[start] = self._sum([groups, added.get(start)])
            if start in slices:
                slices[start] = self._sum([groups, slices[start]])
        self._write(added, slices, advance.end)

    def _split_by_lateness(self, columns: InputColumns) -> tuple[InputColumns, InputColumns]:
        """Returns the elements that are on time for all windows of their slice, and those that are late for some.

        Elements that are late for all windows are counted and dropped.
        """
        grid = self._grid
        slices = grid.slice_starts(columns.times)
        behind = columns.effective >= slices + (grid.width - 1)  # no window of a slice ends earlier than the slice
        if not behind.any():
            return columns, columns.take(np.flatnonzero(behind))
        late = grid.last_window_starts(slices) + (grid.size - 1) <= columns.effective
        self.late_records += int(columns.counts[late].sum())
        return columns.take(np.flatnonzero(~behind)), columns.take(np.flatnonzero(behind & ~late))

    def _group_by_slice(self, columns: InputColumns) -> dict[int, Groups]:
        """Returns the elements of each slice, folded by key."""
        slices = self._grid.slice_starts(columns.times)
        groups = columns.groups()
        by_slice: dict[int, Groups] = {}
        for start in self._grid.distinct(slices):
            indices = np.flatnonzero(slices == start)
            by_slice[start] = self._fold_by_key(groups if len(indices) == len(slices) else groups.take(indices))
        return by_slice

    def _sum(self, parts: list[Groups | None]) -> Groups:
        return self._fold_by_key(Groups.join([p for p in parts if p is not None]))

    def _merge(self, first: Groups | None, second: Groups | None) -> Groups | None:
        return None if first is None and second is None else self._sum([second, first])

    def _ending_windows(self, added: set[int], advance: Advance) -> list[int]:
        """Returns the starts of the windows that the watermark passes in this batch, ordered by their ends."""
        before, end, size = advance.before, advance.end, self._grid.size
        if end <= before:
            return []
        slices = added.union(self._table.times_until(end))
        return sorted({w for s in slices for w in self._grid.window_starts(s) if before < w + size - 1 <= end})

    def _fire_window(
        self,
        window: int,
        slices: dict[int, Groups],
        partly_late: InputColumns,
        advance: Advance,
        out: ColumnarEmissions,
    ) -> None:
        last = self._max_timestamp(window)
        parts: list[Groups | None] = [slices[s] for s in self._grid.slices_of_window(window) if s in slices]
        if len(partly_late):  # elements that are on time for this window and late for another
            included = (partly_late.times >= window) & (partly_late.times <= last) & (partly_late.effective < last)
            if included.any():
                parts.append(partly_late.groups().take(np.flatnonzero(included)))
        if not parts:
            return
        self._fire(Firing.of_window(self._sum(parts), window, last + 1, last), advance, out)

    def _write(self, added: dict[int, Groups], slices: dict[int, Groups], end: int) -> None:
        """Writes the slices that later windows need and deletes the others."""
        for start, groups in added.items():
            if self._last_end(start) > end:
                merged = slices.get(start)
                if merged is not None:  # all its keys were read for a window that has fired
                    self._table.write(start, merged.take(np.flatnonzero(np.isin(merged.codes, groups.codes))))
                else:
                    merged = self._merge(groups, self._table.read_keys(start, groups.codes))
                    assert merged is not None
                    self._table.write(start, merged)
        for start in slices:
            if self._last_end(start) <= end:
                self._table.delete_all(start)

    def _last_end(self, start: int) -> int:
        """Returns the last timestamp of the last window of a slice."""
        return self._max_timestamp(self._grid.last_window_start(start))
