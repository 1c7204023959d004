"""What slots must agree on: relays between levels, and copies of broadcast state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from penstock import KeyedBroadcastProcessFunction, KeyedProcessFunction, MapStateDescriptor, StreamExecutionEnvironment
from penstock.engine.frames import Frame, Relay, decode_bundle
from penstock.errors import CheckpointError, StateError, UserFunctionError
from penstock.testing import At, Harness, PushSource
from penstock.testing.local import LocalJob

RULES = MapStateDescriptor("rules")


def two_levels() -> Harness:
    env = StreamExecutionEnvironment()
    source = env.from_source(PushSource())
    source.key_by(lambda v: v).reduce(max).key_by(lambda v: v).reduce(max)
    return Harness(env, parallelism=2)


def tamper(harness: Harness, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Changes the frames on their way to the second level."""
    job = harness.job
    original = LocalJob._level

    def level(self: LocalJob, number: int, bundles: list[Any], timestamp: int) -> Any:
        if number == 2:
            bundles = [
                (slot, to, msgspec.msgpack.encode(change(slot, decode_bundle(blob)))) if to == 2 else (slot, to, blob)
                for slot, to, blob in bundles
            ]
        return original(self, number, bundles, timestamp)

    monkeypatch.setattr(job, "_level", level.__get__(job))


def lose_relays(slot: int, frames: list[Frame]) -> list[Frame]:
    return [f for f in frames if slot != 1 or not isinstance(f, Relay)]


def double_relays(slot: int, frames: list[Frame]) -> list[Frame]:
    return [*frames, *(f for f in frames if isinstance(f, Relay))]


def test_a_relay_that_was_lost_fails_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = two_levels()
    harness.push("a")
    tamper(harness, monkeypatch, lose_relays)
    harness.push("b")
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="RELAY_LOST"):
        harness.push("c")


def test_a_doubled_relay_fails_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = two_levels()
    harness.push("a")
    tamper(harness, monkeypatch, double_relays)
    with pytest.raises(CheckpointError, match="RELAY_LOST"):
        harness.push("b")


class Ruled(KeyedBroadcastProcessFunction):
    """Keeps rules; a rule "here" is kept in another way by each subtask."""

    def open(self, runtime_context: Any) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, dict(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(value, self._index if value == "here" else 0)
        return ()


def ruled(parallelism: int, width: int | None = None) -> tuple[Harness, Any]:
    env = StreamExecutionEnvironment()
    main = env.from_source(PushSource(), None, "main").key_by(lambda v: v)
    stream = main.connect(env.from_source(PushSource(), None, "rules").broadcast(RULES)).process(Ruled())
    if width is not None:
        stream.set_parallelism(width)
    harness = Harness(env, parallelism=parallelism)
    return harness, harness.collect(stream)


def test_copies_of_broadcast_state_that_differ_fail_the_batch() -> None:
    harness, out = ruled(2)
    harness.push("fine", source="rules")
    with pytest.raises(StateError, match="BROADCAST_DIFFERS"):
        harness.push("here", source="rules")
    harness.push("a", source="main")
    assert out == [("a", {"fine": 0})]


@pytest.mark.parametrize("scales", [[(3, 1), (2, 2), (4, 3)], [(4, 2), (4, 4), (4, 1)]])
def test_broadcast_state_is_moved_to_as_many_slots_as_its_operator_has(scales: list[tuple[int, int]]) -> None:
    saved = None
    for number, (parallelism, width) in enumerate(scales):
        harness, out = ruled(parallelism, width)
        if saved is not None:
            harness.restore(saved)
        harness.push(f"r{number}", source="rules")
        harness.push_all([At(key, 1) for key in "abcdef"], source="main")
        assert out == [(key, {f"r{n}": 0 for n in range(number + 1)}) for key in "abcdef"]
        saved = harness.snapshot()


def test_the_reading_side_cannot_write() -> None:
    class Writing(Ruled):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.get_broadcast_state(RULES).put("x", 1)
            return ()

    env = StreamExecutionEnvironment()
    main = env.from_source(PushSource(), None, "main").key_by(lambda v: v)
    main.connect(env.from_source(PushSource(), None, "rules").broadcast(RULES)).process(Writing())
    with pytest.raises(UserFunctionError, match="put"):
        Harness(env).push("a", source="main")


class Counting(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


def test_materialized_elements_are_those_of_the_first_attempt() -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v).process(Counting()).materialize()
    harness = Harness(env, parallelism=2)
    out = harness.collect(stream.key_by(lambda v: v).process(Counting()))
    harness.push_all(["a", "b"])
    assert out == ["a", "b"]
