"""One row per primary key of a sink, for changes that arrive by another key."""

from __future__ import annotations

import pyarrow as pa

from penstock.errors import StateError
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import DELETE, INSERT, UPDATE_AFTER, Changes
from penstock.runtime.relational.expressions.values import to_values
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.sorting.positions import positions_by_group
from penstock.runtime.relational.specs.operators import UpsertMaterializeSpec
from penstock.runtime.relational.state.emitted_rows import EmittedRows, Row
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.state.time_to_live import TimeToLive


class UpsertMaterializeOperator(BaseOperator):
    """Keeps the live rows of each primary key in the order of their arrival, and shows the newest one.

    With an upsert key, a row replaces the one with the same upsert key. The output has +I, +U and -D, never -U. With the conflict
    "nothing" the oldest row is shown instead; with "error" two live rows at the end of a batch are an error. The removal of a
    row of a key without state is passed on, because the sink may have the row.
    """

    def __init__(self, spec: UpsertMaterializeSpec) -> None:
        super().__init__()
        self._spec = spec
        self._codec = RowCodec(spec.input_types)
        self._ttl = TimeToLive(spec.ttl)
        self._shown = 0 if spec.conflict == "nothing" else -1

    def open(self, context: OperatorContext) -> None:
        self._table = KeyedTable(context, "rows", self._ttl.schema("list"))

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        output, rows = Output(), inputs[0]
        self._ttl.now = advance.now
        if len(rows):
            changes, causes = self._apply(rows).finish()
            output.add(changes, rows.watermarks[causes])
        self._ttl.sweep(self._table)
        return output

    def _apply(self, rows: Input) -> EmittedRows:
        spec, changes = self._spec, rows.changes
        columns, types = changes.columns, spec.input_types
        groups = group_rows([columns[i] for i in spec.keys], changes.length)
        first = pa.array(groups.first)
        keys = encode_keys([columns[i].take(first) for i in spec.keys], [types[i] for i in spec.keys], len(groups))
        encoded = self._codec.encode(columns)
        names = encoded  # what identifies a row
        if spec.upsert_key:
            key = spec.upsert_key
            names = encode_keys([columns[i] for i in key], [types[i] for i in key], changes.length)
        adds = (changes.signs() > 0).tolist()
        emitted = EmittedRows(changes, self._codec)
        for group, (entry, positions) in enumerate(
            zip(self._table.prefixes(keys), positions_by_group(groups), strict=True)
        ):
            stored = self._ttl.unwrap(self._table.get(entry))
            live: list[tuple[bytes, Row]] = [] if stored is None else _load(stored, bool(spec.upsert_key))
            before = live[self._shown][1] if live else None
            cause = unknown = -1
            for position in positions:
                if self._change(live, names[position], position if adds[position] else None):
                    cause = position
                elif not live:
                    unknown = position
            if stored is None and unknown >= 0 and not live:
                emitted.add(DELETE, unknown, unknown)  # written before there was state, or the state has expired
            if cause < 0:
                continue
            self._check(live, changes, int(groups.first[group]))
            self._store(entry, live, encoded)
            after = live[self._shown][1] if live else None
            if after is None:
                if before is not None:
                    emitted.add(DELETE, cause, cause)
            elif before is None:
                emitted.add(INSERT, after, cause)
            elif after is not before:
                emitted.add(UPDATE_AFTER, after, cause)
        return emitted

    def _change(self, live: list[tuple[bytes, Row]], name: bytes, added: int | None) -> bool:
        """Adds or removes a row. Returns whether something changed."""
        places = (i for i, row in enumerate(live) if row[0] == name)
        place = next(places, -1) if added is None or self._spec.upsert_key else -1
        if added is None:
            if place < 0:
                return False
            del live[place]
        elif place < 0:
            live.append((name, added))
        else:
            live[place] = (name, added)
        return True

    def _store(self, entry: bytes, live: list[tuple[bytes, Row]], encoded: list[bytes]) -> None:
        if not live:
            self._table.put(entry, None)
            return
        rows = [(name, encoded[row] if isinstance(row, int) else row) for name, row in live]
        data = rows if self._spec.upsert_key else [row for _, row in rows]
        self._table.put(entry, self._ttl.wrap(pack(data)))

    def _check(self, live: list[tuple[bytes, Row]], changes: Changes, first: int) -> None:
        if self._spec.conflict != "error" or len(live) < 2:
            return
        key = [to_values(changes.columns[i].slice(first, 1), self._spec.input_types[i])[0] for i in self._spec.keys]
        raise StateError(
            "PRIMARY_KEY_CONFLICT",
            f"The query has {len(live)} rows with the primary key {tuple(key)!r} of the sink, and ON CONFLICT says DO ERROR. "
            "Aggregate the rows by the primary key, or use ON CONFLICT DO DEDUPLICATE to keep the newest row.",
        )


def _load(stored: bytes, named: bool) -> list[tuple[bytes, Row]]:
    rows = unpack(stored)
    return [(name, row) for name, row in rows] if named else [(row, row) for row in rows]
