"""Joins rows whose times differ by no more than an interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.joins.interval_cache import CachedRow, IntervalCache
from penstock.runtime.relational.joins.pairs import PairCondition
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import IntervalJoinSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable
from penstock.runtime.relational.windows.assign import column_millis
from penstock.time import MAX_WATERMARK, MIN_WATERMARK

_LEFT, _RIGHT = 0, 1
_PAIRS = 100_000  # compared together


class _Event(NamedTuple):
    """A row: its position in the order of both inputs, side, key, time, and the clock when it arrived."""

    rank: int
    side: int
    key: bytes
    joinable: bool  # False if a key column is NULL, which equals nothing
    time: int
    clock: int
    mark: int
    row: CachedRow


class IntervalJoinOperator(BaseOperator):
    """Keeps the rows of both sides while they can match, with Flink's clean-up.

    One clean-up per key and side removes rows that cannot match any more, some time after this is so (half of the interval). Rows
    of outer sides that were never joined are emitted with NULL then. Until the clean-up, late rows of the other side can match.
    """

    def __init__(self, spec: IntervalJoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._types = (spec.input_types, spec.right_types)
        self._keys = (
            ColumnKey(spec.keys, tuple(spec.input_types[k] for k in spec.keys)),
            ColumnKey(spec.right_keys, tuple(spec.right_types[k] for k in spec.right_keys)),
        )
        self._codecs = (RowCodec(spec.input_types), RowCodec(spec.right_types))
        self._outer = (spec.kind in ("LEFT", "FULL"), spec.kind in ("RIGHT", "FULL"))
        # A row of each side matches rows of the other side up to so much later.
        self._after = (-spec.lower, spec.upper)
        self._clean_up = (spec.upper - spec.lower) // 2
        self._condition = PairCondition(spec)
        self._matches: set[tuple[int, int]] | None = None  # numbers of the rows that match; None if all do
        self._emitted: list[tuple[bytes | None, bytes | None, int]] = []
        self._mark = 0

    def open(self, context: OperatorContext) -> None:
        schemas = ["|".join(map(str, types)) for types in self._types]
        self._caches = (IntervalCache(context, "left", schemas[0]), IntervalCache(context, "right", schemas[1]))
        self._timer_state = KeyedTable(context, "next clean-up", "time")
        self._timers = TimeOrderedTable(context, "clean-ups", "key and side")

    def wake(self) -> int | None:
        return None if self._spec.event_time else self._timers.first_time()

    def next_event_time(self, watermark: int) -> int | None:
        first = self._timers.first_time() if self._spec.event_time else None
        return None if first is None else max(first, watermark + 1)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        for cache in self._caches:
            cache.begin_batch()
        self._emitted.clear()
        self._mark = advance.before
        self._next = self._timers.first_time()
        end = advance.end if self._spec.event_time else advance.now
        if not self._spec.event_time:
            self._clean(end)
        events = sorted([*self._events(inputs[0], _LEFT, advance), *self._events(inputs[1], _RIGHT, advance)])
        self._compare(events)
        for event in events:
            if self._next is not None and self._next <= event.clock:
                self._clean(event.clock)
            self._mark = max(self._mark, event.mark)
            self._add(event)
        self._clean(end)
        for cache in self._caches:
            cache.flush()
        return self._output()

    # -- rows

    def _events(self, given: Input, side: int, advance: Advance) -> list[_Event]:
        if not len(given):
            return []
        changes, spec = given.changes, self._spec
        if spec.event_time:
            rows, times = column_millis(changes.columns[spec.right_time if side else spec.left_time])
            clocks = given.watermarks[rows]
        else:
            rows = np.arange(changes.length)
            times = clocks = np.full(changes.length, advance.now, np.int64)
        changes = changes.take(rows)
        groups, encoded = self._keys[side].groups(changes)
        joinable = np.ones(changes.length, bool)
        for number, column in enumerate(spec.right_keys if side else spec.keys):
            null_safe = number < len(spec.null_safe) and spec.null_safe[number]
            if not null_safe and changes.columns[column].null_count:
                joinable &= changes.columns[column].is_valid().to_numpy(zero_copy_only=False)
        return [
            _Event(rank, side, encoded[code], can_join, time, clock, mark, CachedRow(row, False))
            for rank, code, can_join, time, clock, mark, row in zip(
                given.ranks[rows].tolist(),
                groups.codes.tolist(),
                joinable.tolist(),
                times.tolist(),
                clocks.tolist(),
                given.watermarks[rows].tolist(),
                self._codecs[side].encode(changes.columns),
                strict=True,
            )
        ]

    def _bounds(self, side: int, time: int) -> tuple[int, int]:
        """The times of the other side that match a time, inclusive."""
        return time - self._after[1 - side], time + self._after[side]

    def _compare(self, events: list[_Event]) -> None:
        """Evaluates the condition for each new row with all rows of its key that have a matching time, old and new ones."""
        self._matches = None
        if self._spec.condition is None:
            return
        self._matches = set()
        rows: tuple[list[bytes], list[bytes]] = ([], [])

        def number(side: int, row: CachedRow) -> int:
            if row.number < 0:
                row.number = len(rows[side])
                rows[side].append(row.row)
            return row.number

        new: dict[tuple[int, bytes], list[_Event]] = {}
        pairs: list[tuple[int, int]] = []
        for event in events:  # each pair is found by its later row
            if not event.joinable:
                continue
            other = 1 - event.side
            first, last = self._bounds(event.side, event.time)
            found = [
                row
                for time, cached in self._caches[other].times(event.key).items()
                if first <= time <= last
                for row in cached
            ]
            found += [e.row for e in new.get((other, event.key), ()) if first <= e.time <= last]
            own = number(event.side, event.row)
            others = [number(other, row) for row in found]
            pairs += [(own, n) if event.side == _LEFT else (n, own) for n in others]
            new.setdefault((event.side, event.key), []).append(event)
        columns = [codec.decode(side) for codec, side in zip(self._codecs, rows, strict=True)]
        for start in range(0, len(pairs), _PAIRS):
            part = np.array(pairs[start : start + _PAIRS], np.int64)
            holds = self._condition.holds(columns[0], columns[1], part[:, 0], part[:, 1])
            self._matches.update(map(tuple, part[holds].tolist()))

    def _add(self, event: _Event) -> None:
        """Joins a row with the rows of the other side, and keeps it if later ones can match it."""
        side, other = event.side, 1 - event.side
        cache = self._caches[other]
        first, last = self._bounds(side, event.time)
        expired = self._expired(other, event.clock)
        if expired < last:
            if event.joinable:
                times = cache.times(event.key)
                for time in sorted(t for t in times if first <= t <= last):
                    for row in times[time]:
                        if self._match(side, event.row, row):
                            self._emit(side, event.row.row, row.row)
                            event.row.joined = True
                            if self._outer[other] and not row.joined:
                                row.joined = True
                                cache.change(event.key, time)
            self._remove(other, event.key, expired)
        if event.clock < last:
            self._caches[side].add(event.key, event.time, event.row)
            self._plan_clean_up(side, event.key, event.time)
        elif self._outer[side] and not event.row.joined:
            self._emit(side, event.row.row, None)

    def _match(self, side: int, own: CachedRow, other: CachedRow) -> bool:
        if self._matches is None:
            return True
        return ((own.number, other.number) if side == _LEFT else (other.number, own.number)) in self._matches

    # -- clean-up

    def _expired(self, side: int, clock: int) -> int:
        """The latest time of rows of a side that no row of the other side matches any more."""
        return clock if clock >= MAX_WATERMARK else clock - self._after[side] - 1

    def _remove(self, side: int, key: bytes, expired: int) -> None:
        for row in self._caches[side].take_until(key, expired):
            if self._outer[side] and not row.joined:
                self._emit(side, row.row, None)

    def _plan_clean_up(self, side: int, key: bytes, time: int) -> None:
        [prefix] = self._timer_state.prefixes([key])
        entry = prefix + bytes([side])
        if self._timer_state.get(entry) is not None:
            return
        at = time + self._after[side] + self._clean_up + 1
        self._timer_state.put(entry, pack(at))
        [suffix] = self._timers.suffixes([key])
        self._timers.put(self._timers.entry(at, suffix, bytes([side])), b"")
        self._next = at if self._next is None else min(self._next, at)

    def _clean(self, clock: int) -> None:
        """Runs the clean-ups that are due, in the order of their times."""
        while self._next is not None and self._next <= clock:
            for entry in self._timers.take_until(clock):
                [prefix] = self._timer_state.prefixes([entry.key])
                state = prefix + entry.sub_key
                planned = self._timer_state.get(state)
                if planned is None or unpack(planned) != entry.time:
                    continue
                self._timer_state.put(state, None)
                side = entry.sub_key[0]
                if self._spec.event_time:  # the results come before the watermark that makes the clean-up due
                    self._mark = max(self._mark, min(entry.time, clock) - 1)
                self._remove(side, entry.key, self._expired(side, clock))
                left = self._caches[side].times(entry.key)
                if left:
                    self._plan_clean_up(side, entry.key, min(left))
            self._next = self._timers.first_time()

    # -- output

    def _emit(self, side: int, row: bytes, other: bytes | None) -> None:
        pair = (row, other) if side == _LEFT else (other, row)
        self._emitted.append((*pair, self._mark))

    def _output(self) -> Output:
        output = Output()
        if not self._emitted:
            return output
        columns: list[pa.Array] = []
        for side in (_LEFT, _RIGHT):
            numbers: dict[bytes, int] = {}
            at = [
                None if pair[side] is None else numbers.setdefault(pair[side], len(numbers))  # type: ignore[arg-type]
                for pair in self._emitted
            ]
            indices = pa.array(at, pa.int64())
            columns += [column.take(indices) for column in self._codecs[side].decode(list(numbers))]
        marks = np.array([mark for *_, mark in self._emitted], np.int64)
        delay = self._spec.watermark_delay
        output.add(Changes(columns, len(marks)), np.maximum(marks, MIN_WATERMARK + delay) - delay)
        return output
