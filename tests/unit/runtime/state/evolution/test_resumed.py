"""A checkpoint that is resumed with another type: what its decoder reads goes on, all else is told with the way out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock import Duration, MapStateDescriptor, StateTtlConfig, Types, ValueStateDescriptor
from penstock.errors import StateError
from penstock.runtime.keys import KeyTable
from penstock.runtime.state.backend import StateBackend, Table, Tables
from penstock.runtime.store import MemoryBase, Store
from penstock.state import StateDescriptor
from penstock.types.evolution import state_type


@dataclass
class Before:
    n: int
    s: str


@dataclass
class Added:
    n: float
    s: str
    more: list[int] = field(default_factory=list)


@state_type(aliases={"m": "n"})
@dataclass
class Renamed:
    m: int
    s: str


def resumed(before: StateDescriptor, after: StateDescriptor, value: Any) -> Any:
    store, tables = Store(MemoryBase()), Tables()
    first = StateBackend(store, tables, "op", KeyTable(128))
    handle = first.handle(before)
    first.set_key("k")
    handle.update(value)
    first.flush()
    second = StateBackend(store, Tables(tables.all()), "op", KeyTable(128))
    kept = second.handle(after)
    second.set_key("k")
    return kept.value()


def test_what_the_new_type_reads_as_it_is_stored() -> None:
    found = resumed(ValueStateDescriptor("s", Before), ValueStateDescriptor("s", Added), Before(1, "a"))
    assert found == Added(1.0, "a", [])
    assert resumed(ValueStateDescriptor("s", Types.INT()), ValueStateDescriptor("s", Types.LONG()), 7) == 7
    assert resumed(ValueStateDescriptor("s"), ValueStateDescriptor("s", int), 7) == 7


@pytest.mark.parametrize(
    ("before", "after", "value", "told"),
    [
        (Before, Renamed, Before(1, "a"), "m: was called 'n'"),
        (Types.LONG(), Types.BIG_INT(), 7, "LONG became BIG_INT"),
        (str, int, "a", "str cannot become int"),
        (int | None, Types.LONG(), 7, "checked value by value"),
    ],
)
def test_what_has_to_be_rewritten_is_refused_with_the_way_out(before: Any, after: Any, value: Any, told: str) -> None:
    with pytest.raises(StateError, match="--from-savepoint") as raised:
        resumed(ValueStateDescriptor("s", before), ValueStateDescriptor("s", after), value)
    assert raised.value.code == "STATE_CHANGED"
    assert told in raised.value.text


def test_a_class_that_kept_its_name_is_compared_by_its_fields() -> None:
    other: Any = dataclass(type("Before", (), {"__annotations__": {"n": str, "s": str}}))
    with pytest.raises(StateError, match="n: int cannot become str"):
        resumed(ValueStateDescriptor("s", Before), ValueStateDescriptor("s", other), Before(1, "a"))


def test_a_time_to_live_cannot_come_or_go() -> None:
    living = ValueStateDescriptor("s", int)
    living.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(5)).build())
    with pytest.raises(StateError, match="entries expire"):
        resumed(ValueStateDescriptor("s", int), living, 1)


def test_keys_of_a_map() -> None:
    tables = Tables()
    StateBackend(Store(MemoryBase()), tables, "op", KeyTable(128)).handle(MapStateDescriptor("s", int, int))
    with pytest.raises(StateError, match="key: int became str"):
        StateBackend(Store(MemoryBase()), Tables(tables.all()), "op", KeyTable(128)).handle(
            MapStateDescriptor("s", str, int)
        )


def test_tables_of_earlier_versions_have_no_types() -> None:
    tables = Tables([Table(1, "op", "s", "value", "msgspec:LONG")])
    backend = StateBackend(Store(MemoryBase()), tables, "op", KeyTable(128))
    backend.handle(ValueStateDescriptor("s", Types.LONG()))
    assert tables.all()[0].type == '{"value":{"kind":"int","bits":64}}'
