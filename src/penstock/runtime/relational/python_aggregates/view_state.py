"""Views of accumulators in a table of state: one entry per element of a list or key of a map.

An accumulator is a view, or a row or list with views among its fields. Views that are deeper inside stay in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.row import Row
from penstock.runtime.relational.aggregates.multisets import TableMultisets
from penstock.runtime.relational.python_aggregates.accumulator_codec import StoredView, decode, encode, encode_key
from penstock.runtime.relational.python_aggregates.views import (
    DataView,
    ListView,
    MapView,
    StateListView,
    StateMapView,
)


class TableEntries:
    """The entries of one view of one group: the prefix of the group, then the number of the view, then the key."""

    def __init__(self, multiset: TableMultisets, group: int, number: int) -> None:
        self._table, self._prefix = multiset.place(group)
        self._prefix += bytes([number])

    def get(self, key: bytes) -> Any:
        data = self._table.get(self._prefix + key)
        return None if data is None else decode(data)

    def put(self, key: bytes, value: list[Any] | None) -> None:
        self._table.put(self._prefix + key, None if value is None else encode(value))

    def scan(self) -> Iterator[tuple[bytes, list[Any]]]:
        for key, data in self._table.scan(self._prefix):
            yield key, decode(data)

    def key(self, value: Any) -> bytes:
        return encode_key(value)


def bind_views(accumulator: Any, multiset: TableMultisets, group: int) -> Any:
    """Returns an accumulator from state with views that read and write their entries."""

    def bound(stored: Any, number: int) -> Any:
        entries = TableEntries(multiset, group, number)
        if not isinstance(stored, StoredView):
            return stored
        return StateMapView(entries) if stored.length is None else StateListView(entries, stored.length)

    return _replaced(accumulator, StoredView, bound)


def new_views(accumulator: Any, multiset: TableMultisets, group: int) -> Any:
    """Returns a new accumulator with views in state, which get the entries that the views have already."""

    def moved(view: Any, number: int) -> Any:
        entries = TableEntries(multiset, group, number)
        if isinstance(view, ListView):
            elements: StateListView[Any] = StateListView(entries, 0)
            elements.add_all(view.get())
            return elements
        assert isinstance(view, MapView)
        values: StateMapView[Any, Any] = StateMapView(entries)
        for key, value in view.items():
            values.put(key, value)
        return values

    return _replaced(accumulator, DataView, moved)


def _replaced(accumulator: Any, kind: type, replace: Callable[[Any, int], Any]) -> Any:
    if isinstance(accumulator, kind):
        return replace(accumulator, 0)
    if isinstance(accumulator, Row | list):
        for number, value in enumerate(accumulator):
            if isinstance(value, kind):
                accumulator[number] = replace(value, number)
    elif isinstance(accumulator, tuple) and any(isinstance(v, kind) for v in accumulator):
        return tuple(replace(v, n) if isinstance(v, kind) else v for n, v in enumerate(accumulator))
    return accumulator
