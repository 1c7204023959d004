"""Each kind of state, with and without a time to live, and the keys of maps."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import (
    AggregatingStateDescriptor,
    Duration,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    Types,
    ValueStateDescriptor,
)
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTables
from penstock.savepoints.evolution import (
    AFTER_MIGRATION,
    AS_IS,
    DeclaredState,
    resolve_state,
    saved_state,
)
from penstock.state import StateDescriptor
from tests.unit.runtime.state.evolution.keyed_jobs import Add
from tests.unit.runtime.state.evolution.saved_state_driver import (
    SavedStateDriver,
    Spent,
    TupleBefore,
    WithDefaults,
    rejection,
)


def test_list_state() -> None:
    driver = SavedStateDriver(ListStateDescriptor("s", int), lambda handle: handle.add_all([1, 2, 3]))
    _found, handle = driver.restore_as(ListStateDescriptor("s", float))
    assert [type(v) for v in handle.get()] == [float] * 3
    handle.add(4.5)
    assert list(handle.get()) == [1.0, 2.0, 3.0, 4.5]


def test_map_state_with_keys_of_all_types() -> None:
    keys = ["a", (1, "b"), datetime.date(2026, 1, 1)]
    driver = SavedStateDriver(
        MapStateDescriptor("s", None, Spent), lambda handle: handle.put_all({k: Spent("x", 1, []) for k in keys})
    )
    _found, handle = driver.restore_as(MapStateDescriptor("s", None, WithDefaults))
    assert {k for k, _ in handle.items()} == set(keys)
    assert all(v == WithDefaults("x", 1, []) for v in handle.values())


def test_reducing_and_aggregating_state() -> None:
    driver = SavedStateDriver(AggregatingStateDescriptor("s", Add(), int), lambda handle: handle.add(3))
    assert driver.restore_as(AggregatingStateDescriptor("s", Add(), float))[1].get() == 3.0
    driver = SavedStateDriver(ReducingStateDescriptor("s", max, int), lambda handle: handle.add(3))
    assert driver.restore_as(ReducingStateDescriptor("s", max, Types.DOUBLE()))[1].get() == 3.0


def test_another_kind_of_state_is_rejected() -> None:
    assert "value state became list state" in rejection(ValueStateDescriptor("s", int), ListStateDescriptor("s", int))


# -- time to live


def with_ttl(descriptor: StateDescriptor, millis: int) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(millis)).build())
    return descriptor


@pytest.mark.parametrize(
    ("make", "fill", "read"),
    [
        (lambda t: ValueStateDescriptor("s", t), lambda h: h.update(3), lambda h: h.value()),
        (lambda t: ListStateDescriptor("s", t), lambda h: h.add_all([3]), lambda h: next(iter(h.get()), None)),
        (lambda t: MapStateDescriptor("s", str, t), lambda h: h.put("a", 3), lambda h: h.get("a")),
    ],
)
def test_timestamps_are_preserved_added_and_removed(make: Any, fill: Any, read: Any) -> None:
    driver = SavedStateDriver(with_ttl(make(int), 100), fill)
    resolution, handle = driver.restore_as(with_ttl(make(float), 100))
    assert (resolution.verdict, read(handle)) == (AFTER_MIGRATION, 3.0)
    assert read(driver.restore_as(with_ttl(make(float), 5))[1]) is None  # the stamps are the old ones: 10 ms ago
    assert read(driver.restore_as(make(float))[1]) == 3.0
    bare = SavedStateDriver(make(int), fill)
    assert read(bare.restore_as(with_ttl(make(int), 100))[1]) == 3
    resolution, handle = bare.restore_as(with_ttl(make(float), 5))  # they count from the restore on
    assert read(handle) is None
    assert "now expire" in resolution.differences[-1]


# -- keys of maps


@dataclass(frozen=True)
class Point:
    x: int
    y: int


@pytest.mark.parametrize(
    ("saved", "current"),
    [
        (Types.INT(), float),
        (Types.INT(), Types.LONG()),
        (Types.LONG(), int),
        (tuple[int, int], TupleBefore),
        (None, str),
        (Point, Point),
        (str, Types.STRING()),
    ],
)
def test_keys_whose_encoding_stays_the_same(saved: Any, current: Any) -> None:
    tables = StateTables()
    KeyedStateStore(Store(MemoryView()), tables, "op", KeyTable(128)).handle(MapStateDescriptor("s", saved, int))
    resolution = resolve_state(saved_state(tables.all()[0]), DeclaredState("s", MapStateDescriptor("s", current, int)))
    assert resolution.verdict == AS_IS


@pytest.mark.parametrize(
    ("saved", "current"),
    [(int, str), (float, int), (tuple[int], tuple[int, int]), (Point, tuple[int, int]), (Point, TupleBefore)],
)
def test_keys_whose_encoding_would_change_are_rejected(saved: Any, current: Any) -> None:
    message = rejection(MapStateDescriptor("s", saved, int), MapStateDescriptor("s", current, int))
    assert "would change" in message
