"""Aggregates of HOP windows: each row is added to one slice, and a window merges its slices when it ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.operators.operator import Input, Output
from penstock.runtime.relational.state.row_codec import unpack
from penstock.runtime.relational.state.time_ordered_table import TimedEntry, TimeOrderedTable
from penstock.runtime.relational.windows.aggregate.base import WindowAggregateBase
from penstock.runtime.relational.windows.fired import FiredClock
from penstock.runtime.relational.windows.local_time import Millis, is_shifted, latest_end
from penstock.runtime.relational.windows.slice_rows import SliceRows

_MOST_PAIRS = 500_000  # of slices and windows that are merged at once
_DAY = 86_400_000


class HopAggregateOperator(WindowAggregateBase):
    """Keeps the accumulators of each slice and key until the last window of the slice has ended.

    Slices are merged as in Flink, which shows in functions that depend on the order of rows: a table function merges the latest
    slice first, a legacy group window the earliest one. With functions of users, Flink adds rows as they arrive, so that the
    earliest slice is merged first.
    """

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = TimeOrderedTable(context, "slices", self.schema)
        self.fired = FiredClock(context, self.clock)

    def wake(self) -> int | None:
        end = None if self.clock.event_time else self._next_window_end(self.fired.stored())
        return None if end is None else int(self.clock.due(np.array([end]))[0]) + 1

    def next_event_time(self, watermark: int) -> int | None:
        end = self._next_window_end(watermark) if self.clock.event_time else None
        return None if end is None else int(self.clock.due(np.array([end]))[0])

    def _next_window_end(self, clock: int) -> int | None:
        """Returns the end of the first window with rows that has not ended."""
        first = self._table.first_time()
        if first is None:
            return None
        slices = np.array([first])
        last = int(self.grid.last_window_ends(slices)[0])
        for end in range(int(self.grid.first_window_ends(slices)[0]), last + 1, self.grid.step):
            if int(self.clock.due(np.array([end]))[0]) > clock:
                return end
        return last

    def begin(self, advance: Advance) -> None:
        self.fired.begin(advance.before)

    def add(self, given: Input, advance: Advance, out: Output) -> None:
        rows = self.by_slice(given, advance)
        start = 0
        for cut in rows.cuts(self.grid, self.window.zone):
            self._add(rows.slice(start, cut))
            self.fire(int(rows.clocks[cut]), advance, out)
            start = cut
        self._add(rows.slice(start, len(rows)))

    def _add(self, rows: SliceRows) -> None:
        if len(rows) == 0:
            return
        groups = self.groups_of(rows.changes, rows.slices)
        suffixes = self._table.suffixes(self.keys_of(rows.changes, groups.first))
        ends = rows.slices[groups.first].tolist()
        entries = [self._table.entry(end, suffix) for end, suffix in zip(ends, suffixes, strict=True)]
        self.add_to(self._table, entries, groups.codes, rows.changes)

    def fire(self, clock: int, advance: Advance, out: Output) -> None:
        fired = self.fired.get()
        if clock <= fired:
            return
        self.fired.set(clock)
        bound = latest_end(clock, self.window.zone)
        first = self._table.first_time()
        if first is None or first > bound:
            return
        self.fired.store()
        found = list(self._table.until(bound))
        slices = np.array([entry.time for entry in found], np.int64)
        last = self.grid.last_window_ends(slices)
        self._merge_windows(found, slices, last, fired, clock, advance, out)
        ended = self.clock.due(last) <= clock
        for i in np.flatnonzero(ended).tolist():
            self._table.put(found[i].stored, None)

    def _merge_windows(
        self,
        found: list[TimedEntry],
        slices: Millis,
        last: Millis,
        fired: int,
        clock: int,
        advance: Advance,
        out: Output,
    ) -> None:
        """Emits the windows whose clock is after `fired`, up to `clock`, from the slices that were found."""
        step = self.grid.step
        first = self.grid.first_window_ends(slices)
        low = latest_end(fired, self.window.zone)
        if is_shifted(self.window.zone):
            low -= _DAY  # clocks that are set back leave windows below the bound that are not complete
        low = max(low, int(first.min()) - step)
        first += np.where(first > low, 0, ((low - first) // step + 1) * step)
        counts = np.maximum((np.minimum(last, latest_end(clock, self.window.zone)) - first) // step + 1, 0)
        at = np.repeat(np.arange(len(found)), counts)
        ends = first[at] + (np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)) * step
        suffixes = [entry.stored[10:] for entry in found]  # the hash of the key, and the key
        ranks = {suffix: rank for rank, suffix in enumerate(sorted(set(suffixes)))}
        rank = np.array([ranks[suffix] for suffix in suffixes], np.int64)
        names = {number: entry.key for number, entry in zip(rank.tolist(), found, strict=True)}
        due = self.clock.due(ends)
        wanted = (due > fired) & (due <= clock)
        at, ends = at[wanted], ends[wanted]
        direction = slices[at] if self.spec.legacy or self.aggregates.calls_python else -slices[at]
        order = np.lexsort([direction, rank[at], ends])
        at, ends = at[order], ends[order]
        for start, stop in _chunks(ends):
            self._emit_chunk(found, at[start:stop], ends[start:stop], rank, names, advance, out)

    def _emit_chunk(
        self,
        found: list[TimedEntry],
        at: NDArray[np.int64],
        ends: Millis,
        rank: NDArray[np.int64],
        names: dict[int, bytes],
        advance: Advance,
        out: Output,
    ) -> None:
        changes = np.empty(len(at), np.bool_)
        changes[0] = True
        changes[1:] = (ends[1:] != ends[:-1]) | (rank[at[1:]] != rank[at[:-1]])
        codes = np.cumsum(changes) - 1
        firsts = np.flatnonzero(changes)
        distinct, inverse = np.unique(at, return_inverse=True)
        values = [unpack(found[i].value) for i in distinct.tolist()]
        groups = self.aggregates.create(len(firsts))
        self.aggregates.merge(groups, codes, self.aggregates.load([values[i] for i in inverse.tolist()]))
        keys = [names[number] for number in rank[at[firsts]].tolist()]
        self.emit(keys, self.grid.window_starts(ends[firsts]), ends[firsts], groups, advance, out)


def _chunks(ends: Millis) -> list[tuple[int, int]]:
    """Splits windows into parts of limited size. All slices of a window are in the same part."""
    result: list[tuple[int, int]] = []
    start = 0
    while start < len(ends):
        stop = min(start + _MOST_PAIRS, len(ends))
        if stop < len(ends):
            whole = int(np.searchsorted(ends, ends[stop - 1]))
            stop = whole if whole > start else int(np.searchsorted(ends, ends[stop - 1], side="right"))
        result.append((start, stop))
        start = stop
    return result
