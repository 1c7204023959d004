"""Statistics of state: keys, entries, bytes, the largest keys, skew of key groups, and expired entries."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from penstock.engine.slots.entry_groups import BY_TIME, entry_key_group
from penstock.runtime.state.codec import TtlCodec
from penstock.runtime.state.kinds import value_offset_of
from penstock.runtime.state.tables import KEY_TABLE
from penstock.savepoints import SavedState, Savepoint, StateFileReader
from penstock.state_processor.entries import parse_entry_key, split_scope
from penstock.state_processor.keys import KeyDecoder
from penstock.state_processor.requests import read_key_decoder
from penstock.state_processor.values import has_ttl

Entries = tuple[
    str, SavedState, list[bytes], KeyDecoder
]  # operator, state, entries (name, value, ...), decoder of keys


class LargeKey(msgspec.Struct):
    """A key with many bytes of state."""

    key: str
    bytes: int
    entries: int


class StateStatistics(msgspec.Struct):
    """Statistics of one state of an operator."""

    operator: str
    state: str
    kind: str
    keys: int = 0
    entries: int = 0
    bytes: int = 0
    biggest: list[LargeKey] = []
    group_bytes: list[int] = []  # of every key group; empty for broadcast state
    expired: int = 0  # entries whose time to live has passed and that are not removed yet

    @property
    def skew(self) -> float:
        """The size of the largest key group divided by the mean size.

        >>> StateStatistics("o", "s", "value", group_bytes=[10, 30, 20]).skew
        1.5
        """
        total = sum(self.group_bytes)
        return max(self.group_bytes) * len(self.group_bytes) / total if total else 0.0


class _Counter:
    """Counts the entries of one state. They arrive in the order of their keys, so each key is counted once."""

    def __init__(self, operator: str, state: SavedState, groups: int, top: int, now: int) -> None:
        self._statistics = StateStatistics(operator, split_scope(state.name)[1], state.kind)
        self._state = state
        self._scope, _ = split_scope(state.name)
        self._by_time = state.kind in BY_TIME
        self._groups = [0] * groups if self._scope != "slot" else []
        self._top = top
        self._now = now
        self._largest: list[tuple[int, int, bytes, str]] = []
        self._key: bytes | None = None
        self._key_totals = [0, 0]  # bytes and entries of the current key
        self._unordered: dict[bytes, list[int]] = {}  # totals by key, for tables that are ordered by time
        self._keys = KeyDecoder({})
        self._has_ttl = has_ttl(state.schema) and state.ttl is not None
        self._value_offset = value_offset_of(state.kind)

    def add(self, flat: list[bytes], keys: KeyDecoder) -> None:
        self._keys = keys
        state, scope, statistics, groups = self._state, self._scope, self._statistics, len(self._groups)
        for stored, value in zip(flat[::2], flat[1::2], strict=True):
            size = len(stored) + len(value)
            statistics.entries += 1
            statistics.bytes += size
            group = entry_key_group(state.kind, stored, groups) if groups else None
            if group is not None and group < groups:
                self._groups[group] += size
            self._count_key(parse_entry_key(state.kind, scope, stored).key, size)
            if self._has_ttl and self._is_expired(value):
                statistics.expired += 1

    def _count_key(self, key: bytes, size: int) -> None:
        if self._by_time:
            totals = self._unordered.setdefault(key, [0, 0])
        elif key != self._key:
            self._end_key()
            self._key, totals = key, self._key_totals
        else:
            totals = self._key_totals
        totals[0] += size
        totals[1] += 1

    def _end_key(self) -> None:
        if self._key is not None:
            self._add_key(self._key, *self._key_totals)
        self._key, self._key_totals = None, [0, 0]

    def _add_key(self, key: bytes, size: int, entries: int) -> None:
        if self._scope != "slot":
            self._statistics.keys += 1
            if len(self._largest) < self._top or size > self._largest[0][0]:
                heapq.heappush(self._largest, (size, entries, key, repr(self._keys.decode(key))))
                if len(self._largest) > self._top:
                    heapq.heappop(self._largest)

    def _is_expired(self, value: bytes) -> bool:
        assert self._state.ttl is not None
        at = self._value_offset(value)
        return at is not None and TtlCodec.timestamp_of(value[at : at + 8]) + self._state.ttl <= self._now

    def result(self) -> StateStatistics:
        self._end_key()
        for key, (size, entries) in self._unordered.items():
            self._add_key(key, size, entries)
        self._statistics.group_bytes = self._groups
        self._statistics.biggest = [LargeKey(key, size, n) for size, n, _, key in sorted(self._largest, reverse=True)]
        return self._statistics


def compute_statistics(
    entries: Iterable[Entries], max_parallelism: int, now: int, top: int = 5
) -> list[StateStatistics]:
    """Statistics of all states, largest first."""
    counters: dict[tuple[str, str], _Counter] = {}
    for operator, state, flat, keys in entries:
        if state.name == KEY_TABLE:
            continue
        counter = counters.get((operator, state.name))
        if counter is None:
            counter = counters[operator, state.name] = _Counter(operator, state, max_parallelism, top, now)
        counter.add(flat, keys)
    return sorted((c.result() for c in counters.values()), key=lambda s: -s.bytes)


def savepoint_entries(savepoint: Savepoint) -> Iterator[Entries]:
    """All entries of a savepoint, block by block. Broadcast state is returned once."""
    states = {(o.uid, s.name): s for o in savepoint.manifest.operators for s in o.states}
    broadcast: dict[tuple[str, str], str] = {}
    for file in savepoint.manifest.files:
        with StateFileReader(savepoint.system, savepoint.path, file) as reader:
            decoders: dict[str, KeyDecoder] = {}
            for block in reader.blocks:
                name = (block.operator, block.state)
                if split_scope(block.state)[0] == "slot" and broadcast.setdefault(name, file.name) != file.name:
                    continue
                if name not in states:
                    continue
                if block.operator not in decoders:
                    decoders[block.operator] = read_key_decoder(reader, block.operator)
                yield block.operator, states[name], reader.read(block), decoders[block.operator]


def to_json_values(statistics: list[StateStatistics]) -> list[dict[str, Any]]:
    """Statistics as JSON values."""
    return [{**msgspec.to_builtins(s), "skew": round(s.skew, 3)} for s in statistics]
