"""List state: each element is a separate entry, so appending writes only the new element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.runtime.state.cell import Cell
from penstock.runtime.state.codec import Codec, is_immutable
from penstock.runtime.state.handle import StateHandle
from penstock.runtime.state.store import Store

_NOT_READ = object()
BOUNDS = b"\xfe"  # first byte of a bounds entry; an element with a time to live starts with 0


class _KeyList:
    """The list of one key during a batch."""

    __slots__ = ("added", "cleared", "elements", "first", "next", "numbers", "stored")

    def __init__(self, first: int, following: int) -> None:
        self.first = first  # stored elements have numbers first <= n < next
        self.next = following
        self.elements: Any = _NOT_READ
        self.numbers: list[int] = []  # of `elements`; expired ones leave gaps
        self.stored: list[bytes | None] = []  # bytes as read, where an element may be changed in place
        self.added: list[Any] = []
        self.cleared = False


class ListHandle(StateHandle):
    """A list per key: one entry with the bounds, and one entry per element. Lists are read again in every batch."""

    __slots__ = ("_lists",)

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec, cached: bool = False) -> None:
        super().__init__(store, table, cell, codec)
        self._lists: dict[Any, _KeyList] = {}

    def add(self, value: Any) -> None:
        at = self._cell.at
        current = self._lists.get(at)
        if current is None:
            current = self._load(at)
        current.added.append(self._normal(value))

    def add_all(self, values: list[Any]) -> None:
        self._current().added.extend(list(map(self._normal, values)))

    def update(self, values: list[Any]) -> None:
        added = list(map(self._normal, values or ()))
        current = self._current()
        current.cleared = True
        current.elements = _NOT_READ
        current.stored = []
        current.numbers = []
        current.added = added

    def clear(self) -> None:
        self.update([])

    def get(self) -> Iterator[Any]:
        if self._changeable:
            self._convert_changed(self._current())
        return iter(self.read())

    def read(self) -> list[Any]:
        """Returns the elements without a check whether they were changed in place. The list must not be changed."""
        current = self._current()
        if current.cleared:
            return current.added
        if current.elements is _NOT_READ:
            self._read(self._cell.at, current)
        elements: list[Any] = current.elements + current.added
        return elements

    def _convert_changed(self, current: _KeyList) -> None:
        """Converts elements that were changed in place to their declared type."""
        current.added = list(map(self._normal, current.added))
        if current.elements is not _NOT_READ:
            current.elements = list(map(self._normal, current.elements))

    def __iter__(self) -> Iterator[Any]:
        return self.get()

    def _current(self) -> _KeyList:
        at = self._cell.at
        current = self._lists.get(at)
        return self._load(at) if current is None else current

    def _load(self, at: Any) -> _KeyList:
        bounds = self._store.get(self._table + self._cell.prefix(at))
        first, following = (0, 0) if bounds is None else (_number(bounds[1:9]), _number(bounds[9:]))
        loaded = self._lists[at] = _KeyList(first, following)
        return loaded

    def _read(self, at: Any, current: _KeyList) -> None:
        prefix = self._table + self._cell.prefix(at)
        current.elements = []
        for stored, data in self._store.scan(prefix + _bytes(current.first), prefix + _bytes(current.next)):
            value = self._codec.decode(data)
            current.elements.append(value)
            current.numbers.append(_number(stored[-8:]))
            current.stored.append(None if self._codec.immutable or is_immutable(value) else data)

    def flush(self) -> None:
        store, encode = self._store, self._codec.encode_normal
        for at, current in self._lists.items():
            prefix = self._table + self._cell.prefix(at)
            first, following = current.first, current.next
            if current.cleared:
                for number in range(first, following):
                    store.delete(prefix + _bytes(number))
                first = following
            else:
                self._write_changed_in_place(prefix, current)
            for value in current.added:
                store.put(prefix + _bytes(following), encode(value))
                following += 1
            if first == following:
                if current.next:
                    store.delete(prefix)
            elif (first, following) != (current.first, current.next):
                store.put(prefix, BOUNDS + _bytes(first) + _bytes(following))
        self._end_batch()

    def _write_changed_in_place(self, prefix: bytes, current: _KeyList) -> None:
        if not current.stored:
            return
        for number, before, value in zip(current.numbers, current.stored, current.elements, strict=True):
            if before is not None and (data := self._codec.encode(value)) != before:
                self._store.put(prefix + _bytes(number), data)

    def _end_batch(self) -> None:
        self._lists.clear()


def list_value_offset(data: bytes) -> int | None:
    """Start of the value in a stored entry; None for a bounds entry."""
    return None if data[:1] == BOUNDS else 0


def _bytes(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
