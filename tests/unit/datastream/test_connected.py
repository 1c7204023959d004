"""Connected streams with and without keys, and broadcast streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.errors import PlanError
from penstock.testing import Harness, PushSource


def two(parallelism: int = 2) -> tuple[ps.StreamExecutionEnvironment, ps.DataStream[Any], ps.DataStream[Any]]:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism)
    return env, env.from_source(PushSource(), None, "left"), env.from_source(PushSource(), None, "right")


class Match(ps.CoMapFunction):
    """The right side sets what the left side is multiplied with: shared by both inputs of a subtask."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.opened = getattr(self, "opened", 0) + 1
        self.factor: int | None = None

    def map1(self, value: int) -> Any:
        assert self.opened == 1
        return None if self.factor is None else value * self.factor

    def map2(self, value: int) -> Any:
        self.factor = value
        return f"factor {value}"


def test_one_function_sees_both_streams_without_keys() -> None:
    env, left, right = two(1)
    harness = Harness(env)
    out = harness.collect(left.connect(right).map(Match()))
    harness.push(5, source="left")  # no factor yet: None stands for no element
    harness.push(3, source="right")
    harness.push(5, source="left")
    assert out == ["factor 3", 15]


class KeyedMatch(ps.CoFlatMapFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.kept = runtime_context.get_state(ps.ValueStateDescriptor("kept", int))

    def flat_map1(self, value: tuple[str, int]) -> Any:
        self.kept.update(value[1])

    def flat_map2(self, value: tuple[str, int]) -> Iterator[Any]:
        yield from [(value[0], self.kept.value())] * value[1]


def test_keyed_co_functions_have_state_of_the_key() -> None:
    env, left, right = two()
    harness = Harness(env)
    out = harness.collect(left.connect(right).key_by(lambda e: e[0], lambda e: e[0]).flat_map(KeyedMatch()))
    harness.push(("a", 7), source="left")
    harness.push(("b", 2), source="right")
    harness.push(("a", 2), source="right")
    assert out == [("b", None), ("b", None), ("a", 7), ("a", 7)]


class KeyedCoMap(ps.CoMapFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.kept = runtime_context.get_state(ps.ValueStateDescriptor("kept", str))

    def map1(self, value: str) -> Any:
        self.kept.update(value)

    def map2(self, value: str) -> Any:
        return self.kept.value()


def test_keyed_co_map_keeps_state_and_drops_none() -> None:
    env, left, right = two()
    harness = Harness(env)
    out = harness.collect(left.key_by(str.lower).connect(right.key_by(str.lower)).map(KeyedCoMap()))
    harness.push("A", source="left")
    harness.push("b", source="right")
    harness.push("a", source="right")
    assert out == ["A"]


class Both(ps.CoProcessFunction):
    LEFT = ps.OutputTag("left", str)

    def process_element1(self, value: Any, ctx: ps.CoProcessFunction.Context) -> Iterator[Any]:
        yield self.LEFT, value
        yield value, ctx.timestamp()

    def process_element2(self, value: Any, ctx: ps.CoProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark() < 0


def test_co_process_without_keys_sees_time_and_has_side_outputs() -> None:
    env, left, right = two()
    harness = Harness(env)
    processed = left.connect(right).process(Both())
    out, side = harness.collect(processed), harness.collect(processed.get_side_output(Both.LEFT))
    harness.push("x", 5, source="left")
    harness.push("y", 6, source="right")
    assert (out, side) == ([("x", 5), ("y", True)], ["x"])


class KeyedBoth(ps.KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: ps.KeyedCoProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(10)

    def process_element2(self, value: Any, ctx: ps.KeyedCoProcessFunction.Context) -> None:
        ctx.timer_service().delete_event_time_timer(10)

    def on_timer(self, timestamp: int, ctx: ps.KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.time_domain() == ps.TimeDomain.EVENT_TIME


def test_keyed_co_process_shares_timers() -> None:
    env, left, right = two()
    harness = Harness(env)
    out = harness.collect(left.connect(right).key_by(str, str).process(KeyedBoth()))
    harness.push("a", source="left")
    harness.push("b", source="left")
    harness.push("b", source="right")
    harness.end()
    assert out == [("a", 10, True)]


def test_a_keyed_function_needs_both_keys() -> None:
    _, left, right = two()
    with pytest.raises(PlanError, match="key both streams"):
        left.key_by(str).connect(right).process(KeyedBoth())


def test_streams_of_two_environments_cannot_be_connected() -> None:
    with pytest.raises(PlanError, match="TWO_ENVIRONMENTS"):
        two()[1].connect(two()[1])


RULES = ps.MapStateDescriptor("rules", str, int)


class Beside(ps.BroadcastProcessFunction):
    def process_element(self, value: str, ctx: ps.BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield value, ctx.get_broadcast_state(RULES).get(value), ctx.timestamp(), ctx.current_processing_time()

    def process_broadcast_element(self, value: tuple[str, int], ctx: ps.BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


def test_a_stream_without_keys_connected_with_a_broadcast_stream() -> None:
    env, left, right = two()
    harness = Harness(env)
    out = harness.collect(left.connect(right.broadcast(RULES)).process(Beside()))
    harness.set_time(50)
    harness.push(("a", 1), source="right")
    harness.push("a", 7, source="left")
    assert out == [("a", 1, 7, 50)]


class KeyedBeside(ps.KeyedBroadcastProcessFunction):
    SEEN = ps.ValueStateDescriptor("seen", int)

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.seen = runtime_context.get_state(self.SEEN)

    def process_element(self, value: str, ctx: ps.KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        self.seen.update((self.seen.value() or 0) + 1)
        ctx.timer_service().register_processing_time_timer(10)

    def process_broadcast_element(self, value: int, ctx: ps.KeyedBroadcastProcessFunction.Context) -> Iterator[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(self.SEEN, lambda key, state: found.append((key, state.value() * value)))
        yield from found

    def on_timer(self, timestamp: int, ctx: ps.KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), ctx.time_domain() == ps.TimeDomain.PROCESSING_TIME


def test_a_keyed_stream_connected_with_a_broadcast_stream() -> None:
    env, left, right = two()
    harness = Harness(env)
    out = harness.collect(left.key_by(str).connect(right.broadcast(RULES)).process(KeyedBeside()))
    harness.push_all(["a", "b", "a"], source="left")
    harness.push(10, source="right")
    assert sorted(out.take()) == [("a", 20), ("b", 10)]
    harness.set_time(10)
    assert sorted(out.take()) == [("timer", "a", True), ("timer", "b", True)]


def test_the_kind_of_broadcast_function_must_fit_the_stream() -> None:
    _, left, right = two()
    with pytest.raises(PlanError, match="the stream has a key"):
        left.key_by(str).connect(right.broadcast(RULES)).process(Beside())
    with pytest.raises(PlanError, match="the stream has no key"):
        left.connect(right.broadcast(RULES)).process(KeyedBeside())
