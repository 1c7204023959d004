"""Tumbling windows by event time with early results: every interval of the watermark, and at the end (time.md 5.8).

Each key's window has one next timer, as its trigger would set it: the first after the time of its first element, then every
interval, at last at the window's end. What a firing shows are the elements that came before its timer was due; so the elements
of a key's window fall into as many parts as it fires in the batch, and each part is folded at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.runtime.operator import OperatorContext
from penstock.runtime.records import Column, order_of
from penstock.runtime.slot import Advance
from penstock.runtime.vector.arrived import Arrived
from penstock.runtime.vector.emissions import Firing, VectorEmissions
from penstock.runtime.vector.fold import take
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.measures import Groups
from penstock.runtime.vector.time_table import TimeTable
from penstock.runtime.vector.windows import VectorWindows


class _Timers(NamedTuple):
    """The next timer of each key in a window: its time, and when it is due."""

    times: Column
    dues: Column


class EarlyWindows(VectorWindows):
    """Tumbling windows with a continuous event-time trigger. Entries of state end with the time of the next timer."""

    def __init__(self, grid: Grid, interval: int, aggregate: Any, function: Any = None) -> None:
        super().__init__(aggregate, function)
        self._grid = grid
        self._interval = interval
        self._table: TimeTable

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = TimeTable(context.backend, "__windows__", self._keys, self.measures)

    def _by_watermark(self, arrived: Arrived, advance: Advance, out: VectorEmissions) -> None:
        slices = self._grid.slices(arrived.times)
        late = slices + (self._grid.size - 1) <= arrived.effective
        self.late_records += int(arrived.counts[late].sum())
        windows = set(self._grid.different(slices[~late]))
        if advance.end > advance.before:
            windows.update(self._table.times(advance.end))
        fired = []
        for start in sorted(windows):
            fired += self._window(start, arrived.take(np.flatnonzero((slices == start) & ~late)), advance)
        if fired:
            self._fire(Firing.join(fired), advance, out)

    def _window(self, start: int, came: Arrived, advance: Advance) -> list[Firing]:
        """Takes a window's elements, and gives what it fires in this batch."""
        fires = advance.end > advance.before
        codes = self._keys.different(came.codes)
        stored = self._table.all_of(start) if fires else self._table.some_of(start, codes)
        if stored is not None:
            codes = self._keys.different(stored.codes, came.codes)
        where = np.zeros(len(self._keys.keys), np.int64)
        where[codes] = np.arange(len(codes))
        kept, timers = self._timers(start, len(codes), where, stored, came, advance.before)
        counts = self._firings(start, timers, advance.end)
        parts = self._parts(where[came.codes], came, timers)
        fired: list[Firing] = []
        for turn in range(int(counts.max()) + 1):
            at = np.flatnonzero(parts == turn)
            if len(at):
                kept = self._added(kept, where, came, at)
            firing = np.flatnonzero(counts > turn)
            if len(firing):
                fired.append(self._at(start, turn, kept, codes, timers, firing))
        self._write(start, kept, codes, timers, counts, stored)
        return fired

    def _timers(
        self, start: int, total: int, where: Column, stored: Groups | None, came: Arrived, before: int
    ) -> tuple[Groups | None, _Timers]:
        """What is known of a window's keys so far, and the next timer of each."""
        times = np.empty(total, np.int64)
        dues = np.empty(total, np.int64)
        new = np.ones(total, bool)
        kept = None
        if stored is not None:
            at = where[stored.codes]
            *columns, following = stored.columns
            times[at], new[at] = following, False
            dues[at] = np.maximum(following, before + 1)
            kept = Groups(at, stored.counts, columns).take(np.argsort(at))
        if new.any():
            of, first = self._first_elements(where[came.codes], new, came)
            time = came.times[first]
            times[of] = np.minimum(time - time % self._interval + self._interval, start + self._grid.size - 1)
            dues[of] = np.maximum(times[of], came.effective[first] + 1)
        return kept, _Timers(times, dues)

    def _first_elements(self, of: Column, new: Any, came: Arrived) -> tuple[Column, Column]:
        """The keys that are new to a window, and the place of the first element of each, by the order of elements."""
        least = np.full(len(new), 2**63 - 1, np.int64)
        np.minimum.at(least, of, came.effective)
        some = np.flatnonzero(new[of] & (came.effective == least[of]))
        order = order_of(came.effective[some], came.take(some).tags())
        if order is not None:
            some = some[order]
        keys, first = np.unique(of[some], return_index=True)  # few: mostly one for each new key
        return keys, some[first]

    def _firings(self, start: int, timers: _Timers, end: int) -> Column:
        """How often each key fires up to a watermark."""
        last = start + self._grid.size - 1
        early = np.maximum(0, (min(end, last - 1) - timers.times) // self._interval + 1)
        early[timers.times > min(end, last - 1)] = 0
        return np.where(timers.dues > end, 0, early + (end >= last))

    def _parts(self, of: Column, came: Arrived, timers: _Timers) -> Column:
        """How often an element's key has fired before the element comes."""
        passed = (came.effective - timers.times[of]) // self._interval + 1
        return np.where(came.effective < timers.dues[of], 0, passed)

    def _added(self, kept: Groups | None, where: Column, came: Arrived, at: Any) -> Groups:
        """What a window holds when some elements have been added; codes are places among its keys."""
        more = Groups(where[came.codes[at]], came.counts[at], [take(c, at) for c in came.columns])
        together = more if kept is None else Groups.join([kept, more])
        there = np.flatnonzero(np.bincount(together.codes))
        anew = np.searchsorted(there, together.codes)
        counts = np.zeros(len(there), np.int64)
        np.add.at(counts, anew, together.counts)
        return Groups(there, counts, self.measures.fold(anew, len(there), together.columns))

    def _at(self, start: int, turn: int, kept: Groups | None, codes: Column, timers: _Timers, firing: Column) -> Firing:
        """The windows of some keys as they are when they fire for the n-th time."""
        assert kept is not None
        end = start + self._grid.size
        times = np.minimum(timers.times[firing] + turn * self._interval, end - 1)
        held = kept.take(np.searchsorted(kept.codes, firing))
        held.codes = codes[firing]
        bounds = np.full(len(firing), start, np.int64), np.full(len(firing), end, np.int64)
        return Firing(held, *bounds, times, np.maximum(times, timers.dues[firing]))

    def _write(
        self, start: int, kept: Groups | None, codes: Column, timers: _Timers, fired: Column, stored: Groups | None
    ) -> None:
        """Keeps what is open; a key that has fired at the window's end is done."""
        assert kept is not None
        last = start + self._grid.size - 1
        following = np.minimum(timers.times + fired * self._interval, last)
        done = (fired > 0) & (np.minimum(timers.times + (fired - 1) * self._interval, last) == last)
        if done.all():
            if stored is not None:
                self._table.delete_all(start)
            return
        left = kept.take(np.flatnonzero(~done[kept.codes]))
        columns = [*left.columns, following[left.codes]]
        self._table.write(start, Groups(codes[left.codes], left.counts, columns))
