"""The broadcast side runs in every subtask, and what it emits counts from every subtask (time-rules 6.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import penstock as ps
from penstock.functions import DEAD_LETTERS
from penstock.testing import Harness, PushSource
from penstock.time import WatermarkGenerator, WatermarkOutput

RULES = ps.MapStateDescriptor("rules")


class Buffering(ps.KeyedBroadcastProcessFunction):
    """Buffers elements in the function object, and emits them with the next broadcast element."""

    def __init__(self) -> None:
        self._buffer: list[str] = []

    def process_element(self, value: str, ctx: Any) -> Iterable[str]:
        self._buffer.append(value)
        return ()

    def process_broadcast_element(self, value: str, ctx: Any) -> Iterable[str]:
        emitted, self._buffer = self._buffer, []
        return [f"{value}:{element}" for element in emitted]


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_elements_that_functions_buffer_are_not_lost(parallelism: int) -> None:
    harness, out = _harness(Buffering(), parallelism)
    for key in "abcdef":
        harness.push(key, source="main")
    harness.push("r", source="rules")
    assert sorted(out) == [f"r:{key}" for key in "abcdef"]


class Announcing(ps.BroadcastProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: str, ctx: Any) -> Iterable[Any]:
        return ()

    def process_broadcast_element(self, value: str, ctx: Any) -> Iterable[Any]:
        return [("one", value, self._index), ("two", value, self._index)]


def _announced(parallelism: int, own: int | None, seed: int) -> list[Any]:
    env = ps.StreamExecutionEnvironment()
    rules = env.from_source(PushSource(), None, "rules").broadcast(RULES)
    stream = env.from_source(PushSource(), None, "main").connect(rules).process(Announcing())
    if own is not None:
        stream.set_parallelism(own)
    last = stream.key_by(lambda _: 0).process(Forwarding())
    harness = Harness(env, parallelism=parallelism, seed=seed)
    out = harness.collect(last)
    harness.push_all(["r", "s"], source="rules")
    return list(out)


class Forwarding(ps.KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


@pytest.mark.parametrize(("parallelism", "own", "subtasks"), [(1, None, 1), (3, None, 3), (3, 2, 2), (2, 4, 4)])
def test_each_subtask_of_the_operator_emits(parallelism: int, own: int | None, subtasks: int) -> None:
    announced = _announced(parallelism, own, seed=0)
    expected = [(word, rule, index) for rule in "rs" for index in range(subtasks) for word in ("one", "two")]
    assert sorted(announced) == sorted(expected)


def test_the_order_of_the_output_does_not_depend_on_which_subtask_arrives_first() -> None:
    assert len({tuple(_announced(4, None, seed)) for seed in range(5)}) == 1


class Failing(ps.KeyedBroadcastProcessFunction):
    """Fails for a broadcast element in the subtask that has seen elements."""

    def __init__(self) -> None:
        self._seen = 0

    def process_element(self, value: str, ctx: Any) -> Iterable[str]:
        self._seen += 1
        return ()

    def process_broadcast_element(self, value: str, ctx: Any) -> Iterable[str]:
        if self._seen:
            raise ValueError("seen")
        return ()


def test_a_failed_call_in_any_subtask_is_a_dead_letter() -> None:
    env, stream = _stream(Failing())
    harness = Harness(env, parallelism=4)
    dead = harness.collect(stream.get_side_output(DEAD_LETTERS))
    for key in "abcdefgh":
        harness.push(key, source="main")
    harness.push("r", source="rules")
    assert 1 <= len(dead) <= 4
    assert {letter.element for letter in dead} == {"r"}


def _stream(function: ps.KeyedBroadcastProcessFunction) -> tuple[ps.StreamExecutionEnvironment, Any]:
    env = ps.StreamExecutionEnvironment()
    rules = env.from_source(PushSource(), None, "rules").broadcast(RULES)
    keyed = env.from_source(PushSource(), None, "main").key_by(lambda value: value)
    connected = keyed.connect(rules)
    if isinstance(function, Failing):
        return env, connected.process(function, on_error="dead_letter")
    return env, connected.process(function)


def _harness(function: ps.KeyedBroadcastProcessFunction, parallelism: int) -> tuple[Harness, Any]:
    env, stream = _stream(function)
    harness = Harness(env, parallelism=parallelism)
    return harness, harness.collect(stream)


class Both(ps.CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class NoWatermarks(WatermarkGenerator):
    """Runs in subtasks of its own, because it may keep state."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


@pytest.mark.parametrize("split", ["s0", "s1", "s2", "s3"])
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_record_comes_before_the_results_of_broadcasting_it(parallelism: int, split: str) -> None:
    """Otherwise the order between them would depend on which of them arrives first."""
    env = ps.StreamExecutionEnvironment()
    strategy = ps.WatermarkStrategy.for_generator(NoWatermarks)
    rules = env.from_source(PushSource(), strategy, "rules")
    announced = env.from_source(PushSource(), None, "main").connect(rules.broadcast(RULES)).process(Announcing())
    both = announced.set_parallelism(2).connect(rules).process(Both()).key_by(lambda _: 0).process(Forwarding())
    harness = Harness(env, parallelism=parallelism)
    out = harness.collect(both)
    harness.push("r", 1, source="rules", split=split)
    assert out == ["r", ("one", "r", 0), ("two", "r", 0), ("one", "r", 1), ("two", "r", 1)]
