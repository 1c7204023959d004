"""The store of keyed state: ordered keys and values as bytes, with the changes of the current batch in an overlay.

A `ReadView` holds committed entries. A `Store` is an overlay on it: reads see the overlay first, and the committed entries do not
change until the changes are taken and applied. So a batch that fails leaves no trace.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Protocol

from sortedcontainers import SortedDict

_FEW_CHANGES = 8
Changes = dict[bytes, bytes | None]  # None: deleted


class ReadView(Protocol):
    """Committed entries, ordered by key. It can only be read."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Returns the entries with start <= key < stop, ordered by key."""
        ...


class Store:
    """An overlay on committed entries. States, timers and windows write to it.

    >>> store = Store(MemoryView())
    >>> store.put(b"a", b"1"); store.get(b"a"), store.take_changes()
    (b'1', {b'a': b'1'})
    """

    __slots__ = ("_changes", "_ordered", "base")

    def __init__(self, base: ReadView) -> None:
        self.base = base
        self._changes: Changes = {}
        self._ordered: list[bytes] = []  # keys of the changes as of the last scan

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
        yield from merge_entries(self.base.scan(start, stop), changed, self._changes)

    def _changed(self, start: bytes, stop: bytes) -> list[bytes]:
        """Returns the changed keys of a range, in order.

        Changes are only ever added within a batch, so their number shows whether the sorted list is up to date.
        """
        new = len(self._changes) - len(self._ordered)
        if 0 < new <= _FEW_CHANGES:
            for key in islice(reversed(self._changes), new):
                insort(self._ordered, key)
        elif new:
            self._ordered = sorted(self._changes)
        return self._ordered[bisect_left(self._ordered, start) : bisect_left(self._ordered, stop)]

    def pop_latest_changes(self, predicate: Callable[[bytes], bool]) -> None:
        """Removes the latest changes as long as the predicate is true for their keys."""
        changes = self._changes
        while changes and predicate(next(reversed(changes))):
            changes.popitem()
            self._ordered = []

    def pending_changes(self) -> Changes:
        """Returns the overlay itself. Handles write to it directly, in bulk."""
        return self._changes

    def take_changes(self) -> Changes:
        changes, self._changes = self._changes, {}
        self._ordered = []
        return changes


def merge_entries(
    entries: Iterator[tuple[bytes, bytes]], changed: list[bytes], changes: Changes
) -> Iterator[tuple[bytes, bytes]]:
    """Merges entries with changes of the same range; both are sorted, `changed` holds the keys of the changes."""
    at, end = 0, len(changed)
    for key, value in entries:
        while at < end and changed[at] <= key:
            new_value = changes[changed[at]]
            if new_value is not None:
                yield changed[at], new_value
            at += 1
        if key not in changes:
            yield key, value
    for key in changed[at:]:
        new_value = changes[key]
        if new_value is not None:
            yield key, new_value


class MemoryView:
    """Entries in memory, for the harness."""

    def __init__(self) -> None:
        self.entries: SortedDict[bytes, bytes] = SortedDict()

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self.entries.get(key)
        return value

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
    """Returns the first key after all keys with a prefix.

    >>> after_prefix(b"a")
    b'b'
    """
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        return b"\xff" * (len(prefix) + 600)
    return stripped[:-1] + bytes([stripped[-1] + 1])
