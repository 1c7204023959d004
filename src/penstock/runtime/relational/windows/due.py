"""Entries of state that are ordered by the ends of windows, and which of them are due."""

from __future__ import annotations

import numpy as np

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.relational.state.time_ordered_table import TimedEntry, TimeOrderedTable
from penstock.runtime.relational.windows.local_time import Millis, due_times, is_shifted, latest_end
from penstock.time import MAX_WATERMARK, MIN_WATERMARK


class WindowClock:
    """Decides which windows have ended: by the watermark, or by the processing time.

    A window in event time is complete when the watermark reaches its last millisecond. A window in processing time is complete
    when the clock has passed it, because rows with its last millisecond may still arrive in the same batch.
    """

    def __init__(self, event_time: bool, zone: str) -> None:
        self.event_time = event_time
        self.zone = zone

    def end(self, advance: Advance) -> int:
        """Returns the clock at the end of a batch."""
        return advance.end if self.event_time else advance.now - 1

    def at_rows(self, watermarks: Millis, advance: Advance) -> Millis:
        """Returns the clock when each row arrived. No row is late in processing time."""
        return watermarks if self.event_time else np.full(len(watermarks), MIN_WATERMARK, np.int64)

    def marks(self, ends: Millis, advance: Advance) -> Millis:
        """Returns the watermark at which the results of windows are emitted, given the ends of the windows.

        That is just below the watermark that makes a window due: its results come before that watermark.
        """
        if not self.event_time:
            return np.full(len(ends), advance.before, np.int64)
        due = due_times(ends, self.zone)
        return np.clip(due - 1, advance.before, advance.end)

    def due(self, ends: Millis) -> Millis:
        """Returns the clock at which windows with these ends are complete."""
        return due_times(ends, self.zone)

    def take(self, table: TimeOrderedTable, clock: int) -> list[TimedEntry]:
        """Returns the entries of complete windows, in the order of their ends, and deletes them."""
        first = table.first_time()
        bound = latest_end(clock, self.zone)
        if first is None or first > bound:
            return []
        if not is_shifted(self.zone) or clock >= MAX_WATERMARK - 1:
            return table.take_until(bound)
        found = list(table.until(bound))
        due = due_times(np.array([entry.time for entry in found], np.int64), self.zone)
        taken = [entry for entry, at in zip(found, due.tolist(), strict=True) if at <= clock]
        for entry in taken:
            table.put(entry.stored, None)
        return taken

    def wake(self, table: TimeOrderedTable) -> int | None:
        """Returns the processing time at which the first window of a table ends, or None."""
        first = None if self.event_time else table.first_time()
        return None if first is None else self._due_of(first) + 1

    def next_event_time(self, table: TimeOrderedTable, watermark: int) -> int | None:
        """Returns the lowest watermark above the current one at which a window of a table ends, or None."""
        first = table.first_time() if self.event_time else None
        return None if first is None else max(self._due_of(first), watermark + 1)

    def _due_of(self, end: int) -> int:
        return int(due_times(np.array([end], np.int64), self.zone)[0])
