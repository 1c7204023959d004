"""ORDER BY a time attribute: rows leave in order as time passes."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import encode_keys
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.sorting.ordered_bytes import ordered_bytes
from penstock.runtime.relational.specs.operators import TemporalSortSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.state.row_times import row_times
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable
from penstock.time import MIN_WATERMARK

_SIGN = 1 << 63


class TemporalSortOperator(BaseOperator):
    """Sorts an insert-only input.

    By event time, a row waits until the watermark reaches its time. It is late, and dropped, only if a row with the same or a later
    time has left already: a row below the watermark that is still in order leaves with the next watermark, as in Flink.
    By processing time, the rows of a batch are sorted by the remaining keys.
    """

    def __init__(self, spec: TemporalSortSpec) -> None:
        super().__init__()
        self._spec = spec
        self._codec = RowCodec(spec.input_types)

    def open(self, context: OperatorContext) -> None:
        if not self._spec.event_time:
            return
        self._times = TimeOrderedTable(context, "rows", "row")
        self._facts = KeyedTable(context, "facts", "last-time-and-count")
        (self._key,) = encode_keys([], [], 1)
        (self._suffix,) = self._times.suffixes([self._key])
        (self._facts_entry,) = self._facts.prefixes([self._key])

    def next_event_time(self, watermark: int) -> int | None:
        return self._times.first_time() if self._spec.event_time else None

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        rows, output = inputs[0], Output()
        if not self._spec.event_time:
            if len(rows):
                output.add(_sorted(rows.changes, self._spec), int(rows.watermarks[0]))
            return output
        stored = self._facts.get(self._facts_entry)
        last, count = unpack(stored) if stored is not None else (MIN_WATERMARK, 0)
        if len(rows):
            count = self._store(rows, last, count)
        due = self._times.take_until(advance.end)
        if due:
            last = max(last, max(int.from_bytes(entry.sub_key[:8], "big") - _SIGN for entry in due))
            columns = self._codec.decode([entry.value for entry in due])
            output.add(Changes(columns, len(due)), np.array([entry.time for entry in due], np.int64) - 1)
        if due or len(rows):
            self._facts.put(self._facts_entry, pack((last, count)))
        return output

    def _store(self, rows: Input, last: int, count: int) -> int:
        changes = rows.changes
        times = row_times(changes.columns[self._spec.order[0].column])
        marks = rows.watermarks
        if (times <= marks).any():
            kept = self._in_order(times, marks, last)
            self.late_records += len(times) - len(kept)
            changes, times, marks = changes.take(kept), times[kept], marks[kept]
            if not len(kept):
                return count
        dues = np.maximum(times, marks + 1).tolist()
        keys = ordered_bytes(changes.columns, self._spec.order, changes.length)
        encoded = self._codec.encode(changes.columns)
        for due, time, key, row in zip(dues, times.tolist(), keys, encoded, strict=True):
            sub_key = (time + _SIGN).to_bytes(8, "big") + key + count.to_bytes(8, "big")
            self._times.put(self._times.entry(due, self._suffix, sub_key), row)
            count += 1
        return count

    def _in_order(self, times: NDArray[np.int64], marks: NDArray[np.int64], last: int) -> NDArray[np.int64]:
        """Returns the positions of rows that are not late."""
        waiting = [
            (entry.time, int.from_bytes(entry.sub_key[:8], "big") - _SIGN)
            for entry in self._times.until(int(marks[-1]))
        ]  # in order, so it is a heap
        kept: list[int] = []
        for position, (time, mark) in enumerate(zip(times.tolist(), marks.tolist(), strict=True)):
            while waiting and waiting[0][0] <= mark:
                last = max(last, heapq.heappop(waiting)[1])
            if time > last:
                kept.append(position)
                heapq.heappush(waiting, (max(time, mark + 1), time))
        return np.array(kept, np.int64)


def _sorted(changes: Changes, spec: TemporalSortSpec) -> Changes:
    keys = ordered_bytes(changes.columns, spec.order[1:], changes.length)
    return changes.take(np.array(sorted(range(changes.length), key=keys.__getitem__), np.int64))
