"""Joins each row with the version of the other side that is the latest one when the row arrives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import DELETE, UPDATE_BEFORE, Changes
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.joins.pairs import PairCondition, padded
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import ProcessingTimeJoinSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack

_NONE = -1  # no version


class ProcessingTimeJoinOperator(BaseOperator):
    """Keeps the latest version of each key. Rows of the left side are joined at once, and never change afterwards.

    Versions of a batch are rows of its right input, given by their positions; older ones are read from state and follow them.
    """

    def __init__(self, spec: ProcessingTimeJoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._keys = (
            ColumnKey(spec.keys, tuple(spec.input_types[k] for k in spec.keys)),
            ColumnKey(spec.right_keys, tuple(spec.right_types[k] for k in spec.right_keys)),
        )
        self._codec = RowCodec(spec.right_types)
        self._condition = PairCondition(spec)

    def open(self, context: OperatorContext) -> None:
        self._versions = KeyedTable(context, "latest versions", "|".join(map(str, self._spec.right_types)))

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        left, right = inputs
        left_keys, right_keys = self._of(left.changes, 0), self._of(right.changes, 1)
        numbers: dict[bytes, int] = {}
        left_codes = np.array([numbers.setdefault(k, len(numbers)) for k in left_keys], np.int64)
        right_codes = np.array([numbers.setdefault(k, len(numbers)) for k in right_keys], np.int64)
        valid = right.changes.all_kinds() != UPDATE_BEFORE
        stored, older = self._stored(list(numbers), set(left_codes.tolist()), advance.now)
        older = np.where(older == _NONE, _NONE, older + right.changes.length)
        self._store(right, right_keys, np.flatnonzero(valid), advance.now)
        output = Output()
        if not left.changes.length:
            return output
        matches = _latest(left, left_codes, right, right_codes, np.flatnonzero(valid), older)
        deleted = right.changes.all_kinds() == DELETE
        found = np.flatnonzero((matches >= 0) & (matches < right.changes.length))
        matches[found[deleted[matches[found]]]] = _NONE
        columns = _joined(right.changes.columns, stored, len(right))
        self._emit(left, columns, matches, output)
        return output

    def _of(self, changes: Changes, side: int) -> list[bytes]:
        """The key of each row."""
        if not changes.length:
            return []
        groups, encoded = self._keys[side].groups(changes)
        return [encoded[code] for code in groups.codes.tolist()]

    def _stored(self, keys: list[bytes], needed: set[int], now: int) -> tuple[list[pa.Array], np.ndarray]:
        """Returns the stored versions as columns, and for each key the position of its version there."""
        ttl, rows = self._spec.ttl, list[bytes]()
        positions = np.full(len(keys), _NONE, np.int64)
        wanted = sorted(needed)
        entries = self._versions.prefixes([keys[i] for i in wanted]) if wanted else []
        for i, value in zip(wanted, self._versions.get_many(entries), strict=True):
            if value is not None:
                row, stamp = unpack(value)
                if not ttl or stamp + ttl > now:
                    positions[i] = len(rows)
                    rows.append(row)
        return self._codec.decode(rows), positions

    def _store(self, right: Input, keys: list[bytes], valid: np.ndarray, now: int) -> None:
        """Writes the last version of each key of the batch."""
        last = {keys[i]: i for i in valid.tolist()}
        if not last:
            return
        changes = right.changes.take(np.array(list(last.values()), np.int64))
        rows = self._codec.encode(changes.columns)
        gone = (changes.all_kinds() == DELETE).tolist()
        for entry, row, is_gone in zip(self._versions.prefixes(list(last)), rows, gone, strict=True):
            self._versions.put(entry, None if is_gone else pack([row, now]))

    def _emit(self, left: Input, right: list[pa.Array], matches: np.ndarray, output: Output) -> None:
        columns = left.changes.columns
        matches[~self._condition.joinable(columns, left.changes.length)] = _NONE
        found = np.flatnonzero(matches >= 0)
        holds = self._condition.holds(columns, right, found, matches[found])
        matches[found[~holds]] = _NONE
        kept = np.flatnonzero(matches >= 0) if self._spec.kind == "INNER" else np.arange(len(matches))
        taken = left.changes.take(kept)
        joined = [*taken.columns, *padded(right, matches[kept])]
        output.add(Changes(joined, len(kept), taken.kinds), left.watermarks[kept])


def _latest(
    left: Input, left_codes: np.ndarray, right: Input, right_codes: np.ndarray, valid: np.ndarray, older: np.ndarray
) -> np.ndarray:
    """For each row of the left side the position of the last version that arrived before it, else the stored one."""
    result: np.ndarray = older[left_codes]
    if not len(valid):
        return result
    order = valid[np.lexsort((right.ranks[valid], right_codes[valid]))]
    last = max(int(left.ranks.max()), int(right.ranks.max())) + 1
    sorted_keys = right_codes[order] * last + right.ranks[order]  # by key, then by arrival
    at = np.searchsorted(sorted_keys, left_codes * last + left.ranks) - 1
    same = (at >= 0) & (right_codes[order[np.maximum(at, 0)]] == left_codes)
    result[same] = order[at[same]]
    return result


def _joined(columns: Sequence[pa.Array], stored: Sequence[pa.Array], rows: int) -> list[pa.Array]:
    if not rows:
        return list(stored)
    return [pa.concat_arrays([column, old]) for column, old in zip(columns, stored, strict=True)]
