"""Aggregates of CUMULATE windows: slices are added to what their window has cumulated, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.operators.operator import Input, Output
from penstock.runtime.relational.state.time_ordered_table import TimedEntry, TimeOrderedTable
from penstock.runtime.relational.windows.aggregate.base import WindowAggregateBase
from penstock.runtime.relational.windows.fired import FiredClock
from penstock.runtime.relational.windows.local_time import Millis, latest_end
from penstock.runtime.relational.windows.slice_rows import SliceRows
from penstock.time import MAX_WATERMARK


class CumulateAggregateOperator(WindowAggregateBase):
    """Keeps two tables: slices that have not ended, and what has been cumulated, by the end of the longest window.

    A row of a slice that has ended is added to what has been cumulated, so that it counts in the windows that are left.
    """

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._slices = TimeOrderedTable(context, "slices", self.schema)
        self._cumulated = TimeOrderedTable(context, "cumulated", self.schema)
        self.fired = FiredClock(context, self.clock)

    def wake(self) -> int | None:
        end = None if self.clock.event_time else self._next_window_end(self.fired.stored())
        return None if end is None else self._due(end) + 1

    def next_event_time(self, watermark: int) -> int | None:
        end = self._next_window_end(watermark) if self.clock.event_time else None
        return None if end is None else self._due(end)

    def _due(self, end: int) -> int:
        return int(self.clock.due(np.array([end], np.int64))[0])

    def _next_window_end(self, clock: int) -> int | None:
        """Returns the end of the first window with rows that has not ended."""
        found = [] if (first := self._slices.first_time()) is None else [first]
        longest = self._cumulated.first_time()
        if longest is not None:
            ends = np.arange(longest - self.grid.size + self.grid.step, longest + 1, self.grid.step)
            left = ends[self.clock.due(ends) > clock]
            found.append(int(left[0]) if len(left) else longest)
        return min(found, default=None)

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
        if not rows.passed.any():
            self._add_to(self._slices, rows, rows.slices)
            return
        new, old = rows.filter(~rows.passed), rows.filter(rows.passed)
        self._add_to(self._slices, new, new.slices)
        self._add_to(self._cumulated, old, self.grid.last_window_ends(old.slices))

    def _add_to(self, table: TimeOrderedTable, rows: SliceRows, times: Millis) -> None:
        if len(rows) == 0:
            return
        groups = self.groups_of(rows.changes, times)
        suffixes = table.suffixes(self.keys_of(rows.changes, groups.first))
        at = times[groups.first].tolist()
        entries = [table.entry(time, suffix) for time, suffix in zip(at, suffixes, strict=True)]
        self.add_to(table, entries, groups.codes, rows.changes)

    def fire(self, clock: int, advance: Advance, out: Output) -> None:
        fired = self.fired.get()
        if clock <= fired:
            return
        self.fired.set(clock)
        next_end = self._next_window_end(fired)
        if next_end is None or self._due(next_end) > clock:
            return
        self.fired.store()
        windows: dict[int, tuple[list[TimedEntry], list[TimedEntry]]] = {}  # cumulated, and new slices
        ended = self.clock.take(self._slices, clock)
        longest = self.grid.last_window_ends(np.array([entry.time for entry in ended], np.int64))
        for last, entry in zip(longest.tolist(), ended, strict=True):
            windows.setdefault(last, ([], []))[1].append(entry)
        bound = latest_end(clock, self.window.zone)
        bound = bound if bound > MAX_WATERMARK - self.grid.size else bound + self.grid.size
        for entry in self._cumulated.until(bound):
            windows.setdefault(entry.time, ([], []))[0].append(entry)
        for last in sorted(windows):
            self._fire_windows(last, *windows[last], fired, clock, advance, out)

    def _fire_windows(
        self,
        last: int,
        cumulated: Sequence[TimedEntry],
        slices: Sequence[TimedEntry],
        fired: int,
        clock: int,
        advance: Advance,
        out: Output,
    ) -> None:
        """Emits the windows with the same start, given the end of the longest one."""
        ends = np.arange(last - self.grid.size + self.grid.step, last + 1, self.grid.step)
        due = self.clock.due(ends)
        ends = ends[(due > fired) & (due <= clock)]
        if len(ends) == 0:
            return
        suffixes = sorted({entry.stored[10:]: entry.key for entry in (*cumulated, *slices)}.items())
        numbers = {suffix: number for number, (suffix, _) in enumerate(suffixes)}
        present = np.zeros(len(suffixes), np.bool_)
        codes = np.array([numbers[entry.stored[10:]] for entry in cumulated], np.int64)
        present[codes] = True
        values: list[bytes | None] = [None] * len(suffixes)
        for number, entry in zip(codes.tolist(), cumulated, strict=True):
            values[number] = entry.value
        groups = self.load(values)
        start = last - self.grid.size
        by_end: dict[int, list[TimedEntry]] = {}
        for entry in slices:
            by_end.setdefault(entry.time, []).append(entry)
        for end in ends.tolist():
            new = by_end.get(end)
            if new:
                codes = np.array([numbers[entry.stored[10:]] for entry in new], np.int64)
                self.aggregates.merge(groups, codes, self.load([entry.value for entry in new]))
                present[codes] = True
            at = np.flatnonzero(present)
            chosen = groups if len(at) == len(suffixes) else self.aggregates.take(groups, at)
            keys = [suffixes[i][1] for i in at.tolist()]
            bounds = (np.full(len(at), start, np.int64), np.full(len(at), end, np.int64))
            self.emit(keys, *bounds, chosen, advance, out)
        complete = self._due(last) <= clock
        stored = self.dump(groups)
        for number, (suffix, _) in enumerate(suffixes):
            if complete and values[number] is None:
                continue
            self._cumulated.put(self._cumulated.entry(last, suffix), None if complete else stored[number])
