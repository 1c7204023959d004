"""A view with changes on top of it: changed entries are read from memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

from penstock.runtime.state.store import Changes, ReadView, merge_entries


class OverlayView:
    """The entries of a view after changes that are not applied to it yet.

    >>> from penstock.runtime.state.store import MemoryView
    >>> base = MemoryView()
    >>> base.apply({b"a": b"1", b"b": b"1"})
    >>> list(OverlayView(base, {b"a": None, b"c": b"2"}).scan(b"", b"z"))
    [(b'b', b'1'), (b'c', b'2')]
    """

    __slots__ = ("_base", "_changes", "_sorted_keys")

    def __init__(self, base: ReadView, changes: Changes, sorted_keys: Callable[[], list[bytes]] | None = None) -> None:
        self._base = base
        self._changes = changes
        self._sorted_keys = sorted_keys or (lambda: sorted(changes))  # called when a range is read

    def get(self, key: bytes) -> bytes | None:
        changes = self._changes
        return changes[key] if key in changes else self._base.get(key)

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        keys = self._sorted_keys()
        changed = keys[bisect_left(keys, start) : bisect_left(keys, stop)]
        return merge_entries(self._base.scan(start, stop), changed, self._changes)
