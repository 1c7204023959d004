"""Timelines against a plain list: appends, ranges, drops, batches that commit or fail, restarts; and what they write."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.keys import KeyTable
from penstock.runtime.state.backend import StateBackend, Tables
from penstock.runtime.state.timeline import TimelineDescriptor, TimelineHandle
from penstock.runtime.store import MemoryBase, Store
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.types import Types


class Kept:
    """A backend with one timeline, over entries that outlive it."""

    def __init__(self, cached: bool = False, value_type: Any = None) -> None:
        self.base = MemoryBase()
        self.tables = Tables()
        self._settings = cached, value_type
        self.restart()

    def restart(self) -> None:
        cached, value_type = self._settings
        self.store = Store(self.base)
        self.backend = StateBackend(self.store, self.tables, "op", KeyTable(128), cached)
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
        self.backend.forget()
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
@given(told=st.lists(steps, max_size=60), cached=st.booleans(), typed=st.booleans())
def test_equals_a_plain_list(told: list[tuple[Any, ...]], cached: bool, typed: bool) -> None:
    kept = Kept(cached, Types.LONG() if typed else None)
    model: dict[str, list[tuple[int, int]]] = {"a": [], "b": []}
    committed = copy.deepcopy(model)
    for number, (what, *given_) in enumerate(told):
        match what, *given_:
            case "add", key, time:
                kept.at(key).add(time, number)
                model[key].append((time, number))
            case "read", key, lower, width:
                expected = sorted((e for e in model[key] if lower <= e[0] <= lower + width), key=lambda e: e[0])
                assert kept.between(key, lower, lower + width) == expected
            case "drop", key, until:
                kept.at(key).drop(until)
                model[key] = [e for e in model[key] if e[0] > until]
            case ("flush",):
                kept.backend.flush()  # within a batch, as dead letters need it
            case ("commit",):
                kept.commit()
                committed = copy.deepcopy(model)
            case ("restart",):
                kept.restart()
                model = copy.deepcopy(committed)
            case ("fail",):
                kept.fail()
                model = copy.deepcopy(committed)
    kept.commit()
    elements = sum(map(len, model.values()))
    numbered = sum(map(bool, model.values()))
    assert len(kept.base.entries) == elements + numbered  # nothing is left of what was dropped
    kept.restart()
    for key, expected in model.items():
        assert kept.between(key, MIN_WATERMARK, MAX_WATERMARK) == sorted(expected, key=lambda e: e[0])


def test_appending_writes_one_entry_however_many_there_are() -> None:
    kept = Kept()
    for time in range(1000):
        kept.at("a").add(time % 10, time)
    kept.commit()
    kept.at("a").add(5, "one more")
    assert len(kept.commit()) == 2  # the element, and the number of the next one


def test_only_the_time_that_is_asked_for_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    for time in range(1000):
        kept.at("a").add(time, time)
    kept.commit()
    decoded: list[bytes] = []
    decode = kept.timeline._codec.decode

    def counted(data: bytes) -> Any:
        decoded.append(data)
        return decode(data)

    monkeypatch.setattr(kept.timeline._codec, "decode", counted)
    assert [time for time, _ in kept.between("a", 990, 995)] == list(range(990, 996))
    assert len(decoded) == 10
    assert len(kept.between("a", 985, 995)) == 11
    assert len(decoded) == 15  # what was read before is at hand


def test_a_batch_that_drops_what_it_added_writes_nothing() -> None:
    kept = Kept()
    kept.at("a").add(5, "x")
    kept.at("a").drop(5)
    assert kept.commit() == {}


def test_elements_that_can_be_changed_in_place_are_not_cached() -> None:
    kept = Kept(cached=True)
    kept.at("a").add(1, ["x"])
    kept.at("b").add(1, ("x", 1))
    kept.commit()
    kept.between("a", 0, 2)[0][1].append("changed")
    kept.commit()
    assert kept.between("a", 0, 2) == [(1, ["x"])]
    assert kept.between("b", 0, 2) == [(1, ("x", 1))]
