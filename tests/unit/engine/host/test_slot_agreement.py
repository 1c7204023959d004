"""Consistency between slots: relays between levels, and copies of broadcast state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from penstock import KeyedBroadcastProcessFunction, KeyedProcessFunction, MapStateDescriptor, StreamExecutionEnvironment
from penstock.engine.wire.frames import Frame, Relay, decode_bundle
from penstock.errors import CheckpointError, StateError, UserFunctionError
from penstock.local.executor import BatchExecutor
from penstock.testing import At, Harness, PushSource

RULES = MapStateDescriptor("rules")


def harness_with_two_levels() -> Harness:
    env = StreamExecutionEnvironment()
    source = env.from_source(PushSource())
    source.key_by(lambda v: v).reduce(max).key_by(lambda v: v).reduce(max)
    return Harness(env, parallelism=2)


def tamper(harness: Harness, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Changes the frames for the second level."""
    executor = harness.job._executor
    original = BatchExecutor._run_level

    def level(self: BatchExecutor, number: int, bundles: list[Any], timestamp: int) -> Any:
        if number == 2:
            bundles = [
                (slot, to, msgspec.msgpack.encode(change(slot, decode_bundle(blob)))) if to == 2 else (slot, to, blob)
                for slot, to, blob in bundles
            ]
        return original(self, number, bundles, timestamp)

    monkeypatch.setattr(executor, "_run_level", level.__get__(executor))


def drop_relays(slot: int, frames: list[Frame]) -> list[Frame]:
    return [f for f in frames if slot != 1 or not isinstance(f, Relay)]


def duplicate_relays(slot: int, frames: list[Frame]) -> list[Frame]:
    return [*frames, *(f for f in frames if isinstance(f, Relay))]


def test_a_lost_relay_fails_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = harness_with_two_levels()
    harness.push("a")
    tamper(harness, monkeypatch, drop_relays)
    harness.push("b")
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="RELAY_LOST"):
        harness.push("c")


def test_a_duplicated_relay_fails_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = harness_with_two_levels()
    harness.push("a")
    tamper(harness, monkeypatch, duplicate_relays)
    with pytest.raises(CheckpointError, match="RELAY_LOST"):
        harness.push("b")


class StoresRules(KeyedBroadcastProcessFunction):
    """Stores rules. The stored value of the rule "here" differs between subtasks."""

    def open(self, runtime_context: Any) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, dict(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(value, self._index if value == "here" else 0)
        return ()


def rules_harness(parallelism: int, width: int | None = None) -> tuple[Harness, Any]:
    env = StreamExecutionEnvironment()
    main = env.from_source(PushSource(), None, "main").key_by(lambda v: v)
    stream = main.connect(env.from_source(PushSource(), None, "rules").broadcast(RULES)).process(StoresRules())
    if width is not None:
        stream.set_parallelism(width)
    harness = Harness(env, parallelism=parallelism)
    return harness, harness.collect(stream)


def test_different_copies_of_broadcast_state_fail_the_batch() -> None:
    harness, out = rules_harness(2)
    harness.push("fine", source="rules")
    with pytest.raises(StateError, match="BROADCAST_DIFFERS"):
        harness.push("here", source="rules")
    harness.push("a", source="main")
    assert out == [("a", {"fine": 0})]


@pytest.mark.parametrize("scales", [[(3, 1), (2, 2), (4, 3)], [(4, 2), (4, 4), (4, 1)]])
def test_a_restore_copies_broadcast_state_to_all_slots_of_its_operator(scales: list[tuple[int, int]]) -> None:
    saved = None
    for number, (parallelism, width) in enumerate(scales):
        harness, out = rules_harness(parallelism, width)
        if saved is not None:
            harness.restore(saved)
        harness.push(f"r{number}", source="rules")
        harness.push_all([At(key, 1) for key in "abcdef"], source="main")
        assert out == [(key, {f"r{n}": 0 for n in range(number + 1)}) for key in "abcdef"]
        saved = harness.snapshot()


def test_the_keyed_side_cannot_write_broadcast_state() -> None:
    class Writing(StoresRules):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.get_broadcast_state(RULES).put("x", 1)
            return ()

    env = StreamExecutionEnvironment()
    main = env.from_source(PushSource(), None, "main").key_by(lambda v: v)
    main.connect(env.from_source(PushSource(), None, "rules").broadcast(RULES)).process(Writing())
    with pytest.raises(UserFunctionError, match="put"):
        Harness(env).push("a", source="main")


class Forwards(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


def test_materialized_elements_are_emitted() -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v).process(Forwards()).materialize()
    harness = Harness(env, parallelism=2)
    out = harness.collect(stream.key_by(lambda v: v).process(Forwards()))
    harness.push_all(["a", "b"])
    assert out == ["a", "b"]
