"""Legacy group windows that emit results before their end, or again after it: results are updated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.aggregates.accumulators import Accumulators
from penstock.runtime.relational.changes import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Changes
from penstock.runtime.relational.keys import decode_values
from penstock.runtime.relational.operators.operator import Input, Output
from penstock.runtime.relational.specs.operators import WindowAggregateSpec
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable
from penstock.runtime.relational.windows.aggregate.base import WindowAggregateBase
from penstock.runtime.relational.windows.assign import row_times
from penstock.runtime.relational.windows.local_time import Millis, latest_end, local_times

_SIGN = 1 << 63


@dataclass(slots=True)
class _WindowState:
    """A window of a key in a batch.

    values: the accumulators. emitted: the last result, None if there is none. timer: when the result is emitted next, and base:
    the first of these times, in processing time. mark: the watermark at which it is emitted in this batch, None if it is not.
    """

    end: int
    key: bytes
    suffix: bytes
    values: list[Any] | None = None
    emitted: bytes | None = None
    timer: int | None = None
    base: int | None = None
    ended: bool = False  # whether `timer` and `base` are those after the end
    mark: int | None = None

    def pack(self) -> bytes:
        return pack([self.values, self.emitted, self.timer, self.base, self.ended])


class WindowUpdateOperator(WindowAggregateBase):
    """Emits the result of a window and key with each row, or at intervals of processing time, if it has changed.

    `early` applies before the end of a window, `late` after it, until the allowed lateness has passed. The result at the end of
    a window is always emitted. Rows are added to all their windows, not to slices, because each window has its own result.
    """

    def __init__(self, spec: WindowAggregateSpec) -> None:
        super().__init__(spec)
        self._lateness = 0 if spec.late is None else spec.allow_lateness
        self._result_codec = RowCodec([call.type for call in spec.calls])

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = TimeOrderedTable(context, "windows", f"{self.schema} with results")
        self._timers = TimeOrderedTable(context, "timers", "window")

    def wake(self) -> int | None:
        times = [self._timers.first_time(), self.clock.wake(self._table)]
        return min((time for time in times if time is not None), default=None)

    def next_event_time(self, watermark: int) -> int | None:
        return self.clock.next_event_time(self._table, watermark)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        out = Output()
        self._fire_timers(advance, out)
        windows: dict[tuple[int, bytes], _WindowState] = {}
        if not self.clock.event_time:
            self._end_windows(windows, advance)
            self._finish(windows, advance, out)
            windows = {}
        for given in inputs:
            if len(given):
                self._add_rows(given, windows, advance)
        self._end_windows(windows, advance)
        self._finish(windows, advance, out)
        return out

    # -- timers of processing time

    def _fire_timers(self, advance: Advance, out: Output) -> None:
        windows = []
        for timer in self._timers.take_until(advance.now):
            end = int.from_bytes(timer.sub_key, "big") - _SIGN
            window = self._get(end, timer.key, timer.stored[10 : 18 + len(timer.key)])
            if window is not None and window.timer == timer.time:
                window.timer = None
                window.mark = advance.before
                windows.append(window)
        self._emit_updates(windows, advance, out)
        for window in windows:
            self._put(window)

    def _set_timer(self, window: _WindowState, interval: int, now: int, ended: bool) -> None:
        """Sets the timer of a window, on the grid of times that starts with its first row."""
        if window.ended != ended:
            window.ended, window.base, window.timer = ended, None, None
        if window.timer is not None:
            return
        if window.base is None:
            window.base = now + interval
        window.timer = window.base if now < window.base else now + interval - (now - window.base) % interval
        self._timers.put(self._timers.entry(window.timer, window.suffix, (window.end + _SIGN).to_bytes(8, "big")), b"")

    # -- rows

    def _add_rows(self, given: Input, windows: dict[tuple[int, bytes], _WindowState], advance: Advance) -> None:
        rows, times = row_times(given.changes, self.window, advance.now)
        clocks = self.clock.at_rows(given.watermarks, advance)[rows]
        at, _, ends = self.grid.windows(local_times(times, self.window.zone))
        taken = self.clock.due(ends + self._lateness) > clocks[at]
        self.late_records += len(np.unique(at)) - len(np.unique(at[taken]))
        at, ends = at[taken], ends[taken]
        if len(at) == 0:
            return
        changes = given.changes.take(rows[at])
        groups = self.groups_of(changes, ends)
        keys = self.keys_of(changes, groups.first)
        suffixes = self._table.suffixes(keys)
        found: list[_WindowState] = []
        for end, key, suffix in zip(ends[groups.first].tolist(), keys, suffixes, strict=True):
            window = self._get(end, key, suffix) or _WindowState(end, key, suffix)
            found.append(window)
        state = self.aggregates.load([window.values for window in found])
        self.aggregates.accumulate(state, groups.codes, changes)
        for window, values in zip(found, self.aggregates.dump(state), strict=True):
            window.values = values
        late = self.clock.due(ends) <= clocks[at]
        self._decide(found, groups.codes, late, given.watermarks[rows[at]], advance)
        last = np.zeros(len(found), np.int64)  # the order of emission is that of the last rows
        last[groups.codes] = np.arange(len(at))
        for i in np.argsort(last).tolist():
            windows[found[i].end, found[i].key] = found[i]

    def _decide(
        self,
        found: list[_WindowState],
        codes: NDArray[np.int64],
        late: NDArray[np.bool_],
        marks: Millis,
        advance: Advance,
    ) -> None:
        """Decides which windows emit a result because of their rows."""
        last_mark = np.zeros(len(found), np.int64)
        last_mark[codes] = marks
        has_late = np.zeros(len(found), np.bool_)
        has_late[codes[late]] = True
        has_early = np.zeros(len(found), np.bool_)
        has_early[codes[~late]] = True
        for i, window in enumerate(found):
            for has_rows, interval, ended in (
                (has_early[i], self.spec.early, False),
                (has_late[i], self.spec.late, True),
            ):
                if not has_rows or interval is None:
                    continue
                if interval == 0 or (ended and window.emitted is None and not has_early[i]):
                    window.mark = int(
                        last_mark[i]
                    )  # the first row after the end is emitted at once, if there is no result
                else:
                    self._set_timer(window, interval, advance.now, ended)

    # -- ends of windows

    def _end_windows(self, windows: dict[tuple[int, bytes], _WindowState], advance: Advance) -> None:
        """Adds the windows that end in this batch."""
        clock = self.clock.end(advance)
        first = self._table.first_time()
        bound = latest_end(clock, self.window.zone)
        moved = not self.clock.event_time or advance.end > advance.before
        stored = list(self._table.until(bound)) if moved and first is not None and first <= bound else []
        for entry in stored:
            if (entry.time, entry.key) not in windows:
                window = self._get(entry.time, entry.key, entry.stored[10:])
                assert window is not None
                windows[entry.time, entry.key] = window
        ends = np.array([window.end for window in windows.values()], np.int64)
        due = self.clock.due(ends)
        before = advance.before if self.clock.event_time else -_SIGN
        ending = (due <= clock) & (due > before)
        marks = self.clock.marks(ends, advance)
        for window, is_ending, mark in zip(windows.values(), ending.tolist(), marks.tolist(), strict=True):
            if is_ending and window.mark is None:
                window.mark = mark

    def _finish(self, windows: dict[tuple[int, bytes], _WindowState], advance: Advance, out: Output) -> None:
        """Emits the results of windows, and stores the windows or removes them."""
        emitting = [window for window in windows.values() if window.mark is not None]
        emitting.sort(key=lambda window: window.mark or 0)
        self._emit_updates(emitting, advance, out)
        ends = np.array([window.end for window in windows.values()], np.int64)
        over = self.clock.due(ends + self._lateness) <= self.clock.end(advance)
        for window, is_over in zip(windows.values(), over.tolist(), strict=True):
            if is_over:
                self._table.put(self._table.entry(window.end, window.suffix), None)
                self._delete_timer(window)
            else:
                self._put(window)

    def _delete_timer(self, window: _WindowState) -> None:
        if window.timer is not None:
            entry = self._timers.entry(window.timer, window.suffix, (window.end + _SIGN).to_bytes(8, "big"))
            self._timers.put(entry, None)

    # -- state and results

    def _get(self, end: int, key: bytes, suffix: bytes) -> _WindowState | None:
        value = self._table.get(self._table.entry(end, suffix))
        return None if value is None else _WindowState(end, key, suffix, *unpack(value))

    def _put(self, window: _WindowState) -> None:
        self._table.put(self._table.entry(window.end, window.suffix), window.pack())

    def _emit_updates(self, windows: list[_WindowState], advance: Advance, out: Output) -> None:
        """Emits the results of windows that have changed."""
        if not windows:
            return
        results = self._encoded_results(self.aggregates.load([window.values for window in windows]))
        kinds: list[int] = []
        rows: list[bytes] = []
        owners: list[int] = []

        def add(kind: int, row: bytes, owner: int) -> None:
            kinds.append(kind)
            rows.append(row)
            owners.append(owner)

        for i, (window, new) in enumerate(zip(windows, results, strict=True)):
            old = window.emitted
            if old == new:
                continue
            if old is None:
                assert new is not None
                add(INSERT, new, i)
            elif new is None:
                add(DELETE, old, i)
            else:
                if self.spec.update_before:
                    add(UPDATE_BEFORE, old, i)
                add(UPDATE_AFTER, new, i)
            window.emitted = new
        if not rows:
            return
        ends = np.array([windows[i].end for i in owners], np.int64)
        keys = decode_values([windows[i].key for i in owners], self.key_types)
        values = self._result_codec.decode(rows) if self.spec.calls else []
        properties = self.properties(self.grid.window_starts(ends), ends, advance)
        marks = np.array([windows[i].mark for i in owners], np.int64)
        out.add(Changes([*keys, *values, *properties], len(rows), np.array(kinds, np.int8)), marks)

    def _encoded_results(self, state: Accumulators) -> list[bytes | None]:
        """Returns the bytes of each result; None if a window has no rows."""
        columns: list[pa.Array] = self.aggregates.results(state)
        counts = None if self.spec.insert_only else np.asarray(columns.pop()).tolist()
        encoded: list[bytes | None] = list(self._result_codec.encode(columns)) if columns else [b""] * len(state)
        return encoded if counts is None else [r if n > 0 else None for r, n in zip(encoded, counts, strict=True)]
