"""Lists and maps inside accumulators that may be large: `ListView` and `MapView`.

A view that an accumulator creates is in memory. An operator that keeps the entries of views in a table of state replaces it by one
that reads and writes only the entries that the function touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView:
    """Base class of the views of an accumulator."""

    def clear(self) -> None:
        """Removes all entries."""
        raise NotImplementedError


class ListView(DataView, Generic[T]):
    """A list in an accumulator.

    >>> view = ListView()
    >>> view.add("a")
    >>> view.add_all(["b", "c"])
    >>> list(view)
    ['a', 'b', 'c']
    """

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """Returns the elements in the order in which they were added."""
        return self._list

    def add(self, value: T) -> None:
        """Adds an element at the end."""
        self._list.append(value)

    def add_all(self, values: Iterable[T]) -> None:
        """Adds several elements."""
        for value in values:
            self.add(value)

    def clear(self) -> None:
        self._list = []

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # views change

    def __repr__(self) -> str:
        return f"ListView({list(self)!r})"


class MapView(DataView, Generic[K, V]):
    """A map in an accumulator. `get` returns None for a key that is not there.

    >>> view = MapView()
    >>> view["a"] = 1
    >>> view.put_all({"b": 2})
    >>> view.get("a"), view.get("z"), "b" in view, list(view.items())
    (1, None, True, [('a', 1), ('b', 2)])
    """

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Returns the value of a key, or None."""
        return self._dict.get(key)

    def put(self, key: K, value: V) -> None:
        """Sets the value of a key. A value that was read and then changed in place must be put again."""
        self._dict[key] = value

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Sets the values of several keys."""
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: K) -> None:
        """Removes a key."""
        self._dict.pop(key, None)

    def contains(self, key: K) -> bool:
        """Returns whether a key is there."""
        return key in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        """Returns all keys with their values."""
        return self._dict.items()

    def keys(self) -> Iterable[K]:
        """Returns all keys."""
        return [key for key, _ in self.items()]

    def values(self) -> Iterable[V]:
        """Returns all values."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Returns whether there are no keys."""
        return next(iter(self.items()), None) is None

    def clear(self) -> None:
        self._dict = {}

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]  # views change

    def __repr__(self) -> str:
        return f"MapView({dict(self.items())!r})"


class ViewEntries(Protocol):
    """The entries of one view of one group in state: values by keys, which are bytes."""

    def get(self, key: bytes) -> Any:
        """Returns the value of an entry, or None. Values are never None: they are lists."""
        ...

    def put(self, key: bytes, value: list[Any] | None) -> None:
        """Writes an entry; None removes it."""
        ...

    def scan(self) -> Iterator[tuple[bytes, list[Any]]]:
        """Yields all entries in the order of their keys."""
        ...

    def key(self, value: Any) -> bytes:
        """Returns the bytes of a key. Equal keys have equal bytes."""
        ...


class StateListView(ListView[T]):
    """A list whose elements are entries of state. length: how many elements were ever added since the last `clear`."""

    def __init__(self, entries: ViewEntries, length: int) -> None:
        super().__init__()
        self._entries = entries
        self.length = length

    def get(self) -> Iterable[T]:
        return (value[0] for _, value in self._entries.scan())

    def add(self, value: T) -> None:
        self._entries.put(self.length.to_bytes(8, "big"), [value])
        self.length += 1

    def clear(self) -> None:
        _clear(self._entries)
        self.length = 0


class StateMapView(MapView[K, V]):
    """A map whose keys are entries of state."""

    def __init__(self, entries: ViewEntries) -> None:
        super().__init__()
        self._entries = entries

    def get(self, key: K) -> V | None:
        found = self._entries.get(self._entries.key(key))
        return None if found is None else found[1]

    def put(self, key: K, value: V) -> None:
        self._entries.put(self._entries.key(key), [key, value])

    def remove(self, key: K) -> None:
        self._entries.put(self._entries.key(key), None)

    def contains(self, key: K) -> bool:
        return self._entries.get(self._entries.key(key)) is not None

    def items(self) -> Iterable[tuple[K, V]]:
        return [(value[0], value[1]) for _, value in self._entries.scan()]

    def clear(self) -> None:
        _clear(self._entries)


def _clear(entries: ViewEntries) -> None:
    for key, _ in list(entries.scan()):
        entries.put(key, None)
