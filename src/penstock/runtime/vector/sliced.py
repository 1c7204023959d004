"""Tumbling and sliding windows by event time, in slices (time.md 5.9): one entry per key and slice, no timers.

A window's timers of all keys have one time, so nothing but the watermark is needed to know what fires. With no allowed
lateness a fired window never fires again; so an element that is late for some of its windows goes into its slice all the
same, once the windows of its batch that it came too late for have fired.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.operator import OperatorContext
from penstock.runtime.slot import Advance
from penstock.runtime.vector.arrived import Arrived
from penstock.runtime.vector.emissions import Firing, VectorEmissions
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.measures import Groups
from penstock.runtime.vector.time_table import TimeTable
from penstock.runtime.vector.windows import VectorWindows


class SlicedWindows(VectorWindows):
    """Windows on a grid, which fire when the watermark passes their end."""

    def __init__(self, grid: Grid, aggregate: Any, function: Any = None) -> None:
        super().__init__(aggregate, function)
        self._grid = grid
        self._table: TimeTable

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = TimeTable(context.backend, "__slices__", self._keys, self.measures)

    def _by_watermark(self, arrived: Arrived, advance: Advance, out: VectorEmissions) -> None:
        in_time, behind = self._taken(arrived)
        fresh = self._slices_of(in_time)
        ends = self._ending({*fresh, *self._grid.slices(behind.times).tolist()}, advance)
        whole = {s for window in ends for s in self._grid.slices_of(window)}
        slices = {s: merged for s in whole if (merged := self._merged(fresh.get(s), self._table.all_of(s))) is not None}
        for window in ends:
            self._fire_window(window, slices, behind, advance, out)
        for start, groups in self._slices_of(behind).items():
            fresh[start] = self._sum([groups, fresh.get(start)])
            if start in slices:
                slices[start] = self._sum([groups, slices[start]])
        self._write(fresh, slices, advance.end)

    def _taken(self, arrived: Arrived) -> tuple[Arrived, Arrived]:
        """What came in time for all windows of its slice, and what came behind some of them.

        What is behind all of them is late: it is counted and dropped.
        """
        grid = self._grid
        slices = grid.slices(arrived.times)
        behind = arrived.effective >= slices + (grid.width - 1)  # no window of a slice ends earlier than the slice
        if not behind.any():
            return arrived, arrived.take(np.flatnonzero(behind))
        late = grid.last_starts(slices) + (grid.size - 1) <= arrived.effective
        self.late_records += int(arrived.counts[late].sum())
        return arrived.take(np.flatnonzero(~behind)), arrived.take(np.flatnonzero(behind & ~late))

    def _slices_of(self, arrived: Arrived) -> dict[int, Groups]:
        """What came for each slice, key by key."""
        slices = self._grid.slices(arrived.times)
        every = Groups(arrived.codes, arrived.counts, arrived.columns)
        found: dict[int, Groups] = {}
        for start in self._grid.different(slices):
            at = np.flatnonzero(slices == start)
            found[start] = self._by_key(every if len(at) == len(slices) else every.take(at))
        return found

    def _sum(self, parts: list[Groups | None]) -> Groups:
        return self._by_key(Groups.join([p for p in parts if p is not None]))

    def _merged(self, first: Groups | None, second: Groups | None) -> Groups | None:
        return None if first is None and second is None else self._sum([second, first])

    def _ending(self, fresh: set[int], advance: Advance) -> list[int]:
        """The starts of the windows that the watermark passes in this batch, in order of their ends."""
        before, end, size = advance.before, advance.end, self._grid.size
        if end <= before:
            return []
        there = fresh.union(self._table.times(end))
        return sorted({w for s in there for w in self._grid.windows_of(s) if before < w + size - 1 <= end})

    def _fire_window(
        self, window: int, slices: dict[int, Groups], behind: Arrived, advance: Advance, out: VectorEmissions
    ) -> None:
        last = window + self._grid.size - 1
        parts: list[Groups | None] = [slices[s] for s in self._grid.slices_of(window) if s in slices]
        if len(behind):  # what came behind other windows only
            of = (behind.times >= window) & (behind.times <= last) & (behind.effective < last)
            if of.any():
                parts.append(Groups(behind.codes, behind.counts, behind.columns).take(np.flatnonzero(of)))
        if not parts:
            return
        self._fire(Firing.of_window(self._sum(parts), window, last + 1, last), advance, out)

    def _write(self, fresh: dict[int, Groups], slices: dict[int, Groups], end: int) -> None:
        """Keeps what later windows need, drops what they do not."""
        for start, groups in fresh.items():
            if self._last_end(start) > end:
                known = slices.get(start)
                if known is not None:  # loaded as a whole, for a window that has fired
                    self._table.write(start, known.take(np.flatnonzero(np.isin(known.codes, groups.codes))))
                else:
                    merged = self._merged(groups, self._table.some_of(start, groups.codes))
                    assert merged is not None
                    self._table.write(start, merged)
        for start in slices:
            if self._last_end(start) <= end:
                self._table.delete_all(start)

    def _last_end(self, start: int) -> int:
        """When the last window of a slice ends, as a timestamp that belongs to it."""
        return self._grid.last_start(start) + self._grid.size - 1
