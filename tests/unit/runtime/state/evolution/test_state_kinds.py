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
from penstock.runtime.keys import KeyTable
from penstock.runtime.state.backend import StateBackend, Tables
from penstock.runtime.store import MemoryBase, Store
from penstock.savepoints.evolution import (
    AFTER_MIGRATION,
    AS_IS,
    StateDescription,
    resolution,
    saved_state,
)
from penstock.state import StateDescriptor
from tests.evolution.kept import Kept, Spent, TupleBefore, WithDefaults, refused


def test_list_state() -> None:
    kept = Kept(ListStateDescriptor("s", int), lambda handle: handle.add_all([1, 2, 3]))
    _found, handle = kept.given_to(ListStateDescriptor("s", float))
    assert [type(v) for v in handle.get()] == [float] * 3
    handle.add(4.5)
    assert list(handle.get()) == [1.0, 2.0, 3.0, 4.5]


def test_map_state_with_keys_of_all_sorts() -> None:
    keys = ["a", (1, "b"), datetime.date(2026, 1, 1)]
    kept = Kept(
        MapStateDescriptor("s", None, Spent), lambda handle: handle.put_all({k: Spent("x", 1, []) for k in keys})
    )
    _found, handle = kept.given_to(MapStateDescriptor("s", None, WithDefaults))
    assert {k for k, _ in handle.items()} == set(keys)
    assert all(v == WithDefaults("x", 1, []) for v in handle.values())


def test_reducing_and_aggregating_state() -> None:
    class Add:
        def create_accumulator(self) -> Any:
            return 0

        def add(self, value: Any, accumulator: Any) -> Any:
            return accumulator + value

        def get_result(self, accumulator: Any) -> Any:
            return accumulator

        merge = add

    kept = Kept(AggregatingStateDescriptor("s", Add(), int), lambda handle: handle.add(3))
    assert kept.given_to(AggregatingStateDescriptor("s", Add(), float))[1].get() == 3.0
    kept = Kept(ReducingStateDescriptor("s", max, int), lambda handle: handle.add(3))
    assert kept.given_to(ReducingStateDescriptor("s", max, Types.DOUBLE()))[1].get() == 3.0


def test_another_kind_of_state_is_refused() -> None:
    assert "value state became list state" in refused(ValueStateDescriptor("s", int), ListStateDescriptor("s", int))


# -- time to live


def living(descriptor: StateDescriptor, millis: int) -> Any:
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
def test_stamps_are_kept_put_on_and_taken_off(make: Any, fill: Any, read: Any) -> None:
    kept = Kept(living(make(int), 100), fill)
    found, handle = kept.given_to(living(make(float), 100))
    assert (found.verdict, read(handle)) == (AFTER_MIGRATION, 3.0)
    assert read(kept.given_to(living(make(float), 5))[1]) is None  # the stamps are the old ones: 10 ms ago
    assert read(kept.given_to(make(float))[1]) == 3.0
    bare = Kept(make(int), fill)
    assert read(bare.given_to(living(make(int), 100))[1]) == 3
    found, handle = bare.given_to(living(make(float), 5))  # they count from the restore on
    assert read(handle) is None
    assert "expire now" in found.differences[-1]


# -- keys of maps


@dataclass(frozen=True)
class Point:
    x: int
    y: int


@pytest.mark.parametrize(
    ("saved", "wanted"),
    [
        (int, float),
        (Types.INT(), Types.LONG()),
        (Types.LONG(), int),
        (tuple[int, str], tuple[float, str]),
        (tuple[int, int], TupleBefore),
        (None, str),
        (Point, Point),
        (str, Types.STRING()),
    ],
)
def test_keys_that_keep_their_bytes(saved: Any, wanted: Any) -> None:
    tables = Tables()
    StateBackend(Store(MemoryBase()), tables, "op", KeyTable(128)).handle(MapStateDescriptor("s", saved, int))
    found = resolution(saved_state(tables.all()[0]), StateDescription("s", MapStateDescriptor("s", wanted, int)))
    assert found.verdict == AS_IS


@pytest.mark.parametrize(
    ("saved", "wanted"),
    [(int, str), (float, int), (tuple[int], tuple[int, int]), (Point, tuple[int, int]), (Point, TupleBefore)],
)
def test_keys_that_would_move_are_refused(saved: Any, wanted: Any) -> None:
    told = refused(MapStateDescriptor("s", saved, int), MapStateDescriptor("s", wanted, int))
    assert "bytes would be others" in told
