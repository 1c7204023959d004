"""Tumbling event-time windows with early results: at every interval of event time, and at the end (time-rules 5.8).

The window of a key has one next timer, set as its trigger would set it: the first one after the timestamp of the first
element, then one per interval, the last one at the end of the window. A firing includes the elements that arrived before
its timer was due. So the elements of a key and window are divided into as many parts as the window fires in the batch, and
each part is folded in one step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.runtime.columnar.accumulators import Groups
from penstock.runtime.columnar.emissions import ColumnarEmissions, Firing
from penstock.runtime.columnar.fold import take
from penstock.runtime.columnar.input_columns import InputColumns
from penstock.runtime.columnar.operator import GridWindowOperator
from penstock.runtime.columnar.slices import Grid
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.records import Column, sort_order


class _NextTimers(NamedTuple):
    """The next timer of each key in a window: its time, and the watermark at which it is due."""

    times: Column
    dues: Column


class EarlyEventTimeWindowOperator(GridWindowOperator):
    """Tumbling windows with a continuous event-time trigger. The last column of a state entry is the next timer."""

    def __init__(self, grid: Grid, interval: int, aggregate: Any, function: Any = None) -> None:
        super().__init__(grid, aggregate, function)
        self._interval = interval

    def next_event_time(self, watermark: int) -> int | None:
        end = super().next_event_time(watermark)
        return None if end is None else min(end, watermark - watermark % self._interval + self._interval)

    def _process_elements(self, columns: InputColumns, advance: Advance, out: ColumnarEmissions) -> None:
        slices = self._grid.slice_starts(columns.times)
        late = slices + (self._grid.size - 1) <= columns.effective
        self.late_records += int(columns.counts[late].sum())
        windows = set(self._grid.distinct(slices[~late]))
        if advance.end > advance.before:
            windows.update(self._table.times_until(advance.end))
        firings = []
        for start in sorted(windows):
            added = columns.take(np.flatnonzero((slices == start) & ~late))
            firings += self._process_window(start, added, advance)
        if firings:
            self._fire(Firing.join(firings), advance, out)

    def _process_window(self, start: int, added: InputColumns, advance: Advance) -> list[Firing]:
        """Adds elements to a window. Returns its firings in this batch."""
        fires = advance.end > advance.before
        codes = self._keys.distinct(added.codes)
        stored = self._table.read_all(start) if fires else self._table.read_keys(start, codes)
        if stored is not None:
            codes = self._keys.distinct(stored.codes, added.codes)
        index_of_code = np.zeros(len(self._keys.keys), np.int64)
        index_of_code[codes] = np.arange(len(codes))
        contents, timers = self._next_timers(start, len(codes), index_of_code, stored, added, advance.before)
        counts = self._count_firings(start, timers, advance.end)
        parts = self._firings_before(index_of_code[added.codes], added, timers)
        firings: list[Firing] = []
        for turn in range(int(counts.max()) + 1):
            indices = np.flatnonzero(parts == turn)
            if len(indices):
                contents = self._add_elements(contents, index_of_code, added, indices)
            fired = np.flatnonzero(counts > turn)
            if len(fired):
                firings.append(self._make_firing(start, turn, contents, codes, timers, fired))
        self._write(start, contents, codes, timers, counts, stored)
        return firings

    def _next_timers(
        self,
        start: int,
        total: int,
        index_of_code: Column,
        stored: Groups | None,
        added: InputColumns,
        before: int,
    ) -> tuple[Groups | None, _NextTimers]:
        """Returns the stored contents of the keys of a window, and the next timer of each key."""
        times = np.empty(total, np.int64)
        dues = np.empty(total, np.int64)
        new = np.ones(total, bool)
        contents = None
        if stored is not None:
            indices = index_of_code[stored.codes]
            *columns, next_times = stored.columns
            times[indices], new[indices] = next_times, False
            dues[indices] = np.maximum(next_times, before + 1)
            contents = Groups(indices, stored.counts, columns).take(np.argsort(indices))
        if new.any():
            indices, first = self._first_elements(index_of_code[added.codes], new, added)
            time = added.times[first]
            times[indices] = np.minimum(time - time % self._interval + self._interval, self._max_timestamp(start))
            dues[indices] = np.maximum(times[indices], added.effective[first] + 1)
        return contents, _NextTimers(times, dues)

    def _first_elements(self, key_index: Column, new: Any, added: InputColumns) -> tuple[Column, Column]:
        """Returns the keys that are new to a window, and the index of the first element of each in processing order."""
        least = np.full(len(new), 2**63 - 1, np.int64)
        np.minimum.at(least, key_index, added.effective)
        candidates = np.flatnonzero(new[key_index] & (added.effective == least[key_index]))
        if added.positions is None or not added.positions.in_order:
            order = sort_order(added.effective[candidates], added.take(candidates).tags())
            if order is not None:
                candidates = candidates[order]
        keys, first = np.unique(key_index[candidates], return_index=True)  # few: mostly one for each new key
        return keys, candidates[first]

    def _count_firings(self, start: int, timers: _NextTimers, end: int) -> Column:
        """Returns how often each key fires up to a watermark."""
        last = self._max_timestamp(start)
        early = np.maximum(0, (min(end, last - 1) - timers.times) // self._interval + 1)
        early[timers.times > min(end, last - 1)] = 0
        return np.where(timers.dues > end, 0, early + (end >= last))

    def _firings_before(self, key_index: Column, added: InputColumns, timers: _NextTimers) -> Column:
        """Returns for each element how often its key has fired before the element arrives."""
        passed = (added.effective - timers.times[key_index]) // self._interval + 1
        return np.where(added.effective < timers.dues[key_index], 0, passed)

    def _add_elements(
        self, contents: Groups | None, index_of_code: Column, added: InputColumns, indices: Any
    ) -> Groups:
        """Adds some elements to the contents of a window. Codes are indices into the keys of the window."""
        codes = index_of_code[added.codes[indices]]
        new = Groups(codes, added.counts[indices], [take(c, indices) for c in added.columns])
        joined = new if contents is None else Groups.join([contents, new])
        present = np.flatnonzero(np.bincount(joined.codes))
        inverse = np.searchsorted(present, joined.codes)
        counts = np.zeros(len(present), np.int64)
        np.add.at(counts, inverse, joined.counts)
        return Groups(present, counts, self.accumulators.fold(inverse, len(present), joined.columns))

    def _make_firing(
        self, start: int, turn: int, contents: Groups | None, codes: Column, timers: _NextTimers, fired: Column
    ) -> Firing:
        """Returns the windows of some keys as they are when they fire for the n-th time in the batch."""
        assert contents is not None
        end = start + self._grid.size
        times = np.minimum(timers.times[fired] + turn * self._interval, end - 1)
        groups = contents.take(np.searchsorted(contents.codes, fired))
        groups.codes = codes[fired]
        bounds = np.full(len(fired), start, np.int64), np.full(len(fired), end, np.int64)
        return Firing(groups, *bounds, times, np.maximum(times, timers.dues[fired]))

    def _write(
        self,
        start: int,
        contents: Groups | None,
        codes: Column,
        timers: _NextTimers,
        fired: Column,
        stored: Groups | None,
    ) -> None:
        """Writes the windows that are still open. A key that has fired at the end of the window is complete."""
        assert contents is not None
        last = self._max_timestamp(start)
        next_times = np.minimum(timers.times + fired * self._interval, last)
        complete = (fired > 0) & (np.minimum(timers.times + (fired - 1) * self._interval, last) == last)
        if complete.all():
            if stored is not None:
                self._table.delete_all(start)
            return
        still_open = contents.take(np.flatnonzero(~complete[contents.codes]))
        columns = [*still_open.columns, next_times[still_open.codes]]
        self._table.write(start, Groups(codes[still_open.codes], still_open.counts, columns))
