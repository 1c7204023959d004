"""OVER by any order as a maintained result: rows whose results change are retracted and emitted again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Changes
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.operators.over_calls import OverCalls
from penstock.runtime.relational.operators.over_frames import Partitions
from penstock.runtime.relational.sorting.ordered_bytes import ordered_bytes
from penstock.runtime.relational.sorting.positions import positions_by_group
from penstock.runtime.relational.specs.operators import OverCall, OverSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.runtime.relational.state.row_times import row_times
from penstock.runtime.relational.state.time_to_live import TimeToLive
from penstock.types.logical.kinds import BIGINT

_NUMBER = 8
_AVERAGES = ("AVG", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP")


@dataclass(slots=True)
class _Partition:
    """A partition that changes: its rows with their results by sub key, before and after."""

    prefix: bytes
    cause: int
    old: dict[bytes, list[Any]]
    new: dict[bytes, list[Any]]
    kinds: dict[bytes, int]  # of the rows that are new


class MaintainedOverOperator(BaseOperator):
    """Keeps all rows of a partition in order, each with its results. A change computes its partition again.

    Equal rows differ by their arrival; a removal takes the first of them.
    """

    def __init__(self, spec: OverSpec) -> None:
        super().__init__()
        self._spec = spec
        self._width = len(spec.input_types)
        self._types = [*spec.input_types, *(call.call.type for call in spec.calls)]
        self._evaluated = (*spec.calls, *_hidden_counts(spec))
        self._calls = OverCalls(self._evaluated, spec.input_types)
        self._ttl = TimeToLive(spec.ttl)

    def open(self, context: OperatorContext) -> None:
        self._calls.open()
        self._calls.counts_peers = not context.runtime.in_batch_mode
        self._rows = KeyedTable(context, "rows", self._ttl.schema("row-and-results"))

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        output, rows = Output(), inputs[0]
        self._ttl.now = advance.now
        if len(rows):
            changed = self._change(rows.changes)
            if changed:
                self._compute(changed)
                self._emit(changed, rows, output)
        self._ttl.sweep(self._rows)
        return output

    def _change(self, changes: Changes) -> list[_Partition]:
        """Adds and removes the rows of the batch."""
        spec = self._spec
        columns, types = [changes.columns[i] for i in spec.keys], [spec.input_types[i] for i in spec.keys]
        groups = group_rows(columns, changes.length)
        first = pa.array(groups.first)
        prefixes = self._rows.prefixes(encode_keys([c.take(first) for c in columns], types, len(groups)))
        sort_keys = ordered_bytes(changes.columns, spec.order, changes.length)
        values = [to_values(c, t) for c, t in zip(changes.columns, spec.input_types, strict=True)]
        given = [list(row) for row in zip(*values, strict=True)]
        kinds = changes.all_kinds().tolist()
        changed: list[_Partition] = []
        for prefix, positions in zip(prefixes, positions_by_group(groups), strict=True):
            old, number = self._load(prefix)
            part = _Partition(prefix, positions[-1], old, dict(old), {})
            for position in positions:
                if kinds[position] in (INSERT, UPDATE_AFTER):
                    sub_key = sort_keys[position] + number.to_bytes(_NUMBER, "big")
                    number += 1
                    part.new[sub_key] = given[position]
                    part.kinds[sub_key] = kinds[position]
                else:
                    self._remove(part, sort_keys[position], given[position])
            if part.new.keys() != old.keys():
                self._rows.put(prefix, self._ttl.wrap(pack(number)))
                changed.append(part)
        return changed

    def _load(self, prefix: bytes) -> tuple[dict[bytes, list[Any]], int]:
        """Returns the rows of a partition with their results, and the number of the next row."""
        rows: dict[bytes, list[Any]] = {}
        number = 0
        for sub_key, stored in self._rows.scan(prefix):
            value = self._ttl.unwrap(stored)
            if value is None:
                continue
            if sub_key:
                rows[sub_key] = unpack(value)
            else:
                number = unpack(value)
        return rows, number

    def _remove(self, part: _Partition, sort_key: bytes, row: list[Any]) -> None:
        wanted = pack(row)
        for sub_key in sorted(key for key in part.new if key[:-_NUMBER] == sort_key):
            if pack(part.new[sub_key][: self._width]) == wanted:
                del part.new[sub_key]
                part.kinds.pop(sub_key, None)
                return

    def _compute(self, changed: list[_Partition]) -> None:
        """Replaces the rows of all partitions by rows with new results."""
        keys = [sorted(part.new) for part in changed]
        rows = [part.new[key][: self._width] for part, mine in zip(changed, keys, strict=True) for key in mine]
        if not rows:
            return
        columns = [from_values([row[i] for row in rows], t) for i, t in enumerate(self._spec.input_types)]
        lengths = [len(mine) for mine in keys]
        peers = _codes([key[:-_NUMBER] for mine in keys for key in mine])
        partitions = Partitions.of(lengths, peers, self._order_values(columns))
        stored: list[Any] = [None] * len(changed)
        results = self._calls.results(columns, partitions, np.arange(len(rows)), lengths, stored)
        calls = [to_values(r, c.call.type) for r, c in zip(results, self._evaluated, strict=True)]
        found = iter(zip(rows, zip(*calls, strict=True), strict=True))
        for part, mine in zip(changed, keys, strict=True):
            part.new = {}
            for key in mine:
                row, more = next(found)
                part.new[key] = [*row, *more]

    def _order_values(self, columns: list[pa.Array]) -> NDArray[Any]:
        """The numbers that RANGE frames with an offset compare: of the first order key, ascending."""
        order = self._spec.order[0] if self._spec.order else None
        if order is None or all(
            c.mode == "ROWS" or (c.lower in (None, 0) and c.upper in (None, 0)) for c in self._spec.calls
        ):
            return np.zeros(len(columns[0]), np.int64)
        column = columns[order.column]
        if pa.types.is_timestamp(column.type):
            numbers: NDArray[Any] = row_times(column)
        else:
            numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
            numbers = np.where(np.isnan(numbers), -np.inf if order.nulls_first == order.ascending else np.inf, numbers)
        return numbers if order.ascending else -numbers

    def _emit(self, changed: list[_Partition], rows: Input, output: Output) -> None:
        kinds: list[int] = []
        emitted: list[list[Any]] = []
        causes: list[int] = []

        def add(kind: int, row: list[Any]) -> None:
            if kind != UPDATE_BEFORE or self._spec.update_before:
                kinds.append(kind)
                emitted.append(row)
                causes.append(part.cause)

        for part in sorted(changed, key=lambda p: p.cause):
            for key in sorted(part.old.keys() | part.new.keys()):
                old, new = part.old.get(key), part.new.get(key)
                if new is None:
                    assert old is not None
                    add(DELETE, old)
                    self._rows.put(part.prefix + key, None)
                    continue
                if old is not None and pack(old) == pack(new):
                    continue
                self._rows.put(part.prefix + key, self._ttl.wrap(pack(new)))
                if old is None:
                    add(part.kinds[key], new)
                else:
                    add(UPDATE_BEFORE, old)
                    add(UPDATE_AFTER, new)
            if not part.new:
                self._rows.put(part.prefix, None)
        if emitted:
            columns = [from_values([row[i] for row in emitted], t) for i, t in enumerate(self._types)]
            all_kinds = np.array(kinds, np.int8)
            output.add(Changes(columns, len(emitted), all_kinds if all_kinds.any() else None), rows.watermarks[causes])


def _hidden_counts(spec: OverSpec) -> list[OverCall]:
    """Counts whose change emits a row again although its results are equal.

    Flink compares accumulators, not results: those of averages, and of sums of an input with updates, have a count.
    """
    counted = _AVERAGES if spec.insert_only else (*_AVERAGES, "SUM", "SUM0")
    hidden: list[OverCall] = []
    for over in spec.calls:
        if over.call.function in counted and over.lower is None and over.upper == 0:
            count = msgspec.structs.replace(over.call, function="COUNT", type=BIGINT, options=(), name="")
            hidden.append(msgspec.structs.replace(over, call=count))
    return hidden


def _codes(keys: list[bytes]) -> NDArray[np.int64]:
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], np.int64)
