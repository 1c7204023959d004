"""Batch mode (time-rules 9): elements are processed by key and time, and none is late."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.engine.program.builder import build_program
from penstock.engine.wire.frames import Control
from penstock.errors import TimeError
from penstock.testing import At, Harness, LocalJob, PushSource
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from tests.system.transcripts.operators import LATE, Record, attach

RULES = MapStateDescriptor("rules")
PUSHED = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 30)), max_size=20)


class Recorder(KeyedProcessFunction):
    """Emits what it sees. Its timers register timers, which batch mode does not fire."""

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", int))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        self._count.update((self._count.value() or 0) + 1)
        timers.register_event_time_timer(ctx.timestamp() + 5)
        timers.register_processing_time_timer(1000 - ctx.timestamp())
        yield ctx.get_current_key(), "element", value[1], self._count.value(), timers.current_watermark()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        timers.register_event_time_timer(timestamp + 1)
        timers.register_processing_time_timer(timestamp + 1)
        yield ctx.get_current_key(), ctx.time_domain(), timestamp, self._count.value(), timers.current_watermark()


def expected(pushed: list[tuple[str, int]]) -> dict[str, list[Any]]:
    results: dict[str, list[Any]] = {}
    for key in {k for k, _ in pushed}:
        times = sorted(t for k, t in pushed if k == key)
        count = len(times)
        results[key] = [(key, "element", t, i, MIN_WATERMARK) for i, t in enumerate(times, 1)]
        results[key] += [(key, 0, t, count, MAX_WATERMARK) for t in sorted({t + 5 for t in times})]
        results[key] += [(key, 1, t, count, MAX_WATERMARK) for t in sorted({1000 - t for t in times})]
    return results


def run(pushed: list[tuple[str, int]], groups: int) -> list[Any]:
    env = StreamExecutionEnvironment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    noted = env.from_source(PushSource(), strategy).key_by(lambda v: v[0]).process(Recorder())
    harness = Harness(env, parallelism=groups, batch_mode=True)
    out = harness.collect(noted)
    harness.push_all([At(value, value[1]) for value in pushed])
    harness.end()
    return list(out)


@settings(max_examples=50, deadline=None)
@given(PUSHED)
def test_each_key_sees_its_elements_then_event_timers_then_processing_timers(pushed: list[tuple[str, int]]) -> None:
    out = run(pushed, 1)
    assert {key: [v for v in out if v[0] == key] for key in {k for k, _ in pushed}} == expected(pushed)
    assert [v[0] for v in out] == sorted((v[0] for v in out), key=[v[0] for v in out].index)  # key after key


@settings(max_examples=20, deadline=None)
@given(PUSHED, st.sampled_from([2, 5]))
def test_the_number_of_slots_does_not_matter(pushed: list[tuple[str, int]], groups: int) -> None:
    assert run(pushed, groups) == run(pushed, 1)


@settings(max_examples=30, deadline=None)
@given(st.permutations([At(Record(key, t), t) for key in "ab" for t in (1, 4, 11, 14, 29)]), st.sampled_from([1, 3]))
def test_windows_contain_all_elements_in_any_order(items: list[At], groups: int) -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource(), WatermarkStrategy.for_monotonous_timestamps())
    first = attach(stream, "tumble 10", "first", 0, True)
    harness = Harness(env, parallelism=groups, batch_mode=True)
    out, late = harness.collect(first.map(str)), harness.side_output(LATE)
    then = harness.collect(attach(first, "tumble 20", "second", 0, False).map(str))
    harness.push_all(items)
    harness.end()
    assert sorted(out) == [f"{k}[{a},{a + 10})={n}" for k in "ab" for a, n in ((0, 2), (10, 2), (20, 1))]
    assert sorted(then) == [f"{k}[{a},{a + 20})={n}" for k in "ab" for a, n in ((0, 4), (20, 1))]
    assert late == []


class Both(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), 1, value[1]

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), 2, value[1]


@settings(max_examples=30, deadline=None)
@given(PUSHED, PUSHED)
def test_two_inputs_are_merged_by_time_and_input(left: list[tuple[str, int]], right: list[tuple[str, int]]) -> None:
    env = StreamExecutionEnvironment()
    one = env.from_source(PushSource(), None, "one").key_by(lambda v: v[0])
    two = env.from_source(PushSource(), None, "two").key_by(lambda v: v[0])
    harness = Harness(env, parallelism=2, batch_mode=True)
    out = harness.collect(one.connect(two).process(Both()))
    harness.push_all([At(v, v[1]) for v in left], source="one")
    harness.push_all([At(v, v[1]) for v in right], source="two")
    harness.end()
    for key in "abcd":
        met = sorted([(t, 1) for k, t in left if k == key] + [(t, 2) for k, t in right if k == key])
        assert [v for v in out if v[0] == key] == [(key, number, t) for t, number in met]


class Ruled(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, list(ctx.get_broadcast_state(RULES).keys())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(value, True)
        yield value


@pytest.mark.parametrize("groups", [1, 3])
def test_all_broadcast_elements_come_first(groups: int) -> None:
    env = StreamExecutionEnvironment()
    main = env.from_source(PushSource(), None, "main").key_by(lambda v: v)
    rules = env.from_source(PushSource(), None, "rules").broadcast(RULES)
    harness = Harness(env, parallelism=groups, batch_mode=True)
    out = harness.collect(main.connect(rules).process(Ruled()))
    harness.push_all([At("a", 1), At("b", 1)], source="main")
    harness.push_all([At("r2", 9), At("r1", 5)], source="rules")
    harness.end()
    assert out[: 2 * groups] == ["r2", "r1"] * groups  # from every subtask
    assert sorted(out[2 * groups :]) == [("a", ["r1", "r2"]), ("b", ["r1", "r2"])]


@pytest.mark.parametrize("seed", [0, 3])
def test_materialized_elements_come_completely_and_once(seed: int) -> None:
    env = StreamExecutionEnvironment()
    numbers = env.from_source(PushSource()).map(lambda n: n).materialize()
    harness = Harness(env, parallelism=2, batch_mode=True, seed=seed)
    out, sums = harness.collect(numbers), harness.collect(numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b))
    harness.push_all(range(10))
    harness.end()
    assert (sorted(out), sorted(sums)) == (list(range(10)), [20, 25])


def test_the_state_of_finished_keys_is_discarded() -> None:
    env = StreamExecutionEnvironment()
    env.from_source(PushSource()).key_by(lambda v: v[0]).process(Recorder())
    harness = Harness(env, batch_mode=True)
    harness.push_all([At((key, 1), 1) for key in "abcdef"])
    harness.end()
    assert [state.entries for state in harness.job.states().values()] == [{}]


def test_a_partial_input_is_rejected() -> None:
    env = StreamExecutionEnvironment()
    env.from_source(PushSource()).key_by(lambda v: v[0]).process(Recorder()).print()
    program = build_program(env.set_parallelism(1).graph())
    program.batch_mode = True
    job = LocalJob(program)
    with pytest.raises(TimeError, match="BATCH_WITHOUT_END"):
        job.run([], Control("r", 0, {0: ["0"]}, {}, False), 0)


def test_a_failing_function_is_named() -> None:
    env = StreamExecutionEnvironment()
    env.from_source(PushSource()).key_by(lambda v: v[0]).process(Recorder()).name("noted")
    harness = Harness(env, batch_mode=True)
    harness.push(("a", 1))  # without a timestamp
    with pytest.raises(TimeError, match=r"ELEMENT_WITHOUT_TIMESTAMP.*'noted'.*key 'a'"):
        harness.end()
