"""What state weighs: keys, entries, bytes, the biggest keys, how evenly key groups are filled, and what has expired."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from penstock.engine.entry_groups import BY_TIME, group_of
from penstock.runtime.codec import StampedCodec
from penstock.runtime.state.backend import KEY_TABLE
from penstock.runtime.state.list import BOUNDS
from penstock.savepoints import SavedState, Savepoint, StateFileReader
from penstock.state_processor.entries import place_of, scope_of
from penstock.state_processor.keys import Keys
from penstock.state_processor.requests import keys_of
from penstock.state_processor.values import is_stamped

Entries = tuple[str, SavedState, list[bytes], Keys]  # operator, state, names and values by turns, the operator's keys


class BigKey(msgspec.Struct):
    """A key that holds much."""

    key: str
    bytes: int
    entries: int


class StateStatistics(msgspec.Struct):
    """Figures of one state of one operator."""

    operator: str
    state: str
    kind: str
    keys: int = 0
    entries: int = 0
    bytes: int = 0
    biggest: list[BigKey] = []
    group_bytes: list[int] = []  # of every key group; none of broadcast state
    expired: int = 0  # entries whose time to live is over, and that are still there

    @property
    def skew(self) -> float:
        """The fullest key group, in times of the mean one.

        >>> StateStatistics("o", "s", "value", group_bytes=[10, 30, 20]).skew
        1.5
        """
        total = sum(self.group_bytes)
        return max(self.group_bytes) * len(self.group_bytes) / total if total else 0.0


class _Counting:
    """Adds up the entries of one state. They come in the order of their keys, so a key is known to be over."""

    def __init__(self, operator: str, state: SavedState, groups: int, top: int, now: int) -> None:
        self.found = StateStatistics(operator, scope_of(state.name)[1], state.kind)
        self._state = state
        self._scope, _ = scope_of(state.name)
        self._by_time = state.kind in BY_TIME
        self._groups = [0] * groups if self._scope != "slot" else []
        self._top = top
        self._now = now
        self._heap: list[tuple[int, int, bytes, str]] = []
        self._key: bytes | None = None
        self._held = [0, 0]  # bytes and entries of the current key
        self._seen: dict[bytes, list[int]] = {}  # of tables that are not in the order of keys
        self._keys = Keys({})
        self._stamped = is_stamped(state.schema) and state.ttl is not None

    def add(self, flat: list[bytes], keys: Keys) -> None:
        self._keys = keys
        state, scope, found, groups = self._state, self._scope, self.found, len(self._groups)
        for stored, value in zip(flat[::2], flat[1::2], strict=True):
            size = len(stored) + len(value)
            found.entries += 1
            found.bytes += size
            group = group_of(state.kind, stored, groups) if groups else None
            if group is not None and group < groups:
                self._groups[group] += size
            self._count_key(place_of(state.kind, scope, stored).key, size)
            if self._stamped and self._is_expired(value):
                found.expired += 1

    def _count_key(self, key: bytes, size: int) -> None:
        if self._by_time:
            held = self._seen.setdefault(key, [0, 0])
        elif key != self._key:
            self._close()
            self._key, held = key, self._held
        else:
            held = self._held
        held[0] += size
        held[1] += 1

    def _close(self) -> None:
        if self._key is not None:
            self._note(self._key, *self._held)
        self._key, self._held = None, [0, 0]

    def _note(self, key: bytes, size: int, entries: int) -> None:
        if self._scope != "slot":
            self.found.keys += 1
            if len(self._heap) < self._top or size > self._heap[0][0]:
                heapq.heappush(self._heap, (size, entries, key, repr(self._keys.of(key))))
                if len(self._heap) > self._top:
                    heapq.heappop(self._heap)

    def _is_expired(self, value: bytes) -> bool:
        assert self._state.ttl is not None
        if self._state.kind == "list" and value[:1] == BOUNDS:
            return False
        at = 4 + int.from_bytes(value[:4], "big") if self._state.kind == "map" else 0
        return StampedCodec.stamp_of(value[at : at + 8]) + self._state.ttl <= self._now

    def result(self) -> StateStatistics:
        self._close()
        for key, (size, entries) in self._seen.items():
            self._note(key, size, entries)
        self.found.group_bytes = self._groups
        self.found.biggest = [BigKey(key, size, n) for size, n, _, key in sorted(self._heap, reverse=True)]
        return self.found


def statistics(entries: Iterable[Entries], max_parallelism: int, now: int, top: int = 5) -> list[StateStatistics]:
    """Figures of all states, the largest first."""
    counting: dict[tuple[str, str], _Counting] = {}
    for operator, state, flat, keys in entries:
        if state.name == KEY_TABLE:
            continue
        known = counting.get((operator, state.name))
        if known is None:
            known = counting[operator, state.name] = _Counting(operator, state, max_parallelism, top, now)
        known.add(flat, keys)
    return sorted((c.result() for c in counting.values()), key=lambda s: -s.bytes)


def entries_of(savepoint: Savepoint) -> Iterator[Entries]:
    """All entries of a savepoint, block by block; broadcast state once."""
    states = {(o.uid, s.name): s for o in savepoint.manifest.operators for s in o.states}
    broadcast: dict[tuple[str, str], str] = {}
    for file in savepoint.manifest.files:
        with StateFileReader(savepoint.system, savepoint.path, file) as reader:
            known: dict[str, Keys] = {}
            for block in reader.blocks:
                name = (block.operator, block.state)
                if scope_of(block.state)[0] == "slot" and broadcast.setdefault(name, file.name) != file.name:
                    continue
                if name not in states:
                    continue
                if block.operator not in known:
                    known[block.operator] = keys_of(reader, block.operator)
                yield block.operator, states[name], reader.read(block), known[block.operator]


def plain(found: list[StateStatistics]) -> list[dict[str, Any]]:
    """For programs."""
    return [{**msgspec.to_builtins(s), "skew": round(s.skew, 3)} for s in found]
