"""The first or the last row of each key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import INSERT, UPDATE_AFTER, UPDATE_BEFORE, Changes
from penstock.runtime.relational.keys import RowGroups, encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.sorting.positions import positions_by_group
from penstock.runtime.relational.specs.operators import DeduplicateSpec
from penstock.runtime.relational.state.emitted_rows import EmittedRows
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec
from penstock.runtime.relational.state.row_times import row_times
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable
from penstock.runtime.relational.state.time_to_live import TimeToLive

_SIGN = 1 << 63


class DeduplicateOperator(BaseOperator):
    """One row per key. The input has insertions only.

    The first row by processing time is emitted at once. The first row by event time is emitted when the watermark reaches its
    time, so nothing is ever retracted; rows below the watermark are late. The last row is updated with each row that is not older.
    """

    def __init__(self, spec: DeduplicateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._codec = RowCodec(spec.input_types)
        self._ttl = TimeToLive(spec.ttl)
        self._waits = spec.event_time and not spec.keep_last

    def open(self, context: OperatorContext) -> None:
        keeps_rows = self._spec.keep_last
        name, schema = ("last", "row") if keeps_rows else ("emitted", "mark")
        self._table = KeyedTable(context, name, self._ttl.schema(schema))
        if self._waits:
            self._waiting = KeyedTable(context, "waiting", "times")
            self._times = TimeOrderedTable(context, "waiting-rows", "row")

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        rows, output = inputs[0], Output()
        self._ttl.now = advance.now
        if self._waits:
            if len(rows):
                self._add_waiting(rows)
            self._emit_waiting(advance, output)
        elif len(rows):
            emitted = self._last(rows) if self._spec.keep_last else self._first(rows)
            changes, causes = emitted.finish(*self._rank(len(emitted)))
            output.add(changes, rows.watermarks[causes])
        self._ttl.sweep(self._table)
        return output

    def next_event_time(self, watermark: int) -> int | None:
        return self._times.first_time() if self._waits else None

    def _rank(self, length: int) -> list[pa.Array]:
        return [pa.array(np.ones(length, np.int64))] if self._spec.outputs_rank else []

    def _groups(self, changes: Changes) -> tuple[RowGroups, list[bytes]]:
        """Groups rows by key, and returns the bytes of each key."""
        columns = [changes.columns[i] for i in self._spec.keys]
        groups = group_rows(columns, changes.length)
        first = pa.array(groups.first)
        types = [self._spec.input_types[i] for i in self._spec.keys]
        return groups, encode_keys([c.take(first) for c in columns], types, len(groups))

    def _first(self, rows: Input) -> EmittedRows:
        changes = rows.changes
        groups, keys = self._groups(changes)
        entries = self._table.prefixes(keys)
        emitted = EmittedRows(changes, self._codec)
        mark = self._ttl.wrap(b"")
        for entry, row in zip(entries, groups.first.tolist(), strict=True):
            if self._ttl.unwrap(self._table.get(entry)) is None:
                self._table.put(entry, mark)
                emitted.add(INSERT, row, row)
        return emitted

    def _last(self, rows: Input) -> EmittedRows:
        spec, changes = self._spec, rows.changes
        groups, keys = self._groups(changes)
        entries = self._table.prefixes(keys)
        times = row_times(changes.columns[spec.time_column]) if spec.event_time else None
        last = _latest(groups, times)
        encoded = self._codec.encode([c.take(pa.array(last)) for c in changes.columns])
        emitted = EmittedRows(changes, self._codec)
        table, ttl = self._table, self._ttl
        due = [0] * len(last) if times is None else times[last].tolist()
        for entry, row, new, time in zip(entries, last.tolist(), encoded, due, strict=True):
            stored = ttl.unwrap(table.get(entry))
            stamp = (time + _SIGN).to_bytes(8, "big") if spec.event_time else b""
            old = stored if stored is None or not spec.event_time else stored[8:]
            if stored is not None and spec.event_time and stored[:8] > stamp:
                continue  # the stored row is younger
            unchanged = old == new and not spec.event_time and not spec.ttl
            if unchanged:
                continue
            table.put(entry, ttl.wrap(stamp + new))
            if old is None:
                emitted.add(INSERT, row, row)
                continue
            if spec.update_before:
                emitted.add(UPDATE_BEFORE, old, row)
            emitted.add(UPDATE_AFTER, row, row)
        return emitted

    def _add_waiting(self, rows: Input) -> None:
        """Stores the earliest row of each key until the watermark reaches its time."""
        times = row_times(rows.changes.columns[self._spec.time_column])
        on_time = np.flatnonzero(times >= rows.watermarks)
        self.late_records += len(times) - len(on_time)
        changes, times, marks = rows.changes.take(on_time), times[on_time], rows.watermarks[on_time]
        groups, keys = self._groups(changes)
        dues = np.maximum(times, marks + 1)  # a row at the watermark itself waits for the next one
        entries, waiting, suffixes = (
            self._table.prefixes(keys),
            self._waiting.prefixes(keys),
            self._times.suffixes(keys),
        )
        times_, dues_, marks_ = times.tolist(), dues.tolist(), marks.tolist()
        kept: list[tuple[int, bytes, bytes]] = []  # row, its entry, the time entry
        for key, positions in enumerate(positions_by_group(groups)):
            if self._ttl.unwrap(self._table.get(entries[key])) is not None:
                continue
            stored = self._waiting.get(waiting[key])
            due, time = (None, None) if stored is None else _two_times(stored)
            best, old = -1, due
            for row in positions:
                if due is not None and due <= marks_[row]:
                    break  # it was emitted before this row
                if time is None or times_[row] < time:
                    due, time, best = dues_[row], times_[row], row
            if best < 0:
                continue
            if old is not None:
                self._times.put(self._times.entry(old, suffixes[key]), None)
            kept.append((best, waiting[key], self._times.entry(dues_[best], suffixes[key])))
        if kept:
            at_rows = pa.array([row for row, _, _ in kept])
            encoded = self._codec.encode([c.take(at_rows) for c in changes.columns])
            for (row, entry, timed), data in zip(kept, encoded, strict=True):
                self._waiting.put(
                    entry, (dues_[row] + _SIGN).to_bytes(8, "big") + (times_[row] + _SIGN).to_bytes(8, "big")
                )
                self._times.put(timed, data)

    def _emit_waiting(self, advance: Advance, output: Output) -> None:
        due = self._times.take_until(advance.end)
        if not due:
            return
        keys = [entry.key for entry in due]
        mark = self._ttl.wrap(b"")
        for entry, waiting in zip(self._table.prefixes(keys), self._waiting.prefixes(keys), strict=True):
            self._table.put(entry, mark)
            self._waiting.put(waiting, None)
        columns = self._codec.decode([entry.value for entry in due])
        marks = np.array([entry.time for entry in due], np.int64) - 1  # before the watermark that caused it
        output.add(Changes([*columns, *self._rank(len(due))], len(due)), marks)


def _two_times(stored: bytes) -> tuple[int, int]:
    return int.from_bytes(stored[:8], "big") - _SIGN, int.from_bytes(stored[8:], "big") - _SIGN


def _latest(groups: RowGroups, times: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Returns the position of the last row of each group, of those with the highest time if there are times."""
    rows = np.arange(len(groups.codes))
    order = rows if times is None else np.lexsort((rows, times))
    last = np.empty(len(groups), np.int64)
    last[groups.codes[order]] = order  # the last assignment counts
    return last
