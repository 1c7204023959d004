"""Timers of one operator in one slot and one time domain: an ordered table in the store, and the changes of a batch.

Timers are ordered by time, key hash, encoded key and namespace. A timer is identified by (key, namespace, time); registering it
twice or deleting an absent one has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

import msgspec

from penstock.runtime.state.keys import KeyTable, pickle_undecodable, restore_key
from penstock.runtime.state.store import Store
from penstock.time import MAX_WATERMARK, MIN_WATERMARK

_encode = msgspec.msgpack.encode
_SIGN = 1 << 63
NO_NAMESPACE = b""


class Timer(NamedTuple):
    """A timer that fires. The first four fields define the order of timers."""

    time: int
    hash: int
    encoded_key: bytes
    encoded_namespace: bytes
    key: Any
    namespace: Any
    due: int | None  # due time of the callback that registered it, if any


class TimerQueue:
    """Registers, deletes and pops timers. `next_time` is never later than the earliest timer that may be due.

    >>> from penstock.runtime.state.store import MemoryView
    >>> queue = TimerQueue(Store(MemoryView()), b"t", KeyTable(128))
    >>> queue.begin(10); queue.register(5, "a", None); queue.pop(10).time
    5
    """

    def __init__(self, store: Store, table: bytes, keys: KeyTable) -> None:
        self._store = store
        self._table = table
        self._keys = keys
        self._limit = 0
        # The timers that this batch has registered, by (time, key, namespace). Callers may skip `register` for these.
        self.added: dict[tuple[int, Any, Any], int | None] = {}
        self._deleted: set[tuple[int, Any, Any]] = set()
        self._consumed: list[bytes] = []
        self._heap: list[Any] = []
        self._stored: Iterator[tuple[bytes, bytes]] = iter(())
        self._head: tuple[Timer, bytes] | None = None
        self.next_time = MAX_WATERMARK
        self.earliest: int | None = None  # time of the earliest timer after the last flush

    def begin(self, limit: int, register_limit: int | None = None) -> None:
        """Starts a batch in which stored timers up to `limit` may fire, and new ones up to `register_limit`."""
        self._limit = limit if register_limit is None else register_limit
        self._stored = self._store.scan(self._table, self._table + _time_bytes(limit) + b"\xff" * 9)
        self._read_head()

    def register(self, time: int, key: Any, namespace: Any, due: int | None = None) -> None:
        identity = (time, key, namespace)
        if identity in self.added:
            return
        self.added[identity] = due
        if time <= self._limit:
            known = self._keys[key]
            encoded = NO_NAMESPACE if namespace is None else _encode(namespace)
            heappush(self._heap, (time, known.hash, known.encoded, encoded, identity))
            if time < self.next_time:
                self.next_time = time

    def delete(self, time: int, key: Any, namespace: Any) -> None:
        identity = (time, key, namespace)
        self.added.pop(identity, None)
        self._deleted.add(identity)

    def accept_all(self) -> None:
        """Lets every new registration fire. In batch mode, called for each key after one `begin` for all keys."""
        self._limit = MAX_WATERMARK

    @property
    def used(self) -> bool:
        """Whether a timer was registered or deleted since the last `discard_batch`."""
        return bool(self._heap or self.added or self._deleted)

    def stop_firing(self) -> None:
        """Makes new registrations wait for the next batch."""
        self._limit = MIN_WATERMARK

    def pop(self, until: int) -> Timer | None:
        """Removes and returns the first timer with time <= until; None if there is none."""
        while True:
            heap, head = self._heap, self._head
            if heap and (head is None or heap[0][:4] <= head[0][:4]):
                time, hashed, encoded, encoded_namespace, identity = heap[0]
                if time > until:
                    break
                heappop(heap)
                if identity not in self.added:  # deleted or undone; a stored timer with this identity is handled below
                    continue
                if head is not None and head[0][:4] == (time, hashed, encoded, encoded_namespace):
                    self._consumed.append(head[1])
                    self._read_head()
                due = self.added.pop(identity)
                self._update_next_time()
                return Timer(time, hashed, encoded, encoded_namespace, identity[1], identity[2], due)
            if head is None or head[0].time > until:
                break
            timer, stored = head
            self._consumed.append(stored)
            self._read_head()
            identity = (timer.time, timer.key, timer.namespace)
            if identity not in self._deleted:
                self.added.pop(identity, None)  # also registered in this batch: it is one timer and fires once
                self._update_next_time()
                return timer
        self._update_next_time()
        return None

    def _update_next_time(self) -> None:
        head = self._head
        time = MAX_WATERMARK if head is None else head[0].time
        if self._heap and self._heap[0][0] < time:
            time = self._heap[0][0]
        self.next_time = time

    def _read_head(self) -> None:
        entry = next(self._stored, None)
        self._head = None if entry is None else (self._decode(*entry), entry[0])
        self._update_next_time()

    def _decode(self, stored: bytes, value: bytes) -> Timer:
        at = len(self._table)
        split = at + 16 + int.from_bytes(value[:4], "big")
        encoded, encoded_namespace = stored[at + 16 : split], stored[split:]
        time = int.from_bytes(stored[at : at + 8], "big") - _SIGN
        hashed = int.from_bytes(stored[at + 8 : at + 16], "big")
        namespace = None if not encoded_namespace else _to_tuples(msgspec.msgpack.decode(encoded_namespace))
        return Timer(time, hashed, encoded, encoded_namespace, restore_key(encoded, value[4:]), namespace, None)

    def flush(self) -> None:
        """Writes the registrations, deletions and firings of the batch."""
        table, keys, writes = self._table, self._keys, self._store.pending_changes()
        removed = set(self._consumed)
        removed.update(table + self._stored_key(*identity) for identity in self._deleted)
        added: dict[bytes, bytes] = {}
        for time, key, namespace in self.added:
            hashed, _, encoded, decodable, _ = keys[key]
            stored = table + (time + _SIGN).to_bytes(8, "big") + hashed.to_bytes(8, "big") + encoded
            if namespace is not None:
                stored += _encode(namespace)
            length = len(encoded).to_bytes(4, "big")
            added[stored] = length if decodable else length + pickle_undecodable(key, decodable)
        writes.update(dict.fromkeys(removed))
        writes.update(added)
        self._update_earliest(removed, added)
        self.discard_batch()

    def _update_earliest(self, removed: set[bytes], added: dict[bytes, bytes]) -> None:
        table, at = self._table, len(self._table)
        remaining = (k for k, _ in self._store.base.scan(table, table + b"\xff" * 17) if k not in removed)
        first = min([*added, *[k for k in [next(remaining, None)] if k is not None]], default=None)
        self.earliest = None if first is None else int.from_bytes(first[at : at + 8], "big") - _SIGN

    def _stored_key(self, time: int, key: Any, namespace: Any) -> bytes:
        known = self._keys[key]
        encoded = NO_NAMESPACE if namespace is None else _encode(namespace)
        return _time_bytes(time) + known.hash.to_bytes(8, "big") + known.encoded + encoded

    def discard_batch(self) -> None:
        self.added.clear()
        self._deleted.clear()
        self._consumed.clear()
        self._heap.clear()
        self._stored = iter(())
        self._head = None
        self.next_time = MAX_WATERMARK


def _time_bytes(time: int) -> bytes:
    return (time + _SIGN).to_bytes(8, "big")


def _to_tuples(namespace: Any) -> Any:
    return tuple(_to_tuples(n) for n in namespace) if isinstance(namespace, list) else namespace
