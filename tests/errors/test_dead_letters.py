"""on_error="dead_letter": the element goes to a side output, and nothing else of the failed call remains."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.connectors.scripted import At
from penstock.errors import KeyError_, PlanError, StateError, TimeError, UnreadDeadLetters, UnsupportedOperation
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


def looked_at(env: ps.StreamExecutionEnvironment, stream: Any, **options: Any) -> tuple[Harness, Collected, Collected]:
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
def test_every_function_can_put_elements_aside(build: Any, expected: list[int]) -> None:
    env = ps.StreamExecutionEnvironment()
    harness, out, dead = looked_at(env, build(env.from_source(PushSource())))
    harness.push_all([1, 2, 3, 4])
    assert sorted(out) == sorted(expected)
    assert [(d.element, d.error, d.message) for d in dead] == [
        (1, "ValueError", "1 is odd"),
        (3, "ValueError", "3 is odd"),
    ]
    assert sum(harness.dead_letters().values()) == 2


def test_a_letter_says_where_the_element_came_from() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = (
        env.from_source(PushSource(), source_name="numbers").map(half, on_error="dead_letter").name("halve").uid("h")
    )
    harness, _, dead = looked_at(env, stream)
    harness.push_all([At(2, 10), At(5, 20)], split="left")
    assert dead[0] == ps.DeadLetter(
        operator="halve",
        uid="h",
        element=5,
        error="ValueError",
        message="5 is odd",
        place=f"tests/errors/test_dead_letters.py:{half.__code__.co_firstlineno + 2}",
        timestamp=20,
        source="numbers",
        split="left",
        position=1,
    )


def test_a_keyed_letter_has_its_key_and_position_too() -> None:
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource(), source_name="numbers").key_by(lambda n: n % 3)
    harness, _, dead = looked_at(env, keyed.map(half, on_error="dead_letter"), parallelism=2)
    harness.push_all([2, 4, 5], split="left")
    assert [(d.key, d.source, d.split, d.position, d.timestamp) for d in dead] == [(2, "numbers", "left", 2, None)]


def test_timestamps_that_cannot_be_assigned_are_put_aside() -> None:
    class OfField(ps.TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            stamp: int = value["at"]
            return stamp

    strategy = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OfField())
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).assign_timestamps_and_watermarks(strategy, on_error="dead_letter")
    harness, out, dead = looked_at(env, stream)
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
    """Elements that fail, put aside, give what a stream without them gives (timers never fail here)."""
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
        harness, out, dead = looked_at(env, stream, parallelism=2)
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


def test_a_timer_that_fails_is_put_aside_with_its_key() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v[0]).process(Everything(), on_error="dead_letter")
    harness, out, dead = looked_at(env, stream)
    harness.push_all([At(("a", 1, False), 1), At(("a", 2, False), 2)])  # timers at 12 and 14
    harness.push_watermark(20)
    assert [e for e in out if e[0] == "timer"] == [("timer", 14, 1003)], "the sum has no trace of the timer at 12"
    assert [(d.key, d.element, d.timestamp, d.error, d.message) for d in dead] == [
        ("a", None, 12, "RuntimeError", "12")
    ]
    assert harness.next_wake() == 14, "what the failed call registered is gone"


def test_letters_survive_a_snapshot_and_come_once() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v[0]).process(Everything(), on_error="dead_letter")
    harness, _, dead = looked_at(env, stream, parallelism=2)
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


def test_a_broadcast_element_that_fails_in_all_subtasks_is_one_letter() -> None:
    env = ps.StreamExecutionEnvironment()
    rules = env.from_source(PushSource(), source_name="rules").broadcast(Rules.RULES)
    values = env.from_source(PushSource(), source_name="values").key_by(lambda v: v)
    stream = values.connect(rules).process(Rules(), on_error="dead_letter")
    harness, out, dead = looked_at(env, stream, parallelism=3)
    harness.push(5, source="rules")
    harness.push(-1, source="rules")
    harness.push_all(list(range(6)), source="values")
    assert sorted(out) == [(n, 5) for n in range(6)]
    assert [d.element for d in dead] == [-1]
    assert sum(harness.dead_letters().values()) == 1


def test_batch_mode_puts_elements_aside_too() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda n: n % 2).map(half, on_error="dead_letter")
    harness, out, dead = looked_at(env, stream, batch_mode=True)
    harness.push_all([1, 2, 3, 4])
    harness.end()
    assert (sorted(out), sorted(d.element for d in dead)) == ([1, 2], [1, 3])


def test_keys_that_cannot_be_keys_are_put_aside() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v, on_error="dead_letter")
    harness, out, dead = looked_at(env, stream, parallelism=2)
    harness.push_all(["a", None, ["b"], float("nan"), "c"])
    assert sorted(out) == ["a", "c"]
    assert [d.error for d in dead] == ["KeyError_"] * 3
    assert dead[1].message.startswith("The key of an element is ['b'], and a list can change")


def test_several_readers_of_a_key_by_give_one_letter() -> None:
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource()).key_by(half, on_error="dead_letter")
    harness = Harness(env)
    outs = [harness.collect(keyed.map(lambda n: n)), harness.collect(keyed.map(lambda n: -n))]
    dead = harness.collect(keyed.get_side_output(ps.DEAD_LETTERS))
    harness.push_all([1, 2])
    assert ([list(o) for o in outs], [d.element for d in dead]) == ([[2], [-2]], [1])


def test_mistakes_of_the_program_fail_whatever_the_element() -> None:
    class Timed(ps.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.timer_service().register_event_time_timer(1)
            yield value

    env = ps.StreamExecutionEnvironment()
    harness, _, dead = looked_at(env, env.from_source(PushSource()).process(Timed(), on_error="dead_letter"))
    with pytest.raises(TimeError, match="TIMER_WITHOUT_KEY"):
        harness.push(1)
    assert not dead


def test_a_state_value_of_the_wrong_type_fails_and_is_told_with_its_element() -> None:
    class Wrong(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

        def process_element(self, value: Any, ctx: Any) -> None:
            self.count.update(value)

    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: 1).process(Wrong(), on_error="dead_letter")
    harness, _, _ = looked_at(env, stream)
    with pytest.raises(StateError, match=r"State 'count'.*element 'many'"):
        harness.push_all([1, "many"])


def test_unread_letters_are_counted_and_warned_about_once() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    out = harness.collect(env.from_source(PushSource()).map(half, on_error="dead_letter").uid("h"))
    with pytest.warns(UnreadDeadLetters, match="Operator 'h'.*nobody reads them") as told:
        harness.push_all([1, 2])
    harness.push(3)
    assert (list(out), harness.dead_letters(), len(told)) == ([1], {"h": 2}, 1)


def test_the_keyword_is_checked() -> None:
    stream = ps.StreamExecutionEnvironment().from_collection([1])
    with pytest.raises(PlanError, match=r"ON_ERROR.*dead-letter"):
        stream.map(half, on_error="dead-letter")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"NO_DEAD_LETTERS.*'map'"):
        stream.map(half).get_side_output(ps.DEAD_LETTERS)


def test_a_generator_with_memory_cannot_put_elements_aside() -> None:
    class Generator(ps.WatermarkGenerator):
        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
            output.emit_watermark(event_timestamp)

        def on_periodic_emit(self, output: Any) -> None:
            pass

    env = ps.StreamExecutionEnvironment()
    strategy = ps.WatermarkStrategy.for_generator(Generator)
    stream = env.from_source(PushSource()).assign_timestamps_and_watermarks(strategy, on_error="dead_letter")
    harness = Harness(env)
    harness.collect(stream)
    with pytest.raises(UnsupportedOperation, match="DEAD_LETTERS_OF_GENERATOR"):
        harness.push(1)


def test_without_the_keyword_the_job_fails() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).key_by(lambda v: v))
    with pytest.raises(KeyError_, match=r"KEY_IS_NONE.*operator 'key_by'.*element None"):
        harness.push(None)
