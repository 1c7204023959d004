"""Joins two inputs whose rows may be updated and deleted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.errors import ElementError
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Changes
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.joins.block_join import BlockJoinOperator, can_join_blocks
from penstock.runtime.relational.joins.join_condition import JoinCondition
from penstock.runtime.relational.joins.join_side import JoinSide, StoredRow
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output, RelationalOperator
from penstock.runtime.relational.specs.operators import JoinSpec

_LEFT, _RIGHT = 0, 1


class _Event(NamedTuple):
    """A change of one input: its position in the order of both inputs, its side, key, row and kind."""

    rank: int
    side: int
    key: bytes
    joinable: bool  # False if a key column is NULL, which equals nothing
    row: bytes
    kind: int
    watermark: int


def join_operator(spec: JoinSpec) -> RelationalOperator:
    """Returns the operator of a join: by columns where rows are only added."""
    return BlockJoinOperator(spec) if can_join_blocks(spec) else JoinOperator(spec)


class JoinOperator(BaseOperator):
    """Keeps both inputs by key, and emits what each change adds to or removes from the result.

    A row of an outer side is stored with the number of its matches, so that its padding with NULL is emitted and removed when this
    number leaves and reaches 0.
    """

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._keys = (
            ColumnKey(spec.keys, tuple(spec.input_types[k] for k in spec.keys)),
            ColumnKey(spec.right_keys, tuple(spec.right_types[k] for k in spec.right_keys)),
        )
        self._half = spec.kind in ("SEMI", "ANTI")  # only rows of the left input are emitted
        self._outer = (spec.kind in ("LEFT", "FULL", "SEMI", "ANTI"), spec.kind in ("RIGHT", "FULL"))
        self._sides: tuple[JoinSide, JoinSide]
        self._condition = JoinCondition(spec)

    def open(self, context: OperatorContext) -> None:
        spec = self._spec
        self._final_only = context.runtime.in_batch_mode
        self._sides = (
            JoinSide(context, "left", spec.input_types, spec.ttl),
            JoinSide(context, "right", spec.right_types, spec.ttl if spec.right_ttl is None else spec.right_ttl),
        )

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        for side in self._sides:
            side.begin_batch(advance.now)
        events = sorted([*self._events(inputs[0], _LEFT), *self._events(inputs[1], _RIGHT)])
        self._condition.prepare(events, self._sides)
        emitted: list[tuple[int, bytes | None, bytes | None, int]] = []
        for event in events:
            for kind, left, right in self._changes(event):
                emitted.append((kind, left, right, event.watermark))
        for side in self._sides:
            side.flush()
        if self._final_only:
            emitted = _net(emitted)
        output = Output()
        if emitted:
            output.add(self._rows(emitted), np.array([mark for *_, mark in emitted], np.int64))
        return output

    def _events(self, rows: Input, side: int) -> list[_Event]:
        if not len(rows):
            return []
        changes = rows.changes
        groups, encoded = self._keys[side].groups(changes)
        codes = groups.codes.tolist()
        joinable = np.ones(changes.length, bool)
        columns = self._spec.keys if side == _LEFT else self._spec.right_keys
        for number, column in enumerate(columns):
            null_safe = number < len(self._spec.null_safe) and self._spec.null_safe[number]
            if not null_safe and changes.columns[column].null_count:
                joinable &= changes.columns[column].is_valid().to_numpy(zero_copy_only=False)
        return list(
            map(
                _Event,
                rows.ranks.tolist(),
                [side] * changes.length,
                [encoded[c] for c in codes],
                joinable.tolist(),
                self._sides[side].encode(changes),
                changes.all_kinds().tolist(),
                rows.watermarks.tolist(),
            )
        )

    # -- one change

    def _changes(self, event: _Event) -> list[tuple[int, bytes | None, bytes | None]]:
        """Applies a change to its side and returns the changes of the result."""
        own, other = self._sides[event.side], self._sides[1 - event.side]
        candidates = other.rows(event.key) if event.joinable else {}
        matches = [row for row in candidates if self._condition.holds(event.side, event.row, row)]
        adds = event.kind in (INSERT, UPDATE_AFTER)
        if self._spec.single:
            self._check_single(event, candidates, matches, adds)
        if self._half:
            return self._half_changes(event, own, candidates, matches, adds)
        total = sum(candidates[row].count for row in matches)
        changes: list[tuple[int, bytes | None, bytes | None]] = []
        if matches:
            kind = self._kind_of_pairs(event, adds)
            joined, paddings = [], []
            for row in matches:
                stored = candidates[row]
                joined += [(kind, *_pair(event.side, event.row, row))] * stored.count
                if self._outer[1 - event.side]:
                    paddings += self._padding(1 - event.side, row, stored, 1 if adds else -1, other, event.key)
            changes = paddings + joined if adds else joined + paddings
        elif self._outer[event.side]:
            changes.append((INSERT if adds else DELETE, *_pair(event.side, event.row, None)))
        if adds:
            own.add(event.key, event.row, total)
        else:
            own.remove(event.key, event.row)
        return changes

    def _kind_of_pairs(self, event: _Event, adds: bool) -> int:
        """The kind of the pairs of a changed row: its own, unless the other half of an update may be a row with NULLs."""
        if adds:
            return INSERT if any(self._outer) else event.kind
        return DELETE if self._outer[event.side] else event.kind

    def _padding(
        self, side: int, row: bytes, stored: StoredRow, change: int, owner: JoinSide, key: bytes
    ) -> list[tuple[int, bytes | None, bytes | None]]:
        """Counts a match of a row of an outer side. The row with NULLs is removed by its first match and returns after its last."""
        before = stored.matches
        owner.set_matches(key, row, before + change)
        if change > 0 and before == 0:
            return [(DELETE, *_pair(side, row, None))] * stored.count
        if change < 0 and before == 1:
            return [(INSERT, *_pair(side, row, None))] * stored.count
        return []

    def _half_changes(
        self, event: _Event, own: JoinSide, candidates: dict[bytes, StoredRow], matches: list[bytes], adds: bool
    ) -> list[tuple[int, bytes | None, bytes | None]]:
        """SEMI and ANTI: a row of the left input is in the result if it has matches, or if it has none."""
        anti = self._spec.kind == "ANTI"
        if event.side == _LEFT:
            total = sum(candidates[row].count for row in matches)
            if adds:
                own.add(event.key, event.row, total)
            else:
                own.remove(event.key, event.row)
            return [(event.kind, event.row, None)] if (total == 0) == anti else []
        changes: list[tuple[int, bytes | None, bytes | None]] = []
        for row in matches:
            stored = candidates[row]
            before = stored.matches
            after = before + (1 if adds else -1)
            self._sides[_LEFT].set_matches(event.key, row, after)
            if (before == 0) != (after == 0):
                appears = (after == 0) == anti
                changes += [(INSERT if appears else DELETE, row, None)] * stored.count
        if adds:
            own.add(event.key, event.row, 0)
        else:
            own.remove(event.key, event.row)
        return changes

    def _check_single(
        self, event: _Event, candidates: dict[bytes, StoredRow], matches: list[bytes], adds: bool
    ) -> None:
        """A scalar subquery must not return several rows. An update is -U and +U, so that there is one row after both."""
        if not adds:
            return
        if event.side == _LEFT:
            several = sum(candidates[row].count for row in matches) > 1
        else:
            several = any(candidates[row].matches > 0 for row in matches)
        if several:
            raise ElementError(
                "SQL_SCALAR_SUBQUERY",
                "A scalar subquery returned more than one row. Use an aggregate such as MAX, or LIMIT 1, in the subquery.",
            )

    # -- output

    def _rows(self, emitted: list[tuple[int, bytes | None, bytes | None, int]]) -> Changes:
        kinds = np.array([kind for kind, *_ in emitted], np.int8)
        columns = self._decoded([left for _, left, _, _ in emitted], self._sides[_LEFT])
        if not self._half:
            columns += self._decoded([right for _, _, right, _ in emitted], self._sides[_RIGHT])
        if not self._spec.update_before:
            kept = np.flatnonzero(kinds != UPDATE_BEFORE)
            if len(kept) < len(kinds):
                return Changes(columns, len(kinds), kinds).take(kept)
        return Changes(columns, len(emitted), kinds if kinds.any() else None)

    def _decoded(self, rows: list[bytes | None], side: JoinSide) -> list[pa.Array]:
        """The columns of rows, each distinct row decoded once. None becomes NULL in all columns."""
        numbers: dict[bytes, int] = {}
        at = [None if row is None else numbers.setdefault(row, len(numbers)) for row in rows]
        indices = pa.array(at, pa.int64())
        return [column.take(indices) for column in side.decode(list(numbers))]


def _pair(side: int, row: bytes, other: bytes | None) -> tuple[bytes | None, bytes | None]:
    return (row, other) if side == _LEFT else (other, row)


def _net(
    emitted: list[tuple[int, bytes | None, bytes | None, int]],
) -> list[tuple[int, bytes | None, bytes | None, int]]:
    """Drops rows that appear and disappear again. Of each row, the last changes that make up the difference stay."""
    counts: dict[tuple[bytes | None, bytes | None], int] = {}
    for kind, left, right, _ in emitted:
        counts[left, right] = counts.get((left, right), 0) + (1 if kind in (INSERT, UPDATE_AFTER) else -1)
    kept: list[tuple[int, bytes | None, bytes | None, int]] = []
    for change in reversed(emitted):
        kind, left, right, _ = change
        rest = counts[left, right]
        if rest and (rest > 0) == (kind in (INSERT, UPDATE_AFTER)):
            counts[left, right] = rest - 1 if rest > 0 else rest + 1
            kept.append(change)
    kept.reverse()
    return kept
