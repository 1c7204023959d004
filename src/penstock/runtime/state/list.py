"""List state: each element is an entry of its own, so appending writes that element only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.runtime.codec import Codec, is_immutable
from penstock.runtime.state.cell import Cell
from penstock.runtime.store import Store

_NOT_READ = object()
BOUNDS = b"\xfe"  # first byte of a bounds entry; an element with a time to live starts with 0


class _Kept:
    """One key's list in a batch."""

    __slots__ = ("added", "cleared", "elements", "first", "next", "numbers", "raw")

    def __init__(self, first: int, following: int) -> None:
        self.first = first  # stored elements have numbers first <= n < next
        self.next = following
        self.elements: Any = _NOT_READ
        self.numbers: list[int] = []  # of `elements`; expired ones leave gaps
        self.raw: list[bytes | None] = []  # as read, where an element may be changed in place
        self.added: list[Any] = []
        self.cleared = False


class ListHandle:
    """A list per key: a bounds entry, and one entry per element."""

    __slots__ = ("_cell", "_codec", "_lists", "_store", "_table")

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec) -> None:
        self._store = store
        self._table = table
        self._cell = cell
        self._codec = codec
        self._lists: dict[Any, _Kept] = {}

    def add(self, value: Any) -> None:
        at = self._cell.at
        kept = self._lists.get(at)
        if kept is None:
            kept = self._load(at)
        kept.added.append(value)

    def add_all(self, values: list[Any]) -> None:
        self._current().added.extend(values)

    def update(self, values: list[Any]) -> None:
        kept = self._current()
        kept.cleared = True
        kept.elements = _NOT_READ
        kept.raw = []
        kept.numbers = []
        kept.added = list(values or ())

    def clear(self) -> None:
        self.update([])

    def get(self) -> Iterator[Any]:
        kept = self._current()
        if kept.cleared:
            return iter(kept.added)
        if kept.elements is _NOT_READ:
            self._read(self._cell.at, kept)
        return iter(kept.elements + kept.added)

    def __iter__(self) -> Iterator[Any]:
        return self.get()

    def _current(self) -> _Kept:
        at = self._cell.at
        kept = self._lists.get(at)
        return self._load(at) if kept is None else kept

    def _load(self, at: Any) -> _Kept:
        bounds = self._store.get(self._table + self._cell.prefix(at))
        first, following = (0, 0) if bounds is None else (_number(bounds[1:9]), _number(bounds[9:]))
        kept = self._lists[at] = _Kept(first, following)
        return kept

    def _read(self, at: Any, kept: _Kept) -> None:
        prefix = self._table + self._cell.prefix(at)
        kept.elements = []
        for stored, data in self._store.scan(prefix + _bytes(kept.first), prefix + _bytes(kept.next)):
            value = self._codec.decode(data)
            kept.elements.append(value)
            kept.numbers.append(_number(stored[-8:]))
            kept.raw.append(None if self._codec.immutable or is_immutable(value) else data)

    def flush(self) -> None:
        """Writes what changed and forgets the batch."""
        store, encode = self._store, self._codec.encode
        for at, kept in self._lists.items():
            prefix = self._table + self._cell.prefix(at)
            first, following = kept.first, kept.next
            if kept.cleared:
                for number in range(first, following):
                    store.delete(prefix + _bytes(number))
                first = following
            else:
                for number, data, value in (
                    zip(kept.numbers, kept.raw, kept.elements or (), strict=True) if kept.raw else ()
                ):
                    if data is not None and (now := encode(value)) != data:
                        store.put(prefix + _bytes(number), now)
            for value in kept.added:
                store.put(prefix + _bytes(following), encode(value))
                following += 1
            if first == following:
                if kept.next:
                    store.delete(prefix)
            elif (first, following) != (kept.first, kept.next):
                store.put(prefix, BOUNDS + _bytes(first) + _bytes(following))
        self.forget()

    def forget(self) -> None:
        self._lists.clear()

    def forget_cache(self) -> None:
        """Lists are read anew in every batch."""


def _bytes(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
