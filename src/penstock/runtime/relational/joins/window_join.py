"""Joins rows of the same window and key when the window ends."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.joins.pairs import PairCondition, all_pairs, padded
from penstock.runtime.relational.joins.window_rows import WindowedRows, WindowRows
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import WindowJoinSpec
from penstock.runtime.relational.state.hash_index import HashedKeys
from penstock.runtime.relational.state.ranges import Positions
from penstock.runtime.relational.windows.assign import column_millis
from penstock.runtime.relational.windows.due import WindowClock

_LEFT, _RIGHT = 0, 1
_PAIRS = 500_000  # compared together


class WindowJoinOperator(BaseOperator):
    """Keeps the rows of open windows, and joins each window once.

    Results are ordered by window, then by key group, then by key: keys in the order of their first rows, those of the left input
    first. So their order does not depend on batches.
    """

    def __init__(self, spec: WindowJoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._clock = WindowClock(spec.event_time, spec.window_zone)
        self._types = (spec.input_types, spec.right_types)
        self._keys = (spec.keys, spec.right_keys)
        self._ends = (spec.end_column, spec.right_end_column)
        self._condition = PairCondition(spec)

    def open(self, context: OperatorContext) -> None:
        self._rows = WindowRows(context, self._types)
        self._table = self._rows.table
        self._max_parallelism = context.backend.keys.max_parallelism

    def wake(self) -> int | None:
        return self._clock.wake(self._table)

    def next_event_time(self, watermark: int) -> int | None:
        return self._clock.next_event_time(self._table, watermark)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        out = Output()
        if not self._clock.event_time:
            self._fire(advance, out)
        for side, given in enumerate(inputs):
            if len(given):
                self._add(side, given, advance)
        self._fire(advance, out)
        return out

    # -- rows

    def _add(self, side: int, given: Input, advance: Advance) -> None:
        rows, ends = column_millis(given.changes.columns[self._ends[side]])
        late = self._clock.due(ends) <= self._clock.at_rows(given.watermarks, advance)[rows]
        self.late_records += int(late.sum()) if self._clock.event_time else 0
        rows, ends = rows[~late], ends[~late]
        if len(rows) == 0:
            return
        changes = given.changes.take(rows)
        columns = [changes.columns[k] for k in self._keys[side]]
        keys = group_rows(columns, len(rows))
        firsts = [column.take(pa.array(keys.first)) for column in columns]
        encoded = encode_keys(firsts, [self._types[side][k] for k in self._keys[side]], len(keys))
        groups = HashedKeys.of(encoded, self._max_parallelism).groups
        self._rows.add(side, changes.columns, ends, groups[keys.codes], changes.signs())

    # -- windows that have ended

    def _fire(self, advance: Advance, out: Output) -> None:
        entries = self._clock.take(self._table, self._clock.end(advance))
        for sides in self._rows.read(entries):
            self._join_rows(sides, advance, out)

    def _join_rows(self, sides: tuple[WindowedRows, WindowedRows], advance: Advance, out: Output) -> None:
        """Joins rows by window and key, a bounded number of pairs at a time."""
        codes, firsts = self._number_keys(sides)
        ends = np.concatenate([side.ends for side in sides])[firsts]
        counts = [np.bincount(code, minlength=len(firsts)) for code in codes]
        starts = [np.concatenate([[0], np.cumsum(count)]) for count in counts]
        orders = [np.argsort(code, kind="stable") for code in codes]
        pairs = np.cumsum(counts[_LEFT] * counts[_RIGHT])
        low = 0
        while low < len(firsts):
            before = int(pairs[low - 1]) if low else 0
            high = max(int(np.searchsorted(pairs, before + _PAIRS)), low + 1)
            columns = []
            for side, order, start in zip(sides, orders, starts, strict=True):
                at = pa.array(order[start[low] : start[high]])
                columns.append([column.take(at) for column in side.columns])
            self._join(columns, [count[low:high] for count in counts], ends[low:high], advance, out)
            low = high

    def _number_keys(self, sides: tuple[WindowedRows, WindowedRows]) -> tuple[list[Positions], Positions]:
        """Numbers the keys of all windows, ordered by window and key group, and then by the first row of a key.

        Returns the numbers of the rows of both inputs, and the first row of each key: a position in the rows of both inputs.
        """
        parts = np.concatenate([side.parts for side in sides])
        columns = [[side.columns[k] for k in keys] for side, keys in zip(sides, self._keys, strict=True)]
        if any(a.type != b.type for a, b in zip(*columns, strict=True)):
            types = [[t[k] for k in keys] for t, keys in zip(self._types, self._keys, strict=True)]
            columns = [
                [pa.array(encode_keys(given, of_side, len(side.parts)), pa.binary())]
                for given, of_side, side in zip(columns, types, sides, strict=True)
            ]
        both = [pa.concat_arrays(pair) for pair in zip(*columns, strict=True)]
        groups = group_rows([pa.array(parts), *both], len(parts))
        order = np.argsort(parts[groups.first], kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        codes = ranks[groups.codes]
        border = len(sides[_LEFT].parts)
        return [codes[:border], codes[border:]], groups.first[order]

    def _join(
        self, columns: list[list[pa.Array]], counts: list[Positions], ends: Positions, advance: Advance, out: Output
    ) -> None:
        """Joins the rows of some keys. counts: the number of rows of each key. ends: the end of its window."""
        left, right = columns
        owners = [np.repeat(np.arange(len(ends)), count) for count in counts]
        left_at, right_at = all_pairs(*counts)
        joinable = self._condition.joinable(left, len(owners[_LEFT]))[left_at]
        left_at, right_at = left_at[joinable], right_at[joinable]
        holds = self._condition.holds(left, right, left_at, right_at)
        left_at, right_at = left_at[holds], right_at[holds]
        matched = [np.zeros(len(owners[side]), bool) for side in (_LEFT, _RIGHT)]
        matched[_LEFT][left_at] = True
        matched[_RIGHT][right_at] = True
        if self._spec.kind in ("SEMI", "ANTI"):
            rows = np.flatnonzero(matched[_LEFT] == (self._spec.kind == "SEMI"))
            result, owner = padded(left, rows), owners[_LEFT][rows]
        else:
            left_at, right_at, owner = self._with_padding(left_at, right_at, owners, matched)
            result = padded(left, left_at) + padded(right, right_at)
        if len(owner):
            out.add(Changes(result, len(owner)), self._clock.marks(ends[owner], advance))

    def _with_padding(
        self, left_at: Positions, right_at: Positions, owners: list[Positions], matched: list[np.ndarray]
    ) -> tuple[Positions, Positions, Positions]:
        """Adds the rows of outer sides that have no match, in Flink's order: by the rows of the outer side of a window."""
        kind = self._spec.kind
        parts = [(left_at, right_at)]
        if kind in ("LEFT", "FULL"):
            alone = np.flatnonzero(~matched[_LEFT])
            parts.append((alone, np.full(len(alone), -1)))
        if kind in ("RIGHT", "FULL"):
            alone = np.flatnonzero(~matched[_RIGHT])
            parts.append((np.full(len(alone), -1), alone))
        left_at, right_at = (np.concatenate([part[side] for part in parts]).astype(np.int64) for side in (0, 1))
        owner = np.empty(len(left_at), np.int64)
        has_left = left_at >= 0
        owner[has_left] = owners[_LEFT][left_at[has_left]]
        owner[~has_left] = owners[_RIGHT][right_at[~has_left]]
        if kind == "RIGHT":
            order = np.lexsort((left_at, right_at, owner))
        else:  # rows without a left one come last in their window
            order = np.lexsort((right_at, np.where(has_left, left_at, len(has_left)), owner))
        return left_at[order], right_at[order], owner[order]
