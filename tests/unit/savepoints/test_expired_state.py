"""Time to live of state in savepoints: expired entries, and the clock that restored entries expire by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.savepoints import open_savepoint
from penstock.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.testing import Harness, PushSource
from penstock.ttl import StateTtlConfig


def config(millis: int, full_snapshot: bool) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(ps.Duration.of_millis(millis)).disable_cleanup_in_background()
    return (builder.cleanup_full_snapshot() if full_snapshot else builder).build()


class Recent(ps.KeyedProcessFunction):
    """Stores the last element, all elements, and all elements by value."""

    def __init__(self, ttl: StateTtlConfig | None) -> None:
        self._ttl = ttl

    def open(self, runtime_context: Any) -> None:
        last, items, seen = (
            ValueStateDescriptor("last", int),
            ListStateDescriptor("items", int),
            MapStateDescriptor("seen", int, int),
        )
        for descriptor in (last, items, seen):
            if self._ttl is not None:
                descriptor.enable_time_to_live(self._ttl)
        self.last = runtime_context.get_state(last)
        self.items = runtime_context.get_list_state(items)
        self.seen = runtime_context.get_map_state(seen)

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        key, number = value
        if number >= 0:
            self.last.update(number)
            self.items.add(number)
            self.seen.put(number, number)
        yield key, self.last.value(), list(self.items.get()), sorted(self.seen.keys())


def job(ttl: StateTtlConfig | None) -> tuple[Harness, Any]:
    env = ps.StreamExecutionEnvironment()
    events = env.from_source(PushSource(), source_name="events").uid("events").key_by(lambda e: e[0], key_type=str)
    stream = events.process(Recent(ttl)).uid("recent")
    harness = Harness(env)
    return harness, harness.collect(stream)


def entries(saved: str) -> dict[str, int]:
    (operator,) = open_savepoint(saved).manifest.operators
    return {state.name: state.entries for state in operator.states if state.entries}


def take_savepoint(folder: Path, ttl: StateTtlConfig | None) -> str:
    """At time 150 with a time to live of 100: `a` has expired, of `b` one of two elements."""
    harness, _ = job(ttl)
    harness.push_all([("a", 1), ("b", 2)])
    harness.set_time(90)
    harness.push(("b", 3))
    harness.set_time(150)
    return harness.savepoint(folder / "saved")


def test_savepoints_have_no_expired_entries_with_cleanup_in_full_snapshots(tmp_path: Path) -> None:
    saved = take_savepoint(tmp_path, config(100, full_snapshot=True))
    assert entries(saved) == {"last": 1, "items": 2, "seen": 1}  # a list has an entry for its bounds
    restored, out = job(config(100, full_snapshot=True))
    restored.restore_savepoint(saved).push_all([("a", -1), ("b", -1)])
    assert out == [("a", None, [], []), ("b", 3, [3], [3])]


def test_savepoints_have_expired_entries_without_it_as_in_flink(tmp_path: Path) -> None:
    saved = take_savepoint(tmp_path, config(100, full_snapshot=False))
    assert entries(saved) == {"last": 2, "items": 5, "seen": 3}
    longer, out = job(config(1000, full_snapshot=False))
    longer.restore_savepoint(saved).push(("a", -1))
    assert out == [("a", 1, [1], [1])]


def test_expired_entries_of_a_savepoint_are_not_restored(tmp_path: Path) -> None:
    """For example if cleanup in full snapshots was configured after the savepoint was taken."""
    saved = take_savepoint(tmp_path, config(100, full_snapshot=False))
    restored, out = job(config(100, full_snapshot=True))
    restored.restore_savepoint(saved)
    names = {t.number: t.name for state in restored.job.states().values() for t in state.meta.tables}
    keys = [key for state in restored.job.states().values() for key in state.entries]
    loaded = [names[int.from_bytes(key[:2], "big")] for key in keys]
    assert sorted(loaded) == ["items", "items", "last", "seen"]
    restored.push_all([("a", -1), ("b", -1)])
    assert out == [("a", None, [], []), ("b", 3, [3], [3])]


@pytest.mark.parametrize("full_snapshot", [False, True])
def test_state_that_gets_a_time_to_live_expires_by_the_clock_of_the_job(tmp_path: Path, full_snapshot: bool) -> None:
    saved = take_savepoint(tmp_path, None)
    restored, out = job(config(100, full_snapshot))
    restored.restore_savepoint(saved)
    restored.set_time(249)
    restored.push(("a", -1))
    restored.set_time(250)
    restored.push(("a", -1))
    assert out == [("a", 1, [1], [1]), ("a", None, [], [])]
