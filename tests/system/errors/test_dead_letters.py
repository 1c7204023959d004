"""on_error="dead_letter": the element goes to a side output, and nothing else of the failed call remains."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.connectors.scripted import At
from penstock.errors import (
    InvalidKeyError,
    PlanError,
    StateError,
    TimeError,
    UnreadDeadLetters,
    UnsupportedOperation,
    UserFunctionError,
)
from penstock.testing import Collected, Harness, PushSource


def half(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def repeated(number: int) -> Iterator[int]:
    yield number
    yield half(number)


class Halves(ps.ProcessFunction):
    SMALL = ps.OutputTag("small")

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        yield self.SMALL, value
        yield half(value)


def run_with_dead_letters(
    env: ps.StreamExecutionEnvironment, stream: Any, **options: Any
) -> tuple[Harness, Collected, Collected]:
    harness = Harness(env, **options)
    return harness, harness.collect(stream), harness.collect(stream.get_side_output(ps.DEAD_LETTERS))


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda s: s.map(half, on_error="dead_letter"), [1, 2]),
        (lambda s: s.flat_map(repeated, on_error="dead_letter"), [2, 1, 4, 2]),
        (lambda s: s.filter(lambda n: half(n) > 1, on_error="dead_letter"), [4]),
        (lambda s: s.process(Halves(), on_error="dead_letter"), [1, 2]),
        (lambda s: s.key_by(lambda n: n).map(half, on_error="dead_letter"), [1, 2]),
        (lambda s: s.key_by(lambda n: n).flat_map(repeated, on_error="dead_letter"), [2, 1, 4, 2]),
        (lambda s: s.key_by(lambda n: n).filter(lambda n: half(n) > 1, on_error="dead_letter"), [4]),
        (lambda s: s.key_by(half, on_error="dead_letter"), [2, 4]),
        (lambda s: s.partition_custom(lambda k, n: half(k) % n, lambda n: n, on_error="dead_letter"), [2, 4]),
    ],
    ids=["map", "flat_map", "filter", "process", "keyed map", "keyed flat_map", "keyed filter", "key_by", "partition"],
)
def test_every_function_can_emit_dead_letters(build: Any, expected: list[int]) -> None:
    env = ps.StreamExecutionEnvironment()
    harness, out, dead = run_with_dead_letters(env, build(env.from_source(PushSource())))
    harness.push_all([1, 2, 3, 4])
    assert sorted(out) == sorted(expected)
    assert [(d.element, d.error, d.message) for d in dead] == [
        (1, "ValueError", "1 is odd"),
        (3, "ValueError", "3 is odd"),
    ]
    assert sum(harness.dead_letters().values()) == 2


def test_a_dead_letter_names_the_source_of_the_element() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = (
        env.from_source(PushSource(), source_name="numbers").map(half, on_error="dead_letter").name("halve").uid("h")
    )
    harness, _, dead = run_with_dead_letters(env, stream)
    harness.push_all([At(2, 10), At(5, 20)], split="left")
    assert dead[0] == ps.DeadLetter(
        operator="halve",
        uid="h",
        element=5,
        error="ValueError",
        message="5 is odd",
        location=f"tests/system/errors/test_dead_letters.py:{half.__code__.co_firstlineno + 2}",
        timestamp=20,
        source="numbers",
        split="left",
        position=1,
    )


def test_a_dead_letter_of_a_keyed_operator_has_key_and_position() -> None:
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource(), source_name="numbers").key_by(lambda n: n % 3)
    harness, _, dead = run_with_dead_letters(env, keyed.map(half, on_error="dead_letter"), parallelism=2)
    harness.push_all([2, 4, 5], split="left")
    assert [(d.key, d.source, d.split, d.position, d.timestamp) for d in dead] == [(2, "numbers", "left", 2, None)]


def test_elements_without_a_valid_timestamp_become_dead_letters() -> None:
    class OfField(ps.TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            stamp: int = value["at"]
            return stamp

    strategy = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OfField())
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).assign_timestamps_and_watermarks(strategy, on_error="dead_letter")
    harness, out, dead = run_with_dead_letters(env, stream)
    harness.push_all([{"at": 3}, {"on": 4}, {"at": None}, {"at": 5}])
    assert out.records == [At({"at": 3}, 3), At({"at": 5}, 5)]
    assert [(d.element, d.error) for d in dead] == [({"on": 4}, "KeyError"), ({"at": None}, "TimeError")]


class Everything(ps.KeyedProcessFunction):
    """Changes every kind of state and both kinds of timers, and then may raise."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.value = runtime_context.get_state(ps.ValueStateDescriptor("value"))
        self.list = runtime_context.get_list_state(ps.ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(ps.MapStateDescriptor("map"))
        self.sum = runtime_context.get_reducing_state(ps.ReducingStateDescriptor("sum", lambda a, b: a + b))

    def process_element(self, value: tuple[str, int, bool], ctx: Any) -> Iterable[Any]:
        _, number, fails = value
        seen = self.value.value()
        if seen is None:
            self.value.update(seen := [])
        seen.append(number)  # in place
        self.list.add(number)
        self.map.put(number % 3, number)
        if number % 5 == 0:
            self.map.remove(0)
        if number % 7 == 0:
            self.list.clear()
        self.sum.add(number)
        timers = ctx.timer_service()
        timers.register_event_time_timer(ctx.timestamp() + 10 + number % 4)
        timers.delete_event_time_timer(ctx.timestamp() + 9)
        yield "emitted", number
        if fails:
            raise ValueError(number)
        yield number, list(seen), list(self.list.get()), sorted(self.map.items()), self.sum.get()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        self.sum.add(1000)
        ctx.timer_service().register_processing_time_timer(timestamp)
        if timestamp % 6 == 0:
            raise RuntimeError(timestamp)
        yield "timer", timestamp, self.sum.get()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("backend", ["lmdb", "hashmap"])
def test_a_failed_call_leaves_no_trace_in_state_and_timers(seed: int, backend: str) -> None:
    """With failing elements as dead letters, results equal those of a stream without them (no timer fails here)."""
    drawn = random.Random(seed)
    elements = [
        At((drawn.choice("abc"), number, drawn.random() < 0.4), number) for number in range(1, 120) if number % 6
    ]

    class NoFailingTimers(Everything):
        def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
            self.sum.add(1000)
            yield "timer", timestamp, self.sum.get()

    def run(elements: list[Any]) -> tuple[list[Any], list[Any]]:
        env = ps.StreamExecutionEnvironment(ps.Configuration({"state.backend": backend}))
        stream = env.from_source(PushSource()).key_by(lambda v: v[0]).process(NoFailingTimers(), on_error="dead_letter")
        harness, out, dead = run_with_dead_letters(env, stream, parallelism=2)
        for at in range(0, 120, 17):
            mine = [e for e in elements if at <= e.timestamp < at + 17]
            with harness.batch():
                harness.push_all(mine)
                harness.push_watermark(at)
        harness.end()
        return sorted(out, key=repr), list(dead)

    out, dead = run(elements)
    assert out == run([e for e in elements if not e.value[2]])[0]
    assert len(dead) == sum(e.value[2] for e in elements) > 0


def test_a_failing_timer_becomes_a_dead_letter_with_its_key() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v[0]).process(Everything(), on_error="dead_letter")
    harness, out, dead = run_with_dead_letters(env, stream)
    harness.push_all([At(("a", 1, False), 1), At(("a", 2, False), 2)])  # timers at 12 and 14
    harness.push_watermark(20)
    assert [e for e in out if e[0] == "timer"] == [("timer", 14, 1003)], "the sum has no trace of the timer at 12"
    assert [(d.key, d.element, d.timestamp, d.error, d.message) for d in dead] == [
        ("a", None, 12, "RuntimeError", "12")
    ]
    assert harness.next_wake() == 14, "what the failed call registered is gone"


def test_dead_letters_survive_a_snapshot_and_are_emitted_once() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v[0]).process(Everything(), on_error="dead_letter")
    harness, _, dead = run_with_dead_letters(env, stream, parallelism=2)
    harness.push_all([At(("a", 1, True), 1), At(("a", 2, False), 2)])
    saved = harness.snapshot()
    harness.push(("a", 3, True), 3)
    assert [d.element[1] for d in dead] == [1, 3]
    second = Harness(env, parallelism=3)
    again = second.collect(stream.get_side_output(ps.DEAD_LETTERS))
    second.restore(saved)
    second.push(("a", 3, True), 3)
    assert [d.element[1] for d in again] == [3]


class Rules(ps.KeyedBroadcastProcessFunction):
    RULES = ps.MapStateDescriptor("rules", str, int)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, ctx.get_broadcast_state(self.RULES).get("limit")

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(self.RULES).put("limit", value)
        if value < 0:
            raise ValueError(value)


def test_a_broadcast_element_that_fails_is_a_dead_letter_of_each_subtask() -> None:
    env = ps.StreamExecutionEnvironment()
    rules = env.from_source(PushSource(), source_name="rules").broadcast(Rules.RULES)
    values = env.from_source(PushSource(), source_name="values").key_by(lambda v: v)
    stream = values.connect(rules).process(Rules(), on_error="dead_letter")
    harness, out, dead = run_with_dead_letters(env, stream, parallelism=3)
    harness.push(5, source="rules")
    harness.push(-1, source="rules")
    harness.push_all(list(range(6)), source="values")
    assert sorted(out) == [(n, 5) for n in range(6)]
    assert [d.element for d in dead] == [-1] * 3
    assert sum(harness.dead_letters().values()) == 3


def test_dead_letters_in_batch_mode() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda n: n % 2).map(half, on_error="dead_letter")
    harness, out, dead = run_with_dead_letters(env, stream, batch_mode=True)
    harness.push_all([1, 2, 3, 4])
    harness.end()
    assert (sorted(out), sorted(d.element for d in dead)) == ([1, 2], [1, 3])


def test_elements_with_invalid_keys_become_dead_letters() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v, on_error="dead_letter")
    harness, out, dead = run_with_dead_letters(env, stream, parallelism=2)
    harness.push_all(["a", None, {"b": 1}, float("nan"), "c"])
    assert sorted(out) == ["a", "c"]
    assert [d.error for d in dead] == ["InvalidKeyError"] * 3
    assert dead[1].message.startswith("The key of an element is {'b': 1}, but a dict has no hash")


def test_several_readers_of_a_key_by_emit_one_dead_letter() -> None:
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource()).key_by(half, on_error="dead_letter")
    harness = Harness(env)
    outs = [harness.collect(keyed.map(lambda n: n)), harness.collect(keyed.map(lambda n: -n))]
    dead = harness.collect(keyed.get_side_output(ps.DEAD_LETTERS))
    harness.push_all([1, 2])
    assert ([list(o) for o in outs], [d.element for d in dead]) == ([[2], [-2]], [1])


def test_programming_errors_fail_the_job() -> None:
    class Timed(ps.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.timer_service().register_event_time_timer(1)
            yield value

    env = ps.StreamExecutionEnvironment()
    harness, _, dead = run_with_dead_letters(
        env, env.from_source(PushSource()).process(Timed(), on_error="dead_letter")
    )
    with pytest.raises(TimeError, match="TIMER_WITHOUT_KEY"):
        harness.push(1)
    assert not dead


def test_an_error_for_a_state_value_of_the_wrong_type_names_the_element() -> None:
    class Wrong(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

        def process_element(self, value: Any, ctx: Any) -> None:
            self.count.update(value)

    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: 1).process(Wrong(), on_error="dead_letter")
    harness, _, _ = run_with_dead_letters(env, stream)
    with pytest.raises(StateError, match=r"State 'count'.*element 'many'"):
        harness.push_all([1, "many"])


def test_unread_dead_letters_are_counted_and_warned_about_once() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    out = harness.collect(env.from_source(PushSource()).map(half, on_error="dead_letter").uid("h"))
    with pytest.warns(UnreadDeadLetters, match="Operator 'h'.*nobody reads") as raised:
        harness.push_all([1, 2])
    harness.push(3)
    assert (list(out), harness.dead_letters(), len(raised)) == ([1], {"h": 2}, 1)


def test_the_on_error_argument_is_checked() -> None:
    stream = ps.StreamExecutionEnvironment().from_collection([1])
    with pytest.raises(PlanError, match=r"ON_ERROR.*dead-letter"):
        stream.map(half, on_error="dead-letter")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"NO_DEAD_LETTERS.*'map'"):
        stream.map(half).get_side_output(ps.DEAD_LETTERS)


class Falling(ps.WatermarkGenerator):
    """Follows the events, counts them, and raises for odd ones after its state has changed."""

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.seen += 1
        output.emit_watermark(event_timestamp + 100 * (event % 2))
        half(event)
        output.emit_watermark(10 * self.seen)

    def on_periodic_emit(self, output: Any) -> None:
        pass


class FallingPerBatch(Falling):
    per_batch = True


class KeyedWatermark(ps.KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


@pytest.mark.parametrize("generator", [Falling, FallingPerBatch])
@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_watermark_generator_emits_dead_letters_and_undoes_their_changes(
    generator: type[Falling], parallelism: int
) -> None:
    def stamp(value: int, before: int) -> int:
        if value == 8:
            raise KeyError("no time")
        return value

    env = ps.StreamExecutionEnvironment()
    strategy = ps.WatermarkStrategy.for_generator(generator).with_timestamp_assigner(stamp)
    timed = env.from_source(PushSource(), source_name="numbers").assign_timestamps_and_watermarks(
        strategy, on_error="dead_letter"
    )
    harness = Harness(env, parallelism=parallelism)
    out = harness.collect(timed.name("clock").uid("c").key_by(lambda v: 0).process(KeyedWatermark()))
    dead = harness.collect(timed.get_side_output(ps.DEAD_LETTERS))
    harness.push_all([2, 5, 4, 8, 7, 6], split="left")
    assert out == [(2, 2, -(2**63)), (4, 4, 10), (6, 6, 20)]  # three events were seen; odd ones moved nothing
    assert sorted((d.element, d.error, d.operator, d.uid, d.source, d.split, d.position) for d in dead) == [
        (5, "ValueError", "clock", "c", "numbers", "left", 1),
        (7, "ValueError", "clock", "c", "numbers", "left", 4),
        (8, "KeyError", "clock", "c", "numbers", "left", 3),
    ]
    assert sum(harness.dead_letters().values()) == 3


@pytest.mark.parametrize("generator", [Falling, FallingPerBatch])
def test_an_error_in_a_watermark_generator_names_operator_location_and_element(generator: type[Falling]) -> None:
    env = ps.StreamExecutionEnvironment()
    strategy = ps.WatermarkStrategy.for_generator(generator)
    timed = env.from_source(PushSource(), source_name="numbers").assign_timestamps_and_watermarks(strategy)
    harness = Harness(env)
    harness.collect(timed.name("clock").uid("c"))
    with pytest.raises(UserFunctionError, match=r"Operator 'clock' \(uid 'c'\) raised ValueError: 3 is odd") as raised:
        harness.push_all([2, 3], split="left")
    failed = raised.value.failed
    assert failed is not None
    line = half.__code__.co_firstlineno + 2
    assert failed.location == f"tests/system/errors/test_dead_letters.py:{line}"
    assert (failed.element, failed.source, failed.split, failed.position) == ("3", "numbers", "left", 1)


def test_an_error_in_a_watermark_generator_after_an_operator() -> None:
    env = ps.StreamExecutionEnvironment()
    strategy = ps.WatermarkStrategy.for_generator(FallingPerBatch)
    sums = env.from_source(PushSource()).key_by(lambda v: v).map(lambda v: v)
    harness = Harness(env)
    harness.collect(sums.assign_timestamps_and_watermarks(strategy).name("clock"))
    with pytest.raises(UserFunctionError, match=r"Operator 'clock'.*3 is odd.*element 3"):
        harness.push(3)


def test_an_error_while_creating_a_watermark_generator_names_its_operator() -> None:
    class Bad(FallingPerBatch):
        def __init__(self) -> None:
            raise OSError("no clock")

    env = ps.StreamExecutionEnvironment()
    timed = env.from_source(PushSource()).assign_timestamps_and_watermarks(ps.WatermarkStrategy.for_generator(Bad))
    harness = Harness(env)
    harness.collect(timed.name("clock"))
    with pytest.raises(UserFunctionError, match=r"Operator 'clock'.*OSError: no clock"):
        harness.push(3)


# -- sinks


def test_a_function_in_add_sink_emits_dead_letters(tmp_path: Path) -> None:
    def take(number: int) -> None:
        with open(tmp_path / "took", "a") as file:
            file.write(f"{half(number)} ")

    env = ps.StreamExecutionEnvironment()
    sink = env.from_source(PushSource(), source_name="numbers").add_sink(take, on_error="dead_letter")
    sink.name("mail").uid("m")
    harness = Harness(env, real_sinks=True)
    letters = sink.get_side_output(ps.DEAD_LETTERS)
    dead = harness.collect(letters.map(lambda d: (d.operator, d.uid, d.element, d.source, d.position)))
    harness.push_all([4, 3, 2, 1])
    assert dead == [("mail", "m", 3, "numbers", 1), ("mail", "m", 1, "numbers", 3)]
    assert (tmp_path / "took").read_text() == "2 1 "
    assert harness.dead_letters() == {"m": 2}


def test_a_sink_that_writes_complete_batches_cannot_emit_dead_letters(tmp_path: Path) -> None:
    stream = ps.StreamExecutionEnvironment().from_source(PushSource())
    with pytest.raises(UnsupportedOperation, match=r"DEAD_LETTERS_OF_SINK.*JsonLinesSink"):
        stream.sink_to(JsonLinesSink(tmp_path), on_error="dead_letter")


def test_a_sink_without_on_error_has_no_dead_letters() -> None:
    sink = ps.StreamExecutionEnvironment().from_source(PushSource()).add_sink(half)
    with pytest.raises(PlanError, match="NO_DEAD_LETTERS"):
        sink.get_side_output(ps.DEAD_LETTERS)


# -- keys of connected streams, rolling aggregates


class Both(ps.KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield 1, value

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield 2, value


def test_invalid_keys_of_connected_streams_become_dead_letters_of_each_input() -> None:
    env = ps.StreamExecutionEnvironment()
    left, right = env.from_source(PushSource(), source_name="l"), env.from_source(PushSource(), source_name="r")
    both = left.connect(right).key_by(half, half, on_error="dead_letter")
    harness = Harness(env)
    out = harness.collect(both.process(Both()))
    dead = [harness.collect(s.get_side_output(ps.DEAD_LETTERS)) for s in (both.stream1, both.stream2)]
    harness.push_all([2, 3], source="l")
    harness.push_all([4, 5], source="r")
    assert sorted(out) == [(1, 2), (2, 4)]
    assert [[d.element for d in side] for side in dead] == [[3], [5]]


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("sum", [("a", 5), ("a", 6)]),
        ("min", [("a", 5), ("a", 1)]),
        ("max", [("a", 5), ("a", 5)]),
        ("min_by", [("a", 5), ("a", 1)]),
        ("max_by", [("a", 5), ("a", 5)]),
    ],
)
def test_rolling_aggregates_emit_dead_letters(aggregate: str, expected: list[tuple[str, int]]) -> None:
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource()).key_by(lambda v: v[0])
    harness, out, dead = run_with_dead_letters(env, getattr(keyed, aggregate)(1, on_error="dead_letter"))
    harness.push_all([("a", 5), ("a", "x"), ("a", 1)])
    assert out == expected
    assert [(d.element, d.error, d.key) for d in dead] == [(("a", "x"), "TypeError", "a")]


# -- elements that do not fit their declared type


class Mixed(ps.ProcessFunction):
    TEXT = ps.OutputTag("text", ps.Types.STRING())

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield self.TEXT, value if value == 6 else str(value)
        yield value


class KeyedMixed(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value if isinstance(value, str) else self.count.value()


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda s: s.map(lambda v: v, ps.Types.INT(), on_error="dead_letter"), [1, 3, 6]),
        (lambda s: s.flat_map(lambda v: [0, v], ps.Types.INT(), on_error="dead_letter"), [0, 1, 0, 3, 0, 6]),
        (lambda s: s.process(Mixed(), ps.Types.INT(), on_error="dead_letter"), [1, 3]),
        (lambda s: s.key_by(lambda v: 0).map(lambda v: v, ps.Types.INT(), on_error="dead_letter"), [1, 3, 6]),
        (lambda s: s.key_by(lambda v: 0).process(KeyedMixed(), ps.Types.INT(), on_error="dead_letter"), [1, 2, 3]),
    ],
    ids=["map", "flat_map", "process", "keyed map", "keyed process"],
)
def test_elements_that_do_not_fit_their_declared_type_become_dead_letters(build: Any, expected: list[int]) -> None:
    env = ps.StreamExecutionEnvironment()
    harness, out, dead = run_with_dead_letters(env, build(env.from_source(PushSource())).name("typed"))
    harness.push_all([1, "two", 3, 6])
    assert out == expected  # what the call did to state is undone: the third call counts two
    assert (dead[0].element, dead[0].error) == ("two", "ElementError")
    assert "'typed'" in dead[0].message
    assert "element 'two'" in dead[0].message
    assert len(dead) == (2 if expected == [1, 3] else 1)  # a side output has a type as well


def test_an_element_whose_key_does_not_fit_the_key_type_becomes_a_dead_letter() -> None:
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource()).key_by(lambda v: v, ps.Types.INT(), on_error="dead_letter")
    harness, out, dead = run_with_dead_letters(env, keyed)
    harness.push_all([1, "two", None, 2**40])
    assert out == [1]
    assert [(d.element, d.error) for d in dead] == [(e, "InvalidKeyError") for e in ("two", None, 2**40)]


def test_without_on_error_the_job_fails() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).key_by(lambda v: v))
    with pytest.raises(InvalidKeyError, match=r"KEY_IS_NONE.*operator 'key_by'.*element None"):
        harness.push(None)
