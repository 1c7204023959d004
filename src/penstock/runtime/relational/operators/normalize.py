"""Turns an upsert stream, or one with duplicates, into a complete changelog."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import NormalizeSpec
from penstock.runtime.relational.state.emitted_rows import EmittedRows
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec
from penstock.runtime.relational.state.time_to_live import TimeToLive


class NormalizeOperator(BaseOperator):
    """Keeps the last row of each primary key.

    The first row of a key is inserted, whatever its kind. A row that equals the stored one changes nothing, unless there is a time
    to live. A deletion emits the stored row, because the row that arrived may have only its key.
    """

    def __init__(self, spec: NormalizeSpec) -> None:
        super().__init__()
        self._spec = spec
        self._codec = RowCodec(spec.input_types)
        self._ttl = TimeToLive(spec.ttl)

    def open(self, context: OperatorContext) -> None:
        self._table = KeyedTable(context, "rows", self._ttl.schema("row"))

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        output, rows = Output(), inputs[0]
        self._ttl.now = advance.now
        if len(rows):
            changes, causes = self._normalize(rows).finish()
            output.add(changes, rows.watermarks[causes])
        self._ttl.sweep(self._table)
        return output

    def _normalize(self, rows: Input) -> EmittedRows:
        spec, changes, ttl, table = self._spec, rows.changes, self._ttl, self._table
        columns = [changes.columns[i] for i in spec.keys]
        groups = group_rows(columns, changes.length)
        last = np.empty(len(groups), np.int64)  # only the last change of a key counts
        last[groups.codes] = np.arange(changes.length)
        at = pa.array(last)
        keys = encode_keys([c.take(at) for c in columns], [spec.input_types[i] for i in spec.keys], len(last))
        encoded = self._codec.encode([c.take(at) for c in changes.columns])
        adds = (changes.signs()[last] > 0).tolist()
        emitted = EmittedRows(changes, self._codec)
        for entry, row, new, added in zip(table.prefixes(keys), last.tolist(), encoded, adds, strict=True):
            old = ttl.unwrap(table.get(entry))
            if not added:
                if old is not None:
                    emitted.add(DELETE, old, row)
                    table.put(entry, None)
                continue
            if old == new and not spec.ttl:
                continue
            table.put(entry, ttl.wrap(new))
            if old is None:
                emitted.add(INSERT, row, row)
                continue
            if spec.update_before:
                emitted.add(UPDATE_BEFORE, old, row)
            emitted.add(UPDATE_AFTER, row, row)
        return emitted
