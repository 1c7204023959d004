"""The store under keyed state: ordered bytes to bytes, with the changes of one batch kept apart.

A `Base` holds committed entries. A `Store` is an overlay over it: reads see the overlay first, and the base never changes
until somebody applies the changes that were taken. So a batch that fails leaves no trace.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Protocol

from sortedcontainers import SortedDict

_FEW = 8
Changes = dict[bytes, bytes | None]  # None: deleted


class Base(Protocol):
    """Committed entries, ordered by key."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Entries with start <= key < stop, in order of their keys."""
        ...


class Store:
    """An overlay over a base; what states, timers and windows write to.

    >>> store = Store(MemoryBase())
    >>> store.put(b"a", b"1"); store.get(b"a"), store.take_changes()
    (b'1', {b'a': b'1'})
    """

    __slots__ = ("_changes", "_ordered", "base")

    def __init__(self, base: Base) -> None:
        self.base = base
        self._changes: Changes = {}
        self._ordered: list[bytes] = []  # keys of changes, as of the last scan

    def get(self, key: bytes) -> bytes | None:
        if key in self._changes:
            return self._changes[key]
        return self.base.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self._changes[key] = value

    def delete(self, key: bytes) -> None:
        self._changes[key] = None

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        changed = self._changed(start, stop)
        if not changed:
            yield from self.base.scan(start, stop)
            return
        yield from merged(self.base.scan(start, stop), changed, self._changes)

    def _changed(self, start: bytes, stop: bytes) -> list[bytes]:
        """The changed keys of a range. Keys are only ever added to a batch's changes, so their number dates the order."""
        more = len(self._changes) - len(self._ordered)
        if 0 < more <= _FEW:
            for key in islice(reversed(self._changes), more):
                insort(self._ordered, key)
        elif more:
            self._ordered = sorted(self._changes)
        return self._ordered[bisect_left(self._ordered, start) : bisect_left(self._ordered, stop)]

    def drop_last(self, drops: Callable[[bytes], bool]) -> None:
        """Forgets the latest changes, back to the first one that stays."""
        changes = self._changes
        while changes and drops(next(reversed(changes))):
            changes.popitem()
            self._ordered = []

    def changes(self) -> Changes:
        """What changed so far: the overlay itself, which states write to in bulk."""
        return self._changes

    def take_changes(self) -> Changes:
        changes, self._changes = self._changes, {}
        self._ordered = []
        return changes


def merged(
    entries: Iterator[tuple[bytes, bytes]], changed: list[bytes], changes: Changes
) -> Iterator[tuple[bytes, bytes]]:
    """Entries in order, with changes of the same range on top of them; `changed` are the changes' keys in order."""
    at, last = 0, len(changed)
    for key, value in entries:
        while at < last and changed[at] <= key:
            mine = changes[changed[at]]
            if mine is not None:
                yield changed[at], mine
            at += 1
        if key not in changes:
            yield key, value
    for key in changed[at:]:
        mine = changes[key]
        if mine is not None:
            yield key, mine


class MemoryBase:
    """A base in memory, for the harness."""

    def __init__(self) -> None:
        self.entries: SortedDict[bytes, bytes] = SortedDict()

    def get(self, key: bytes) -> bytes | None:
        found: bytes | None = self.entries.get(key)
        return found

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        for key in list(self.entries.irange(start, stop, inclusive=(True, False))):
            value = self.entries.get(key)
            if value is not None:
                yield key, value

    def apply(self, changes: Changes) -> None:
        for key, value in changes.items():
            if value is None:
                self.entries.pop(key, None)
            else:
                self.entries[key] = value


def after_prefix(prefix: bytes) -> bytes:
    """The first key that is past all keys with a prefix.

    >>> after_prefix(b"a")
    b'b'
    """
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        return b"\xff" * (len(prefix) + 600)
    return stripped[:-1] + bytes([stripped[-1] + 1])
