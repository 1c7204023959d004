"""Joins each row with the version of the other side that was valid at its time."""

from __future__ import annotations

import bisect
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import DELETE, UPDATE_BEFORE, Changes
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.joins.pairs import PairCondition, padded
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import TemporalJoinSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.state.time_ordered_table import TimedEntry, TimeOrderedTable
from penstock.runtime.relational.windows.assign import column_millis

_LEFT, _RIGHT = 0, 1
_SIGN = 1 << 63


class _Event(NamedTuple):
    """A change of one input: its position in the order of both inputs, its side, key, time, kind and row."""

    rank: int
    side: int
    key: bytes
    time: int
    kind: int
    row: bytes
    watermark: int


class TemporalJoinOperator(BaseOperator):
    """Rows of the left side wait until the watermark reaches their time; then all versions up to this time are known.

    Versions of a key are removed if a newer one is not above the watermark either. A late row is joined at the next watermark with
    the versions that are left.
    """

    def __init__(self, spec: TemporalJoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._types = (spec.input_types, spec.right_types)
        self._keys = (
            ColumnKey(spec.keys, tuple(spec.input_types[k] for k in spec.keys)),
            ColumnKey(spec.right_keys, tuple(spec.right_types[k] for k in spec.right_keys)),
        )
        self._times = (spec.left_time, spec.right_time)
        self._codecs = (RowCodec(spec.input_types), RowCodec(spec.right_types))
        self._condition = PairCondition(spec)

    def open(self, context: OperatorContext) -> None:
        left, right = ("|".join(map(str, types)) for types in self._types)
        self._waiting = TimeOrderedTable(context, "waiting rows", left)
        self._counts = KeyedTable(context, "numbers of waiting rows", "next number, rows")
        self._versions = KeyedTable(context, "versions", right)
        self._version_times = TimeOrderedTable(context, "times of versions", "key")

    def next_event_time(self, watermark: int) -> int | None:
        first = self._waiting.first_time()
        return None if first is None else max(first, watermark + 1)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        out = Output()
        clock = advance.before
        for event in sorted([*self._events(inputs[0], _LEFT), *self._events(inputs[1], _RIGHT)]):
            if event.watermark > clock:
                self._fire(clock, event.watermark, out)
                clock = event.watermark
            if event.side == _LEFT:
                self._wait(event)
            elif event.kind != UPDATE_BEFORE:
                self._add_version(event)
        if advance.end > clock:
            self._fire(clock, advance.end, out)
        return out

    def _events(self, given: Input, side: int) -> list[_Event]:
        if not len(given):
            return []
        rows, times = column_millis(given.changes.columns[self._times[side]])
        changes = given.changes.take(rows)
        groups, encoded = self._keys[side].groups(changes)
        return list(
            map(
                _Event,
                given.ranks[rows].tolist(),
                [side] * changes.length,
                [encoded[code] for code in groups.codes.tolist()],
                times.tolist(),
                changes.all_kinds().tolist(),
                self._codecs[side].encode(changes.columns),
                given.watermarks[rows].tolist(),
            )
        )

    def _wait(self, event: _Event) -> None:
        [entry] = self._counts.prefixes([event.key])
        found = self._counts.get(entry)
        number, rows = (0, 0) if found is None else unpack(found)
        self._counts.put(entry, pack([number + 1, rows + 1]))
        [suffix] = self._waiting.suffixes([event.key])
        stored = self._waiting.entry(event.time, suffix, number.to_bytes(8, "big"))
        self._waiting.put(stored, pack([event.kind, event.row]))

    def _add_version(self, event: _Event) -> None:
        [prefix] = self._versions.prefixes([event.key])
        self._versions.put(prefix + (event.time + _SIGN).to_bytes(8, "big"), pack([event.kind, event.row]))
        [suffix] = self._version_times.suffixes([event.key])
        self._version_times.put(self._version_times.entry(event.time, suffix), b"")

    # -- rows whose versions are known

    def _fire(self, before: int, watermark: int, out: Output) -> None:
        """Emits the rows up to a watermark, by key and in the order of their arrival, and removes old versions."""
        due: dict[bytes, list[TimedEntry]] = {}
        for entry in self._waiting.take_until(watermark):
            due.setdefault(entry.key, []).append(entry)
        old = {entry.key for entry in self._version_times.take_until(watermark)}
        keys = [*due, *sorted(old - due.keys())]
        kinds: list[int] = []
        rows: tuple[list[bytes], list[bytes]] = ([], [])
        matches: list[int] = []  # for each row the number of its version, or -1
        for key, prefix in zip(keys, self._versions.prefixes(keys), strict=True):
            versions = [
                (int.from_bytes(time, "big") - _SIGN, *unpack(value)) for time, value in self._versions.scan(prefix)
            ]
            times = [time for time, _, _ in versions]
            numbers: dict[int, int] = {}
            for entry in sorted(due.get(key, ()), key=lambda e: e.sub_key):
                kind, row = unpack(entry.value)
                kinds.append(kind)
                rows[_LEFT].append(row)
                at = bisect.bisect_right(times, entry.time) - 1
                if at < 0 or versions[at][1] == DELETE:
                    matches.append(-1)
                    continue
                if at not in numbers:
                    numbers[at] = len(rows[_RIGHT])
                    rows[_RIGHT].append(versions[at][2])
                matches.append(numbers[at])
            for time, _, _ in versions[: max(bisect.bisect_right(times, watermark) - 1, 0)]:
                self._versions.put(prefix + (time + _SIGN).to_bytes(8, "big"), None)
        self._forget(due)
        if kinds:
            first = min(entry.time for entries in due.values() for entry in entries)
            self._emit(kinds, rows, np.array(matches, np.int64), max(before, first - 1), out)

    def _forget(self, due: dict[bytes, list[TimedEntry]]) -> None:
        keys = list(due)
        for key, entry in zip(keys, self._counts.prefixes(keys), strict=True):
            found = self._counts.get(entry)
            assert found is not None
            number, rows = unpack(found)
            rows -= len(due[key])
            self._counts.put(entry, pack([number, rows]) if rows else None)

    def _emit(
        self, kinds: list[int], rows: tuple[list[bytes], list[bytes]], matches: np.ndarray, mark: int, out: Output
    ) -> None:
        left, right = (codec.decode(side) for codec, side in zip(self._codecs, rows, strict=True))
        matches[~self._condition.joinable(left, len(kinds))] = -1
        found = np.flatnonzero(matches >= 0)
        holds = self._condition.holds(left, right, found, matches[found])
        matches[found[~holds]] = -1
        kept = np.flatnonzero(matches >= 0) if self._spec.kind == "INNER" else np.arange(len(kinds))
        at = pa.array(kept)
        columns = [*(c.take(at) for c in left), *padded(right, matches[kept])]
        kept_kinds = np.array(kinds, np.int8)[kept]
        out.add(Changes(columns, len(kept), kept_kinds if kept_kinds.any() else None), mark)
