"""Tumbling windows with early results by the clock: "emit the current value every second".

Each key's window has one next processing timer, as its trigger would set it. Such timers fire at the start of a batch, so what they
show are the elements of earlier batches, whatever the order of those. The windows themselves may be of event time or of
processing time: that decides which elements they take, and when they are dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.operator import OperatorContext
from penstock.runtime.records import Column
from penstock.runtime.slot import Advance
from penstock.runtime.vector.arrived import Arrived
from penstock.runtime.vector.emissions import Firing, VectorEmissions
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.measures import Groups
from penstock.runtime.vector.time_table import TimeTable
from penstock.runtime.vector.windows import VectorWindows


class EarlyByClock(VectorWindows):
    """Windows with a continuous processing-time trigger, or with early firings before a final one by event time.

    Entries of state end with the time of the next timer.
    """

    def __init__(
        self, grid: Grid, interval: int, event_time: bool, final: bool, aggregate: Any, function: Any = None
    ) -> None:
        super().__init__(aggregate, function)
        self._final = final  # whether a window of event time fires at its end
        self._grid = grid
        self._interval = interval
        self._event_time = event_time
        self._table: TimeTable
        self._next: dict[int, int] = {}  # the first timer of each window, after a batch

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = TimeTable(context.backend, "__windows__", self._keys, self.measures)

    def wake(self) -> int | None:
        return min(self._next.values(), default=None)

    def _windows(self) -> list[int]:
        return self._table.times(2**62)

    def _last(self, start: int) -> int:
        return start + self._grid.size - 1

    # -- early results, and the end of windows by the clock

    def _by_clock(self, advance: Advance, out: VectorEmissions) -> None:
        fired: list[Firing] = []
        ended = []
        self._next = {}
        for start in self._windows():
            groups = self._table.all_of(start)
            assert groups is not None
            ends = not self._event_time and self._last(start) <= advance.now
            fired += self._firings(start, groups, ends, advance)
            if ends:
                ended.append((start, groups))
                self._table.delete_all(start)
                del self._next[start]
        if fired:
            self._fire(Firing.join(fired), advance, out)
        for start, groups in ended:
            self._dropped(groups, (start, self._last(start) + 1), advance.before)

    def _firings(self, start: int, groups: Groups, ends: bool, advance: Advance) -> list[Firing]:
        """What a window's keys fire up to a time.

        Of timers that are set meanwhile, those of the batch's own time wait; but at the end of a window of processing time
        there is a timer already.
        """
        *columns, times = groups.columns
        held, times = Groups(groups.codes, groups.counts, columns), times.copy()
        fired: list[Firing] = []
        changed = np.zeros(len(times), bool)
        limit = until = self._last(start) if ends else advance.now
        while len(at := np.flatnonzero(times <= limit)):
            n = len(at)
            bounds = np.full(n, start, np.int64), np.full(n, self._last(start) + 1, np.int64)
            fired.append(Firing(held.take(at), *bounds, times[at], times[at], advance.before, closing=False))
            times[at] = self._following(start, times[at])
            changed[at] = True
            limit = until if ends else advance.now - 1
        self._note(start, times)
        if changed.any():
            at = np.flatnonzero(changed)
            some = held.take(at)
            self._table.write(start, Groups(some.codes, some.counts, [*some.columns, times[at]]))
        return fired

    def _note(self, start: int, timers: Column) -> None:
        """Keeps in mind when a window is needed next; one of processing time has a timer at its end too."""
        known = [self._next[start]] if start in self._next else []
        self._next[start] = min([*known, int(timers.min()), *([] if self._event_time else [self._last(start)])])

    def _following(self, start: int, times: Column) -> Column:
        """The next timer: no later than the window's end, while that is ahead, unless the watermark fires there."""
        following, last = times + self._interval, self._last(start)
        return following if self._final else np.where(times < last, np.minimum(following, last), following)

    # -- elements, and the end of windows by the watermark

    def _by_watermark(self, arrived: Arrived, advance: Advance, out: VectorEmissions) -> None:
        if self._event_time:
            starts = self._grid.slices(arrived.times)
            late = starts + (self._grid.size - 1) <= arrived.effective
            self.late_records += int(arrived.counts[late].sum())
        else:
            start = advance.now - (advance.now - self._grid.offset) % self._grid.size
            starts, late = np.full(len(arrived), start, np.int64), np.zeros(len(arrived), bool)
        for start in self._grid.different(starts[~late]):
            unseen = self._clear is None and not self._final
            if self._event_time and self._last(start) <= advance.end and unseen:
                continue  # it is dropped before the clock moves again, and nobody wants to know
            some = arrived.take(np.flatnonzero((starts == start) & ~late))
            self._add(start, self._by_key(Groups(some.codes, some.counts, some.columns)), advance.now)
        if self._event_time and advance.end > advance.before:
            for start in self._table.times(advance.end):
                self._end(start, advance, out)

    def _add(self, start: int, came: Groups, now: int) -> None:
        first = self._following(start, np.full(len(came.codes), now - now % self._interval))
        stored = self._table.some_of(start, came.codes)
        if stored is None:
            self._note(start, first)
            self._table.write(start, Groups(came.codes, came.counts, [*came.columns, first]))
            return
        *columns, times = stored.columns
        timers = dict(zip(came.codes.tolist(), first.tolist(), strict=True))
        timers |= zip(stored.codes.tolist(), times.tolist(), strict=True)
        merged = self._by_key(Groups.join([Groups(stored.codes, stored.counts, columns), came]))
        following = np.array([timers[code] for code in merged.codes.tolist()], np.int64)
        self._note(start, following)
        self._table.write(start, Groups(merged.codes, merged.counts, [*merged.columns, following]))

    def _end(self, start: int, advance: Advance, out: VectorEmissions) -> None:
        """Drops a window that the watermark has passed; one with a final result gives it first."""
        last = self._last(start)
        if last > advance.end:
            return
        groups = self._table.all_of(start)
        if groups is not None:
            if self._final:
                held = Groups(groups.codes, groups.counts, groups.columns[:-1])
                self._fire(Firing.of_window(held, start, last + 1, last), advance, out)
            else:
                self._dropped(groups, (start, last + 1), last)
            self._table.delete_all(start)
            self._next.pop(start, None)
