"""Top-N per window: the first rows of each window and key in an order, emitted when the window ends."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.operators import WindowRankSpec
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable
from penstock.runtime.relational.windows.assign import column_millis
from penstock.runtime.relational.windows.due import WindowClock
from penstock.runtime.relational.windows.sort_order import row_order
from penstock.types.logical.kinds import TimestampType


class WindowRankOperator(BaseOperator):
    """Keeps the first rows of each window and key. Of rows that are equal in order, the first one has the lower rank.

    Deduplication that keeps the last row by time is different: of rows with the same time, the last one stays.
    """

    def __init__(self, spec: WindowRankSpec) -> None:
        super().__init__()
        assert spec.insert_only, "window Top-N needs an input without updates"
        self._spec = spec
        self._clock = WindowClock(spec.event_time, spec.zone)
        self._codec = RowCodec(spec.input_types)
        self._keys = [k for k in spec.keys if k != spec.end_column]
        self._order, self._keeps_last = self._order_of(spec)

    @staticmethod
    def _order_of(spec: WindowRankSpec) -> tuple[tuple[SortKey, ...], bool]:
        """Returns the sort keys without times of the machine, which are the order of arrival, and whether ties keep the last."""
        types = [spec.input_types[key.column] for key in spec.order]
        is_time = bool(types) and isinstance(types[0], TimestampType) and types[0].attribute != ""
        keeps_last = is_time and len(types) == 1 and spec.end == 1 and not spec.order[0].ascending
        order = tuple(
            key
            for key, t in zip(spec.order, types, strict=True)
            if not (isinstance(t, TimestampType) and t.attribute == "PROCTIME")
        )
        return order, keeps_last

    def open(self, context: OperatorContext) -> None:
        self._table = TimeOrderedTable(context, "rows", "|".join(map(str, self._spec.input_types)))

    def wake(self) -> int | None:
        return self._clock.wake(self._table)

    def next_event_time(self, watermark: int) -> int | None:
        return self._clock.next_event_time(self._table, watermark)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        out = Output()
        if not self._clock.event_time:
            self._fire(advance, out)
        for given in inputs:
            if len(given):
                self._add(given, advance)
        self._fire(advance, out)
        return out

    def _add(self, given: Input, advance: Advance) -> None:
        rows, ends = column_millis(given.changes.columns[self._spec.end_column])
        late = self._clock.due(ends) <= self._clock.at_rows(given.watermarks, advance)[rows]
        self.late_records += int(late.sum()) if self._clock.event_time else 0
        rows, ends = rows[~late], ends[~late]
        if len(rows) == 0:
            return
        changes = given.changes.take(rows)
        key_columns = [changes.columns[k] for k in self._keys]
        groups = group_rows([pa.array(ends), *key_columns], len(rows))
        first = pa.array(groups.first)
        types = [self._spec.input_types[k] for k in self._keys]
        suffixes = self._table.suffixes(encode_keys([c.take(first) for c in key_columns], types, len(groups)))
        entries = [
            self._table.entry(end, suffix) for end, suffix in zip(ends[groups.first].tolist(), suffixes, strict=True)
        ]
        codes, columns = groups.codes, changes.columns
        stored: list[bytes] = []
        owners: list[int] = []
        for group, entry in enumerate(entries):
            value = self._table.get(entry)
            if value is not None:
                kept = unpack(value)
                stored.extend(kept)
                owners.extend([group] * len(kept))
        if stored:  # they arrived before the rows of this batch
            columns = [
                pa.concat_arrays([old, new]) for old, new in zip(self._codec.decode(stored), columns, strict=True)
            ]
            codes = np.concatenate([np.array(owners, np.int64), codes])
        kept_rows = self._first_rows(codes, columns)
        encoded = self._codec.encode([c.take(pa.array(kept_rows)) for c in columns])
        bounds = np.searchsorted(codes[kept_rows], np.arange(len(entries) + 1)).tolist()
        for group, entry in enumerate(entries):
            self._table.put(entry, pack(encoded[bounds[group] : bounds[group + 1]]))

    def _first_rows(self, codes: NDArray[np.int64], columns: list[pa.Array]) -> NDArray[np.int64]:
        """Returns the positions of the first rows of each group, ordered by group and rank."""
        if self._keeps_last:  # equal rows in the reverse order of arrival
            backwards = np.arange(len(codes))[::-1]
            at = pa.array(backwards)
            reverse = [c.take(at) if any(k.column == i for k in self._order) else c for i, c in enumerate(columns)]
            order = backwards[row_order(codes[backwards], reverse, self._order)]
        else:
            order = row_order(codes, columns, self._order)
        ordered = codes[order]
        starts = np.searchsorted(ordered, ordered)
        kept: NDArray[np.int64] = order[np.arange(len(order)) - starts < self._spec.end]
        return kept

    def _fire(self, advance: Advance, out: Output) -> None:
        found = self._clock.take(self._table, self._clock.end(advance))
        if not found:
            return
        rows: list[bytes] = []
        ranks: list[int] = []
        ends: list[int] = []
        first = self._spec.start - 1
        for entry in found:
            ranked = unpack(entry.value)[first:]
            rows.extend(ranked)
            ranks.extend(range(first + 1, first + 1 + len(ranked)))
            ends.extend([entry.time] * len(ranked))
        if not rows:
            return
        columns = self._codec.decode(rows)
        if self._spec.outputs_rank:
            columns.append(pa.array(ranks, pa.int64()))
        out.add(Changes(columns, len(rows)), self._clock.marks(np.array(ends, np.int64), advance))
