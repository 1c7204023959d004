"""OVER by a time attribute: each row is emitted once, with the aggregates of the rows up to it."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output, RelationalOperator
from penstock.runtime.relational.operators.over_calls import NEIGHBOURS, PLACES, OverCalls, offset_of
from penstock.runtime.relational.operators.over_frames import Partitions
from penstock.runtime.relational.operators.over_maintained import MaintainedOverOperator
from penstock.runtime.relational.operators.over_state import KeyState, OverState, cleanup_time
from penstock.runtime.relational.sorting.positions import positions_by_group
from penstock.runtime.relational.specs.operators import OverCall, OverSpec
from penstock.runtime.relational.state.row_codec import RowCodec
from penstock.runtime.relational.state.row_times import row_times
from penstock.runtime.relational.state.time_ordered_table import TimedEntry
from penstock.runtime.relational.state.time_to_live import TimeToLive
from penstock.time import MIN_WATERMARK


def over_operator(spec: OverSpec) -> RelationalOperator:
    """Returns the operator: rows leave once as time passes, if no result depends on later rows."""
    return TimeOverOperator(spec) if leaves_once(spec) else MaintainedOverOperator(spec)


def leaves_once(spec: OverSpec) -> bool:
    """Returns whether the output of an OVER has insertions only: ordered by a time attribute, with frames up to the current row."""
    return bool(spec.time) and spec.insert_only and all(_known_by_then(call) for call in spec.calls)


def _known_by_then(call: OverCall) -> bool:
    name = call.call.function
    if name in PLACES:
        return name in ("ROW_NUMBER", "RANK", "DENSE_RANK", "LAG")
    return call.upper == 0


class TimeOverOperator(BaseOperator):
    """By event time, rows wait until the watermark reaches them. By processing time they leave at once.

    Late rows are those that Flink drops: with a frame that is unbounded, rows that are not above the watermark; with bounded frames
    only, rows that are not above the last row of their key that has left.
    """

    def __init__(self, spec: OverSpec) -> None:
        super().__init__()
        self._spec = spec
        self._codec = RowCodec(spec.input_types)
        self._ttl = TimeToLive(spec.ttl)
        self._calls = OverCalls(_calls(spec), spec.input_types)
        bounded = [c for c in _calls(spec) if c.call.function not in PLACES and c.lower is not None]
        lags = [offset_of(c) for c in spec.calls if c.call.function in NEIGHBOURS]
        self._rows_back = max([c.lower or 0 for c in bounded if c.mode == "ROWS"] + lags, default=-1)
        self._time_back = max((c.lower or 0 for c in bounded if c.mode == "RANGE"), default=-1)
        self._all_bounded = all(c.lower is not None for c in spec.calls)
        self._only_ranges = self._all_bounded and len(bounded) == len(spec.calls) and self._rows_back < 0

    def open(self, context: OperatorContext) -> None:
        self._calls.open()
        self._calls.counts_peers = not context.runtime.in_batch_mode
        keeps_rows = self._rows_back > 0 or self._time_back >= 0
        self._state = OverState(context, self._ttl, self._spec.time == "rowtime", keeps_rows, self._only_ranges)

    def next_event_time(self, watermark: int) -> int | None:
        return self._state.next_time()

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        rows, output = inputs[0], Output()
        self._ttl.now = advance.now
        if self._spec.time == "proctime":
            if len(rows):
                self._run_now(rows, advance, output)
        else:
            if len(rows):
                self._wait(rows)
            self._run_due(advance, output)
        self._state.remove_unneeded(advance.now if self._spec.time == "proctime" else advance.end)
        self._state.sweep()
        return output

    # -- processing time

    def _run_now(self, rows: Input, advance: Advance, output: Output) -> None:
        changes = rows.changes
        keys, positions = self._group(changes)
        states = self._state.load(keys)
        encoded = self._codec.encode(changes.columns) if self._state.keeps_rows else [b""] * len(rows)
        new: list[list[tuple[int, bytes]]] = []
        for state, places in zip(states, positions, strict=True):
            now = max(advance.now, state.last)
            new.append([(now, encoded[p]) for p in places])
        order = [p for places in positions for p in places]
        at = pa.array(order)
        results = self._compute(keys, states, new, [c.take(at) for c in changes.columns])
        back = pa.array(np.argsort(np.array(order), kind="stable"))
        output.add(Changes([*changes.columns, *(r.take(back) for r in results)], len(rows)), rows.watermarks)

    # -- event time

    def _wait(self, rows: Input) -> None:
        changes, marks = rows.changes, rows.watermarks
        times = row_times(changes.columns[self._spec.order[0].column])
        keys, positions = self._group(changes)
        if (times <= marks).any():
            kept = [p for p in self._on_time(keys, positions, times, marks) if p]
            self.late_records += len(times) - sum(map(len, kept))
            if not kept:
                return
            keep = np.sort(np.concatenate([np.array(p) for p in kept]))
            changes, times, marks = changes.take(keep), times[keep], marks[keep]
            keys, positions = self._group(changes)
        dues = np.maximum(times, marks + 1)
        self._state.add_waiting(keys, positions, times.tolist(), dues.tolist(), self._codec.encode(changes.columns))

    def _on_time(
        self, keys: list[bytes], positions: list[list[int]], times: NDArray[np.int64], marks: NDArray[np.int64]
    ) -> list[list[int]]:
        """Returns the positions of the rows of each key that are not late."""
        if not self._all_bounded:
            above = (times > marks).tolist()
            return [[p for p in places if above[p]] for places in positions]
        waiting = self._state.waiting_until(int(marks[-1]))
        times_, marks_, kept = times.tolist(), marks.tolist(), []
        for key, state, places in zip(keys, self._state.load(keys), positions, strict=True):
            queue, last, mine = waiting.get(key, []), state.last, []
            for place in places:
                while queue and queue[0][0] <= marks_[place]:
                    last = self._last_after(last, *heapq.heappop(queue))
                if times_[place] > last or self._forgotten(last, marks_[place] + 1):
                    mine.append(place)
                    heapq.heappush(queue, (max(times_[place], marks_[place] + 1), times_[place]))
            kept.append(mine)
        return kept

    def _forgotten(self, last: int, due: int) -> bool:
        """Returns whether a key was cleaned up after its last row and before a row that leaves at `due`."""
        return self._only_ranges and last > MIN_WATERMARK and due > cleanup_time(last, self._time_back)

    def _last_after(self, last: int, due: int, time: int) -> int:
        return time if self._forgotten(last, due) else max(last, time)

    def _run_due(self, advance: Advance, output: Output) -> None:
        due = self._state.take_due(advance.end)
        if not due:
            return
        at_key: dict[bytes, list[int]] = {}
        for place, entry in enumerate(due):
            at_key.setdefault(entry.key, []).append(place)
        order: list[int] = []
        parts: list[list[pa.Array]] = []
        while at_key:  # once, unless a key was cleaned up between its rows
            keys, states = list(at_key), self._state.load(list(at_key))
            gone = [i for i, s in enumerate(states) if self._forgotten(s.last, due[at_key[keys[i]][0]].time)]
            if gone:
                self._state.forget([keys[i] for i in gone], [states[i] for i in gone])
            now = [self._until_cleanup(key, state, due, at_key) for key, state in zip(keys, states, strict=True)]
            order += [p for places in now for p in places]
            new = [[(self._state.time_of(due[p]), due[p].value) for p in places] for places in now]
            columns = self._codec.decode([due[p].value for places in now for p in places])
            for state, places in zip(states, now, strict=True):
                state.waiting -= len(places)
            parts.append([*columns, *self._compute(keys, states, new, columns)])
        back = pa.array(np.argsort(np.array(order), kind="stable"))
        emitted = [pa.concat_arrays(list(same)).take(back) for same in zip(*parts, strict=True)]
        output.add(Changes(emitted, len(due)), np.array([entry.time for entry in due], np.int64) - 1)

    def _until_cleanup(
        self, key: bytes, state: KeyState, due: list[TimedEntry], at_key: dict[bytes, list[int]]
    ) -> list[int]:
        """Takes the rows of a key that leave before it is cleaned up again."""
        places = at_key.pop(key)
        if not self._only_ranges:
            return places
        last = state.last
        for number, place in enumerate(places):
            if number and self._forgotten(last, due[place].time):
                at_key[key] = places[number:]
                return places[:number]
            last = max(last, self._state.time_of(due[place]))
        return places

    # -- results

    def _group(self, changes: Changes) -> tuple[list[bytes], list[list[int]]]:
        columns, types = (
            [changes.columns[i] for i in self._spec.keys],
            [self._spec.input_types[i] for i in self._spec.keys],
        )
        groups = group_rows(columns, changes.length)
        first = pa.array(groups.first)
        return encode_keys([c.take(first) for c in columns], types, len(groups)), positions_by_group(groups)

    def _compute(
        self, keys: list[bytes], states: list[KeyState], new: list[list[tuple[int, bytes]]], columns: list[pa.Array]
    ) -> list[pa.Array]:
        """Returns the results of new rows, ordered by key, and stores what later rows need. Columns are those of the new rows."""
        old = self._state.history(keys)
        lengths = [len(rows) for rows in new]
        before = [len(rows) for rows in old]
        stored = [kept.row for rows in old for kept in rows]
        total = np.array(before) + np.array(lengths)
        starts = np.cumsum(total) - total
        wanted = np.concatenate([np.arange(s + b, s + t) for s, b, t in zip(starts, before, total, strict=True)])
        if stored:
            earlier = np.concatenate([np.arange(s, s + b) for s, b in zip(starts, before, strict=True)])
            decoded = self._codec.decode(stored)
            place = pa.array(np.argsort(np.concatenate([earlier, wanted]), kind="stable"))
            columns = [pa.concat_arrays([a, b]).take(place) for a, b in zip(decoded, columns, strict=True)]
        times = np.array([row[0] for o, n in zip(old, new, strict=True) for row in (*o, *n)], np.int64)
        gone = [state.count - b for state, b in zip(states, before, strict=True)]
        rows = Partitions.of(total.tolist(), times, times, gone)
        accumulators: list[Any] = [state.accumulators for state in states]
        results = self._calls.results(columns, rows, wanted, lengths, accumulators)
        for state, n, found in zip(states, new, accumulators, strict=True):
            state.count += len(n)
            state.last = max(state.last, n[-1][0])
            state.accumulators = found
        self._state.keep(keys, states, old, new, self._rows_back, self._time_back)
        return results


def _calls(spec: OverSpec) -> list[OverCall]:
    """The calls. By processing time each row has a time of its own, so an unbounded RANGE is the same as ROWS."""
    if spec.time != "proctime":
        return list(spec.calls)
    return [OverCall(c.call, "ROWS", None, c.upper) if c.lower is None else c for c in spec.calls]
