"""Timelines compared with a plain list: appends, ranges, drops, committed and failed batches, restarts, and written entries."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTables
from penstock.runtime.state.timeline import TimelineDescriptor, TimelineHandle
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.types import Types


class TimelineDriver:
    """A state store with one timeline, on entries that survive its restart."""

    def __init__(self, cached: bool = False, value_type: Any = None) -> None:
        self.base = MemoryView()
        self.tables = StateTables()
        self._settings = cached, value_type
        self.restart()

    def restart(self) -> None:
        cached, value_type = self._settings
        self.store = Store(self.base)
        self.backend = KeyedStateStore(self.store, self.tables, "op", KeyTable(128), cached)
        self.timeline: TimelineHandle = self.backend.handle(TimelineDescriptor("line", value_type))

    def at(self, key: str) -> TimelineHandle:
        self.backend.set_key(key)
        return self.timeline

    def commit(self) -> dict[bytes, bytes | None]:
        self.backend.flush()
        changes = self.store.take_changes()
        self.base.apply(changes)
        return changes

    def fail(self) -> None:
        self.backend.discard_batch()
        self.store.take_changes()

    def between(self, key: str, lower: int, upper: int) -> list[tuple[int, Any]]:
        line = self.at(key).since(lower)
        return [(line.times[place], line.values[place]) for place in line.between(lower, upper)]


times = st.integers(-20, 20) | st.sampled_from([MIN_WATERMARK + 1, MAX_WATERMARK - 2])
keys = st.sampled_from("ab")
steps = st.one_of(
    st.tuples(st.just("add"), keys, times),
    st.tuples(st.just("read"), keys, times, st.integers(0, 15)),
    st.tuples(st.just("drop"), keys, times),
    st.tuples(st.sampled_from(["commit", "flush", "fail", "restart"])),
)


@settings(max_examples=300, deadline=None)
@given(steps_taken=st.lists(steps, max_size=60), cached=st.booleans(), typed=st.booleans())
def test_equals_a_plain_list(steps_taken: list[tuple[Any, ...]], cached: bool, typed: bool) -> None:
    driver = TimelineDriver(cached, Types.LONG() if typed else None)
    model: dict[str, list[tuple[int, int]]] = {"a": [], "b": []}
    committed = copy.deepcopy(model)
    for number, (what, *arguments) in enumerate(steps_taken):
        match what, *arguments:
            case "add", key, time:
                driver.at(key).add(time, number)
                model[key].append((time, number))
            case "read", key, lower, width:
                expected = sorted((e for e in model[key] if lower <= e[0] <= lower + width), key=lambda e: e[0])
                assert driver.between(key, lower, lower + width) == expected
            case "drop", key, until:
                driver.at(key).drop(until)
                model[key] = [e for e in model[key] if e[0] > until]
            case ("flush",):
                driver.backend.flush()  # within a batch, as dead letters need it
            case ("commit",):
                driver.commit()
                committed = copy.deepcopy(model)
            case ("restart",):
                driver.restart()
                model = copy.deepcopy(committed)
            case ("fail",):
                driver.fail()
                model = copy.deepcopy(committed)
    driver.commit()
    elements = sum(map(len, model.values()))
    numbered = sum(map(bool, model.values()))
    assert len(driver.base.entries) == elements + numbered  # nothing is left of what was dropped
    driver.restart()
    for key, expected in model.items():
        assert driver.between(key, MIN_WATERMARK, MAX_WATERMARK) == sorted(expected, key=lambda e: e[0])


def test_appending_writes_one_entry_however_long_the_timeline_is() -> None:
    driver = TimelineDriver()
    for time in range(1000):
        driver.at("a").add(time % 10, time)
    driver.commit()
    driver.at("a").add(5, "one more")
    assert len(driver.commit()) == 2  # the element, and the number of the next one


def test_only_the_requested_range_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = TimelineDriver()
    for time in range(1000):
        driver.at("a").add(time, time)
    driver.commit()
    decoded: list[bytes] = []
    decode = driver.timeline._codec.decode

    def count_decoded(data: bytes) -> Any:
        decoded.append(data)
        return decode(data)

    monkeypatch.setattr(driver.timeline._codec, "decode", count_decoded)
    assert [time for time, _ in driver.between("a", 990, 995)] == list(range(990, 996))
    assert len(decoded) == 10
    assert len(driver.between("a", 985, 995)) == 11
    assert len(decoded) == 15  # what was read before is cached


def test_a_batch_that_drops_its_own_elements_writes_nothing() -> None:
    driver = TimelineDriver()
    driver.at("a").add(5, "x")
    driver.at("a").drop(5)
    assert driver.commit() == {}


def test_elements_that_can_be_changed_in_place_are_not_cached() -> None:
    driver = TimelineDriver(cached=True)
    driver.at("a").add(1, ["x"])
    driver.at("b").add(1, ("x", 1))
    driver.commit()
    driver.between("a", 0, 2)[0][1].append("changed")
    driver.commit()
    assert driver.between("a", 0, 2) == [(1, ["x"])]
    assert driver.between("b", 0, 2) == [(1, ("x", 1))]


def test_a_cached_element_before_the_loaded_range_is_not_loaded_twice() -> None:
    driver = TimelineDriver(cached=True)
    driver.at("a").add(5, "first")
    driver.commit()
    driver.restart()
    driver.between("a", 5, 9)  # loads from 5 on
    driver.at("a").add(4, "earlier")
    driver.commit()
    assert driver.between("a", 0, 9) == [(4, "earlier"), (5, "first")]
