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

    def next_event_time(self, watermark: int) -> int | None:
        return super().next_event_time(watermark) if self._event_time else None

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
        """Returns the firing of the keys of a window that are due, and writes their next timers.

        A key fires once, even if several intervals have passed since the last batch.
        """
        *columns, times = groups.columns
        due = np.flatnonzero(times <= advance.now)
        if not len(due):
            self._note_first_timer(start, times)
            return []
        fired, due_times = Groups(groups.codes, groups.counts, columns).take(due), times[due]
        times = times.copy()
        times[due] = self._timers_after(start, due_times, advance.now)
        self._note_first_timer(start, times)
        if not ends:
            self._table.write(start, Groups(fired.codes, fired.counts, [*fired.columns, times[due]]))
        starts, ends_of = (np.full(len(due), at, np.int64) for at in (start, self._max_timestamp(start) + 1))
        return [Firing(fired, starts, ends_of, due_times, due_times, advance.before, closing=False)]

    def _note_first_timer(self, start: int, timers: Column) -> None:
        """Updates the first timer of a window. A processing-time window also has a timer at its end."""
        known = [self._first_timers[start]] if start in self._first_timers else []
        at_end = [] if self._event_time else [self._max_timestamp(start)]
        self._first_timers[start] = min([*known, int(timers.min()), *at_end])

    def _first_timer(self, start: int, now: int) -> int:
        """Returns the first timer of a key: the next interval, or the end of the window if that comes first."""
        base, last = now - now % self._interval, self._max_timestamp(start)
        following = base + self._interval
        return following if self._final or base > last else min(following, last)

    def _timers_after(self, start: int, times: Column, now: int) -> Column:
        """Returns the timers after a firing. Intervals that have passed are skipped; they would emit the same result."""
        last = self._max_timestamp(start)
        if now >= last and not self._final:
            times = np.maximum(times, last)
        following: Column = times + (np.maximum(0, now - times) // self._interval + 1) * self._interval
        return np.minimum(following, last) if now < last and not self._final else following

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
        first = np.full(len(added.codes), self._first_timer(start, now), np.int64)
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
