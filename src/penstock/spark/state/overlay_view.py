"""A working copy with the last committed batch's changes held over it: what they change is read from memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

from penstock.runtime.store import Base, Changes, merged


class OverlaidView:
    """Entries of a view, seen through changes that it has not taken yet.

    >>> from penstock.runtime.store import MemoryBase
    >>> base = MemoryBase()
    >>> base.apply({b"a": b"1", b"b": b"1"})
    >>> list(OverlaidView(base, {b"a": None, b"c": b"2"}).scan(b"", b"z"))
    [(b'b', b'1'), (b'c', b'2')]
    """

    __slots__ = ("_base", "_changes", "_ordered")

    def __init__(self, base: Base, changes: Changes, ordered: Callable[[], list[bytes]] | None = None) -> None:
        self._base = base
        self._changes = changes
        self._ordered = ordered or (
            lambda: sorted(changes)
        )  # the changes' keys, asked for when there is a range to read

    def get(self, key: bytes) -> bytes | None:
        changes = self._changes
        return changes[key] if key in changes else self._base.get(key)

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        ordered = self._ordered()
        changed = ordered[bisect_left(ordered, start) : bisect_left(ordered, stop)]
        return merged(self._base.scan(start, stop), changed, self._changes)
