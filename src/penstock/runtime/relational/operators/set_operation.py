"""INTERSECT and EXCEPT of two inputs whose rows may be updated and deleted."""

from __future__ import annotations

import msgspec
import numpy as np

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import DELETE, INSERT, Changes
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import SetOperationSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, int]).decode


class SetOperationOperator(BaseOperator):
    """Keeps for each distinct row how often it is in the left and in the right input."""

    def __init__(self, spec: SetOperationSpec) -> None:
        super().__init__()
        self._spec = spec
        self._key = ColumnKey(tuple(range(len(spec.input_types))), spec.input_types)
        self._table: KeyedTable

    def open(self, context: OperatorContext) -> None:
        self._table = KeyedTable(context, "counts", "left and right counts")

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        rows = Changes.concatenate([i.changes for i in inputs])
        output = Output()
        if not rows.length:
            return output
        groups, keys = self._key.groups(rows)
        changed = np.zeros((2, len(groups)), np.int64)
        side = np.repeat([0, 1], [len(i) for i in inputs])
        np.add.at(changed, (side, groups.codes), rows.signs())
        picked, kinds = self._changes(self._table.prefixes(keys), changed.T.tolist())
        if picked:
            watermark = int(max(i.watermarks[-1] for i in inputs if len(i)))
            output.add(rows.take(groups.first[picked]).with_kinds(np.array(kinds, np.int8)), watermark)
        return output

    def _changes(self, entries: list[bytes], changed: list[list[int]]) -> tuple[list[int], list[int]]:
        """Applies changes of counts. Returns the number of the group of each emitted row, and its kind."""
        picked: list[int] = []
        kinds: list[int] = []
        for number, (entry, stored, (left, right)) in enumerate(
            zip(entries, self._table.get_many(entries), changed, strict=True)
        ):
            before = (0, 0) if stored is None else _decode(stored)
            after = (before[0] + left, before[1] + right)
            difference = self._occurrences(*after) - self._occurrences(*before)
            picked += [number] * abs(difference)
            kinds += [INSERT if difference > 0 else DELETE] * abs(difference)
            if after != before:
                self._table.put(entry, None if after == (0, 0) else _encode(after))
        return picked, kinds

    def _occurrences(self, left: int, right: int) -> int:
        """How often a row is in the result."""
        if self._spec.kind == "INTERSECT":
            both = max(0, min(left, right))
            return both if self._spec.all else min(both, 1)
        if self._spec.all:
            return max(0, left - right)
        return int(left > 0 and right <= 0)
