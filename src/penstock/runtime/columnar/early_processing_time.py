"""Tumbling windows with early results in processing time, for example the current value every second.

The window of a key has one next processing-time timer, set as its trigger would set it. These timers fire at the start of a
batch, so their results include the elements of earlier batches, whatever the order of those. The windows themselves may be
event-time or processing-time windows. That determines which elements they accept and when they are dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.columnar.accumulators import Groups
from penstock.runtime.columnar.emissions import ColumnarEmissions, Firing
from penstock.runtime.columnar.input_columns import InputColumns
from penstock.runtime.columnar.operator import GridWindowOperator
from penstock.runtime.columnar.slices import Grid
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.records import Column


class EarlyProcessingTimeWindowOperator(GridWindowOperator):
    """Windows with a continuous processing-time trigger, or with early firings before a final event-time firing.

    The last column of a state entry is the next timer.
    """

    def __init__(
        self, grid: Grid, interval: int, event_time: bool, final: bool, aggregate: Any, function: Any = None
    ) -> None:
        super().__init__(grid, aggregate, function)
        self._final = final  # whether an event-time window fires at its end
        self._interval = interval
        self._event_time = event_time
        self._first_timers: dict[int, int] = {}  # by window start, after a batch

    def wake(self) -> int | None:
        return min(self._first_timers.values(), default=None)

    # -- early results, and the end of processing-time windows

    def _advance_processing_time(self, advance: Advance, out: ColumnarEmissions) -> None:
        firings: list[Firing] = []
        ended = []
        self._first_timers = {}
        for start in self._table.times_until(2**62):
            groups = self._table.read_all(start)
            assert groups is not None
            ends = not self._event_time and self._max_timestamp(start) <= advance.now
            firings += self._due_firings(start, groups, ends, advance)
            if ends:
                ended.append((start, groups))
                self._table.delete_all(start)
                del self._first_timers[start]
        if firings:
            self._fire(Firing.join(firings), advance, out)
        for start, groups in ended:
            self._clear_windows(groups, (start, self._max_timestamp(start) + 1), advance.before)

    def _due_firings(self, start: int, groups: Groups, ends: bool, advance: Advance) -> list[Firing]:
        """Returns the firings of the keys of a window that are due, and writes their next timers.

        Timers set during these firings for the current time wait for the next batch. At the end of a processing-time
        window a timer exists already.
        """
        *columns, times = groups.columns
        contents, times = Groups(groups.codes, groups.counts, columns), times.copy()
        firings: list[Firing] = []
        changed = np.zeros(len(times), bool)
        limit = until = self._max_timestamp(start) if ends else advance.now
        while len(due := np.flatnonzero(times <= limit)):
            n = len(due)
            bounds = np.full(n, start, np.int64), np.full(n, self._max_timestamp(start) + 1, np.int64)
            fired = contents.take(due)
            firings.append(Firing(fired, *bounds, times[due], times[due], advance.before, closing=False))
            times[due] = self._next_times(start, times[due])
            changed[due] = True
            limit = until if ends else advance.now - 1
        self._note_first_timer(start, times)
        if changed.any():
            indices = np.flatnonzero(changed)
            written = contents.take(indices)
            self._table.write(start, Groups(written.codes, written.counts, [*written.columns, times[indices]]))
        return firings

    def _note_first_timer(self, start: int, timers: Column) -> None:
        """Updates the first timer of a window. A processing-time window also has a timer at its end."""
        known = [self._first_timers[start]] if start in self._first_timers else []
        at_end = [] if self._event_time else [self._max_timestamp(start)]
        self._first_timers[start] = min([*known, int(timers.min()), *at_end])

    def _next_times(self, start: int, times: Column) -> Column:
        """Returns the next timers, at most at the end of the window if that is ahead and the watermark does not fire there."""
        following, last = times + self._interval, self._max_timestamp(start)
        return following if self._final else np.where(times < last, np.minimum(following, last), following)

    # -- elements, and the end of event-time windows

    def _process_elements(self, columns: InputColumns, advance: Advance, out: ColumnarEmissions) -> None:
        if self._event_time:
            starts = self._grid.slice_starts(columns.times)
            late = starts + (self._grid.size - 1) <= columns.effective
            self.late_records += int(columns.counts[late].sum())
        else:
            start = advance.now - (advance.now - self._grid.offset) % self._grid.size
            starts, late = np.full(len(columns), start, np.int64), np.zeros(len(columns), bool)
        for start in self._grid.distinct(starts[~late]):
            never_emitted = self._clear is None and not self._final
            if self._event_time and self._max_timestamp(start) <= advance.end and never_emitted:
                continue  # it is dropped before processing time advances again
            added = columns.take(np.flatnonzero((starts == start) & ~late))
            self._add_to_window(start, self._fold_by_key(added.groups()), advance.now)
        if self._event_time and advance.end > advance.before:
            for start in self._table.times_until(advance.end):
                self._end_window(start, advance, out)

    def _add_to_window(self, start: int, added: Groups, now: int) -> None:
        first = self._next_times(start, np.full(len(added.codes), now - now % self._interval))
        stored = self._table.read_keys(start, added.codes)
        if stored is None:
            self._note_first_timer(start, first)
            self._table.write(start, Groups(added.codes, added.counts, [*added.columns, first]))
            return
        *columns, times = stored.columns
        timers = dict(zip(added.codes.tolist(), first.tolist(), strict=True))
        timers |= zip(stored.codes.tolist(), times.tolist(), strict=True)
        merged = self._fold_by_key(Groups.join([Groups(stored.codes, stored.counts, columns), added]))
        next_times = np.array([timers[code] for code in merged.codes.tolist()], np.int64)
        self._note_first_timer(start, next_times)
        self._table.write(start, Groups(merged.codes, merged.counts, [*merged.columns, next_times]))

    def _end_window(self, start: int, advance: Advance, out: ColumnarEmissions) -> None:
        """Drops a window that the watermark has passed, after its final result if it has one."""
        last = self._max_timestamp(start)
        if last > advance.end:
            return
        groups = self._table.read_all(start)
        if groups is not None:
            if self._final:
                contents = Groups(groups.codes, groups.counts, groups.columns[:-1])
                self._fire(Firing.of_window(contents, start, last + 1, last), advance, out)
            else:
                self._clear_windows(groups, (start, last + 1), last)
            self._table.delete_all(start)
            self._first_timers.pop(start, None)
