"""Views in state read and write the entries that a function touches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.runtime.relational.python_aggregates.accumulator_codec import encode_key
from penstock.runtime.relational.python_aggregates.views import ListView, MapView, StateListView, StateMapView


class _Entries:
    def __init__(self) -> None:
        self.entries: dict[bytes, list[Any]] = {}
        self.reads = 0

    def get(self, key: bytes) -> Any:
        self.reads += 1
        return self.entries.get(key)

    def put(self, key: bytes, value: list[Any] | None) -> None:
        if value is None:
            self.entries.pop(key, None)
        else:
            self.entries[key] = value

    def scan(self) -> Iterator[tuple[bytes, list[Any]]]:
        for key in sorted(self.entries):
            self.reads += 1
            yield key, self.entries[key]

    def key(self, value: Any) -> bytes:
        return encode_key(value)


def test_a_list_in_state() -> None:
    entries = _Entries()
    view: StateListView[str] = StateListView(entries, 0)
    view.add("a")
    view.add_all(["b", "c"])
    assert entries.reads == 0
    assert list(view) == list(view.get()) == ["a", "b", "c"]
    again: StateListView[str] = StateListView(entries, view.length)
    again.add("d")
    assert list(again) == ["a", "b", "c", "d"]
    again.clear()
    assert list(again) == []
    assert not entries.entries
    assert again.length == 0


def test_a_map_in_state() -> None:
    entries = _Entries()
    view: StateMapView[Any, Any] = StateMapView(entries)
    view["a"] = 1
    view.put_all({2: "b", "c": None})
    assert entries.reads == 0
    assert view.get("a") == view["a"] == 1
    assert view[2.0] == "b"
    assert entries.reads == 3
    assert "c" in view
    assert view.get("c") is None
    assert view.get("z") is None
    assert "z" not in view
    assert sorted(map(str, view)) == ["2", "a", "c"]
    assert set(view.values()) == {1, "b", None}
    assert not view.is_empty()
    del view["a"]
    view.remove("z")
    assert dict(view.items()) == {2: "b", "c": None}
    view.clear()
    assert view.is_empty()
    assert not entries.entries


def test_views_are_equal_by_their_entries() -> None:
    kept: StateListView[int] = StateListView(_Entries(), 0)
    kept.add(1)
    plain: ListView[int] = ListView()
    plain.add(1)
    assert kept == plain
    assert plain != [1]
    mapped: MapView[str, int] = MapView()
    mapped["a"] = 1
    assert mapped == mapped
    assert repr(plain) == "ListView([1])"
    assert repr(mapped) == "MapView({'a': 1})"
