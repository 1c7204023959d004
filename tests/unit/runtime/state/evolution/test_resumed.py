"""Resuming a checkpoint with another type: works if the decoder reads the values, otherwise an error explains what to do."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock import Duration, MapStateDescriptor, StateTtlConfig, Types, ValueStateDescriptor
from penstock.errors import StateError
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTable, StateTables
from penstock.state import StateDescriptor
from penstock.types.evolution import state_type


@dataclass
class Before:
    n: int
    s: str


@dataclass
class Added:
    n: int
    s: str
    more: list[int] = field(default_factory=list)


class Light(enum.Enum):
    RED = 1
    GREEN = 2


class Renumbered(enum.Enum):
    GREEN = 1
    RED = 2


@state_type(aliases={"m": "n"})
@dataclass
class Renamed:
    m: int
    s: str


def resumed(before: StateDescriptor, after: StateDescriptor, value: Any) -> Any:
    store, tables = Store(MemoryView()), StateTables()
    first = KeyedStateStore(store, tables, "op", KeyTable(128))
    handle = first.handle(before)
    first.set_key("k")
    handle.update(value)
    first.flush()
    second = KeyedStateStore(store, StateTables(tables.all()), "op", KeyTable(128))
    handle = second.handle(after)
    second.set_key("k")
    return handle.value()


def test_types_that_can_read_the_stored_values() -> None:
    value = resumed(ValueStateDescriptor("s", Before), ValueStateDescriptor("s", Added), Before(1, "a"))
    assert value == Added(1, "a", [])
    assert resumed(ValueStateDescriptor("s", Types.INT()), ValueStateDescriptor("s", float), 7) == 7.0
    assert resumed(ValueStateDescriptor("s", Types.INT()), ValueStateDescriptor("s", Types.LONG()), 7) == 7
    assert resumed(ValueStateDescriptor("s"), ValueStateDescriptor("s", int), 7) == 7


@pytest.mark.parametrize(
    ("before", "after", "value", "expected"),
    [
        (Before, Renamed, Before(1, "a"), "m: was called 'n'"),
        (Types.LONG(), Types.BIG_INT(), 7, "LONG became BIG_INT"),
        (str, int, "a", "str cannot be converted to int"),
        (int | None, Types.LONG(), 7, "checked value by value"),
        (int, float, 2**53 + 1, "int became float, checked value by value"),
        (Light, Renumbered, Light.RED, "RED was 1 and is 2 now"),
    ],
)
def test_types_that_need_a_rewrite_are_rejected_with_a_hint(before: Any, after: Any, value: Any, expected: str) -> None:
    with pytest.raises(StateError, match="--from-savepoint") as raised:
        resumed(ValueStateDescriptor("s", before), ValueStateDescriptor("s", after), value)
    assert raised.value.code == "STATE_CHANGED"
    assert expected in raised.value.text


def test_a_class_with_the_same_name_is_compared_by_its_fields() -> None:
    other: Any = dataclass(type("Before", (), {"__annotations__": {"n": str, "s": str}}))
    with pytest.raises(StateError, match="n: int cannot be converted to str"):
        resumed(ValueStateDescriptor("s", Before), ValueStateDescriptor("s", other), Before(1, "a"))


def test_a_time_to_live_cannot_be_added_or_removed() -> None:
    living = ValueStateDescriptor("s", int)
    living.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(5)).build())
    with pytest.raises(StateError, match="entries expire"):
        resumed(ValueStateDescriptor("s", int), living, 1)


def test_keys_of_a_map() -> None:
    tables = StateTables()
    KeyedStateStore(Store(MemoryView()), tables, "op", KeyTable(128)).handle(MapStateDescriptor("s", int, int))
    with pytest.raises(StateError, match="key: int became str"):
        KeyedStateStore(Store(MemoryView()), StateTables(tables.all()), "op", KeyTable(128)).handle(
            MapStateDescriptor("s", str, int)
        )


def test_tables_of_earlier_versions_have_no_types() -> None:
    tables = StateTables([StateTable(1, "op", "s", "value", "msgspec:LONG")])
    backend = KeyedStateStore(Store(MemoryView()), tables, "op", KeyTable(128))
    backend.handle(ValueStateDescriptor("s", Types.LONG()))
    assert tables.all()[0].type == '{"value":{"kind":"int","bits":64}}'
