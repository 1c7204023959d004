"""Joins rows of the same window and key when the window ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.joins.pairs import PairCondition, all_pairs, padded
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import WindowJoinSpec
from penstock.runtime.relational.state.ranges import Positions
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.state.time_ordered_table import TimedEntry, TimeOrderedTable
from penstock.runtime.relational.windows.assign import column_millis
from penstock.runtime.relational.windows.due import WindowClock

_LEFT, _RIGHT = 0, 1
_NAMES = (b"l", b"r")
_PAIRS = 500_000  # compared together


class WindowJoinOperator(BaseOperator):
    """Keeps the rows of open windows by (end, key, side) in parts, one part per batch, and joins each window once.

    A part has the signs of its rows, then the rows: rows of inputs with updates are removed when the window is joined.
    """

    def __init__(self, spec: WindowJoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._clock = WindowClock(spec.event_time, spec.window_zone)
        self._types = (spec.input_types, spec.right_types)
        self._keys = (spec.keys, spec.right_keys)
        self._ends = (spec.end_column, spec.right_end_column)
        self._codecs = (RowCodec(spec.input_types), RowCodec(spec.right_types))
        self._condition = PairCondition(spec)

    def open(self, context: OperatorContext) -> None:
        schema = "||".join("|".join(map(str, types)) for types in self._types)
        self._table = TimeOrderedTable(context, "rows", schema)

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
        keys = self._keys[side]
        key_columns = [changes.columns[k] for k in keys]
        groups = group_rows([pa.array(ends), *key_columns], len(rows))
        first = pa.array(groups.first)
        types = [self._types[side][k] for k in keys]
        suffixes = self._table.suffixes(encode_keys([c.take(first) for c in key_columns], types, len(groups)))
        order = np.argsort(groups.codes, kind="stable")
        encoded = self._codecs[side].encode([c.take(pa.array(order)) for c in changes.columns])
        signs = (changes.signs()[order] > 0).astype(np.uint8)
        bounds = np.searchsorted(groups.codes[order], np.arange(len(groups) + 1)).tolist()
        for group, (end, suffix) in enumerate(zip(ends[groups.first].tolist(), suffixes, strict=True)):
            count_entry = self._table.entry(end, suffix, _NAMES[side])
            found = self._table.get(count_entry)
            count = 0 if found is None else unpack(found)
            start, stop = bounds[group], bounds[group + 1]
            self._table.put(count_entry, pack(count + 1))
            part = self._table.entry(end, suffix, _NAMES[side] + count.to_bytes(8, "big"))
            self._table.put(part, pack([signs[start:stop].tobytes(), *encoded[start:stop]]))

    # -- windows that have ended

    def _fire(self, advance: Advance, out: Output) -> None:
        found = self._clock.take(self._table, self._clock.end(advance))
        windows = itertools.groupby(found, lambda entry: (entry.time, entry.key))
        waiting: list[tuple[int, list[bytes], list[bytes]]] = []
        pairs = 0
        for (end, _), entries in windows:
            left, right = _rows_of(entries)
            pairs += len(left) * len(right)
            waiting.append((end, left, right))
            if pairs >= _PAIRS:
                self._join(waiting, advance, out)
                waiting, pairs = [], 0
        if waiting:
            self._join(waiting, advance, out)

    def _join(self, windows: list[tuple[int, list[bytes], list[bytes]]], advance: Advance, out: Output) -> None:
        left = self._codecs[_LEFT].decode([row for _, rows, _ in windows for row in rows])
        right = self._codecs[_RIGHT].decode([row for _, _, rows in windows for row in rows])
        counts = [
            np.array([len(rows) for _, rows, _ in windows], np.int64),
            np.array([len(rows) for _, _, rows in windows], np.int64),
        ]
        owners = [np.repeat(np.arange(len(windows)), count) for count in counts]
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
            columns, owner = padded(left, rows), owners[_LEFT][rows]
        else:
            left_at, right_at, owner = self._with_padding(left_at, right_at, owners, matched)
            columns = padded(left, left_at) + padded(right, right_at)
        ends = np.array([window[0] for window in windows], np.int64)
        if len(owner):
            out.add(Changes(columns, len(owner)), self._clock.marks(ends[owner], advance))

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


def _rows_of(entries: Iterator[TimedEntry]) -> tuple[list[bytes], list[bytes]]:
    """Returns the rows of both sides of a window and key, in the order of their arrival."""
    sides: tuple[list[bytes], list[bytes]] = ([], [])
    for entry in entries:
        if len(entry.sub_key) == 1:  # the number of parts
            continue
        rows = sides[_NAMES.index(entry.sub_key[:1])]
        signs, *added = unpack(entry.value)
        if 0 not in signs:
            rows.extend(added)
            continue
        for sign, row in zip(signs, added, strict=True):
            if sign:
                rows.append(row)
            elif row in rows:
                rows.remove(row)
    return sides
