"""A lookup join of a changelog: the deletion of a row removes what its insertion has found, whatever the table has now."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import INSERT, UPDATE_AFTER, Changes
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.joins.lookup.matcher import LookupMatcher
from penstock.runtime.relational.joins.pairs import padded
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.lookup import LookupJoinSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack

# What one insertion of a row has found: the bytes of the rows of the table, and when.
_Answer = tuple[list[bytes], int]


class LookupJoinOperator(BaseOperator):
    """Stores for each row of the input the rows of the table that it was joined with. Insertions ask the table."""

    def __init__(self, spec: LookupJoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._outer = spec.lookup.kind == "LEFT"
        self._key = ColumnKey(spec.keys, tuple(spec.input_types[k] for k in spec.keys))
        self._left = RowCodec(spec.input_types)
        types = [e.type for e in spec.lookup.right_columns]
        self._right = RowCodec(types)
        self._types = types

    def open(self, context: OperatorContext) -> None:
        spec = self._spec
        left, right = "|".join(map(str, spec.input_types)), "|".join(map(str, self._types))
        self._answers = KeyedTable(context, "rows that were found", f"{left} -> {right}")
        self._matcher = LookupMatcher(spec.lookup, spec.table, spec.cache, spec.retry)

    def close(self) -> None:
        self._matcher.close()

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        output = Output()
        changes, marks = inputs[0].changes, inputs[0].watermarks
        if not changes.length:
            return output
        kinds = changes.all_kinds()
        adds = (kinds == INSERT) | (kinds == UPDATE_AFTER)
        found = self._looked_up(changes, np.flatnonzero(adds))
        entries = self._entries(changes)
        stored: dict[bytes, list[_Answer]] = {}
        rows: list[bytes] = []  # of the table
        left_at: list[int] = []
        right_at: list[int] = []
        for position, (entry, is_added) in enumerate(zip(entries, adds.tolist(), strict=True)):
            answers = stored.get(entry)
            if answers is None:
                answers = stored[entry] = self._stored(entry, advance.now)
            if is_added:
                answer = found[position]
                answers.append((answer, advance.now))
            elif answers:
                answer = answers.pop()[0]
            else:
                continue  # expired, or the input deletes what it has never inserted
            left_at += [position] * max(len(answer), self._outer)
            right_at += range(len(rows), len(rows) + len(answer)) if answer else [-1] * self._outer
            rows += answer
        for entry, answers in stored.items():
            self._answers.put(entry, pack(answers) if answers else None)
        at = np.array(left_at, np.int64)
        taken = changes.take(at)
        columns = [*taken.columns, *padded(self._right.decode(rows), np.array(right_at, np.int64))]
        output.add(Changes(columns, len(at), taken.kinds), marks[at])
        return output

    def _looked_up(self, changes: Changes, added: np.ndarray) -> dict[int, list[bytes]]:
        """Returns for each inserted row the rows that it matches."""
        found: dict[int, list[bytes]] = {position: [] for position in added.tolist()}
        if len(added):
            pairs = self._matcher.pairs(changes.take(added))
            encoded = self._encoded(pairs.right)
            for left, right in zip(added[pairs.left_at].tolist(), pairs.right_at.tolist(), strict=True):
                found[left].append(encoded[right])
        return found

    def _encoded(self, columns: list[pa.Array]) -> list[bytes]:
        return self._right.encode(columns) if len(columns[0]) else []

    def _entries(self, changes: Changes) -> list[bytes]:
        groups, encoded = self._key.groups(changes)
        prefixes = self._answers.prefixes(encoded)
        rows = self._left.encode(changes.columns)
        return [prefixes[code] + row for code, row in zip(groups.codes.tolist(), rows, strict=True)]

    def _stored(self, entry: bytes, now: int) -> list[_Answer]:
        value = self._answers.get(entry)
        if value is None:
            return []
        ttl = self._spec.ttl
        return [(rows, stamp) for rows, stamp in unpack(value) if not ttl or stamp + ttl > now]
