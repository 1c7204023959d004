"""Joins two inputs that only ever add rows, by columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.expressions.compiler import Condition
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.tree import columns_of
from penstock.runtime.relational.joins.pairs import all_pairs
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import JoinSpec
from penstock.runtime.relational.state.block_table import BlockTable
from penstock.runtime.relational.state.hash_index import HashedKeys
from penstock.runtime.relational.state.ranges import Positions
from penstock.time import MIN_WATERMARK

_PAIRS = 100_000  # whose condition is evaluated, and whose columns are made, together


class _Side(NamedTuple):
    """The rows of an input that can match: stored ones of the keys of the other input, then those of the batch.

    codes: the key of each row. ranks: the place of each row in the order of both inputs; stored rows come before all others, in
    the order of their arrival.
    """

    columns: list[pa.Array]
    codes: Positions
    ranks: Positions
    stored: int


class _New(NamedTuple):
    """The rows of an input in a batch that can match. keys: the bytes of the distinct keys; codes: positions there."""

    changes: Changes
    ranks: Positions
    marks: Positions
    codes: Positions
    keys: list[bytes]


def can_join_blocks(spec: JoinSpec) -> bool:
    """Whether rows are never removed and never padded, so that each pair is emitted once."""
    inner = spec.kind == "INNER" and not spec.single and bool(spec.input_types) and bool(spec.right_types)
    return inner and spec.insert_only and spec.right_insert_only


class BlockJoinOperator(BaseOperator):
    """The inner join of two insert-only inputs. Each row is joined with all rows of the other input that arrived before it.

    Pairs are emitted in the order of the later row of each pair, then of the other one, however rows are cut into batches.
    """

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._keys = (
            ColumnKey(spec.keys, tuple(spec.input_types[k] for k in spec.keys)),
            ColumnKey(spec.right_keys, tuple(spec.right_types[k] for k in spec.right_keys)),
        )
        self._condition = None if spec.condition is None else Condition(spec.condition, Session(zone=spec.zone))
        self._read = set() if spec.condition is None else columns_of(spec.condition)

    def open(self, context: OperatorContext) -> None:
        spec = self._spec
        right_ttl = spec.ttl if spec.right_ttl is None else spec.right_ttl
        self._tables = (
            BlockTable(context, "left", spec.input_types, spec.keys, spec.ttl, expires=spec.expiry is not None),
            BlockTable(
                context, "right", spec.right_types, spec.right_keys, right_ttl, expires=spec.right_expiry is not None
            ),
        )
        self._max_parallelism = context.backend.keys.max_parallelism

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        output = Output()
        for table in self._tables:
            table.begin_batch(advance.now)
        left, right = self._new(inputs[0], 0), self._new(inputs[1], 1)
        numbers: dict[bytes, int] = {}
        for key in (*left.keys, *right.keys):
            numbers.setdefault(key, len(numbers))
        keys = HashedKeys.of(list(numbers), self._max_parallelism)
        of_left = np.array([numbers[key] for key in left.keys], np.int64)
        of_right = np.array([numbers[key] for key in right.keys], np.int64)
        sides = (
            self._side(0, left, of_left, of_right, keys),
            self._side(1, right, of_right, of_left, keys),
        )
        ranks = np.concatenate([left.ranks, right.ranks])
        order = np.argsort(ranks)
        marks = np.concatenate([left.marks, right.marks])[order]
        self._emit(sides, ranks[order], marks, output)
        expiries = (self._spec.expiry, self._spec.right_expiry)
        for table, new, own, expiry in zip(self._tables, (left, right), (of_left, of_right), expiries, strict=True):
            if new.changes.length:
                ends = None if expiry is None else _ends(new.changes.columns[expiry[0]], expiry[1])
                table.add(new.changes.columns, new.codes, keys.take(own), ends)
            table.remove_expired(advance.end)
            if table.ttl.milliseconds:
                table.sweep()
        return output

    def _new(self, rows: Input, side: int) -> _New:
        """The rows of a batch whose keys can equal others: those without NULL, unless the key is null-safe."""
        spec, changes = self._spec, rows.changes
        joinable = np.ones(changes.length, bool)
        for number, column in enumerate(spec.keys if side == 0 else spec.right_keys):
            null_safe = number < len(spec.null_safe) and spec.null_safe[number]
            if not null_safe and changes.columns[column].null_count:
                joinable &= changes.columns[column].is_valid().to_numpy(zero_copy_only=False)
        ranks, marks = rows.ranks, rows.watermarks
        if not joinable.all():
            at = np.flatnonzero(joinable)
            changes, ranks, marks = changes.take(at), ranks[at], marks[at]
        if not changes.length:
            return _New(changes, ranks, marks, np.zeros(0, np.int64), [])
        groups, keys = self._keys[side].groups(changes)
        return _New(changes, ranks, marks, groups.codes, keys)

    def _side(self, side: int, new: _New, own: Positions, asked: Positions, keys: HashedKeys) -> _Side:
        """Reads the stored rows of the keys that the other input has in this batch."""
        columns, owners = self._tables[side].find(keys.take(asked))
        codes = np.concatenate([asked[owners], own[new.codes]])
        stored = len(owners)
        ranks = np.concatenate([np.arange(stored) - stored - 1, new.ranks])  # all below 0: before the batch
        if new.changes.length:
            both = zip(columns, new.changes.columns, strict=True)
            columns = [pa.concat_arrays([old, now]) for old, now in both] if stored else list(new.changes.columns)
        return _Side(columns, codes, ranks, stored)

    def _emit(self, sides: tuple[_Side, _Side], ranks: Positions, marks: Positions, output: Output) -> None:
        """Emits all pairs with the same key of which one row at least is new, ordered by the later row."""
        left_at, right_at = _pairs(*sides)
        if not len(left_at):
            return
        if self._condition is not None:
            parts = [
                self._holding(sides, left_at[i : i + _PAIRS], right_at[i : i + _PAIRS])
                for i in range(0, len(left_at), _PAIRS)
            ]
            keep = np.concatenate(parts)
            left_at, right_at = left_at[keep], right_at[keep]
        first, second = sides[0].ranks[left_at], sides[1].ranks[right_at]
        later = np.maximum(first, second)
        order = np.lexsort((np.minimum(first, second), later))
        left_at, right_at, later = left_at[order], right_at[order], later[order]
        for i in range(0, len(left_at), _PAIRS):
            one, other = pa.array(left_at[i : i + _PAIRS]), pa.array(right_at[i : i + _PAIRS])
            columns = [*(c.take(one) for c in sides[0].columns), *(c.take(other) for c in sides[1].columns)]
            output.add(Changes(columns, len(one)), marks[np.searchsorted(ranks, later[i : i + _PAIRS])])

    def _holding(self, sides: tuple[_Side, _Side], left_at: Positions, right_at: Positions) -> np.ndarray:
        """Which pairs fulfil the condition. Only the columns that it reads are made."""
        assert self._condition is not None
        at = (pa.array(left_at), pa.array(right_at))
        width = len(self._spec.input_types)
        columns = []
        for i, column in enumerate((*sides[0].columns, *sides[1].columns)):
            columns.append(column.take(at[i >= width]) if i in self._read else column)
        keep: np.ndarray = self._condition(columns, len(left_at)).to_numpy(zero_copy_only=False)
        return keep


def _ends(column: pa.Array, distance: int) -> Positions:
    """Until which watermark each row can match. A row without a time matches nothing."""
    millis = column.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    return np.asarray(pc.fill_null(pc.add(millis, distance + 1), MIN_WATERMARK).to_numpy(zero_copy_only=False))


def _pairs(left: _Side, right: _Side) -> tuple[Positions, Positions]:
    """The positions of pairs with equal keys, without those of two stored rows, which were emitted before."""
    if not len(left.codes) or not len(right.codes):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    found = [
        _equal(left, right, slice(left.stored, None), slice(0, None)),  # new rows of the left side with all others
        _equal(left, right, slice(0, left.stored), slice(right.stored, None)),  # stored ones with new ones
    ]
    return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


def _equal(left: _Side, right: _Side, some: slice, others: slice) -> tuple[Positions, Positions]:
    a, b = left.codes[some], right.codes[others]
    if not len(a) or not len(b):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    count = int(max(a.max(), b.max())) + 1
    first, second = all_pairs(np.bincount(a, minlength=count), np.bincount(b, minlength=count))
    one, other = np.argsort(a, kind="stable")[first], np.argsort(b, kind="stable")[second]
    return one + (some.start or 0), other + (others.start or 0)
