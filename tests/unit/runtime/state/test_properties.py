"""The guarantees of time-rules 1.10 for every job, checked with random input and real operators in the harness.

Results depend neither on the number of slots, nor on the order in which blobs arrive, nor - for one split, or for splits in
order - on how the input is cut into batches; and what one key emits stays in order.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    OutputTag,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.connectors import Chunk, CollectSink
from penstock.datastream import DataStream
from penstock.engine.program.builder import build_program
from penstock.engine.wire.frames import Control
from penstock.testing import At, Harness, LocalJob, Mark, PushSource, ScriptedSource, Step
from tests.example_numbers import examples
from tests.system.transcripts.operators import LATE, Record, attach

FEW = settings(max_examples=examples(12), deadline=None)

Events = list[At]


def events(keys: str = "abc", late: int = 12, size: int = 14) -> Any:
    """Elements with rising timestamps, some of them very late."""
    one = st.tuples(st.sampled_from(keys), st.integers(0, 60), st.integers(-late, 3))
    return st.lists(one, max_size=size).map(
        lambda results: [
            At(Record(key, max(0, at + off)), max(0, at + off)) for key, at, off in sorted(results, key=lambda e: e[1])
        ]
    )


def cut(items: list[Any], places: list[int]) -> list[list[Any]]:
    ends = [0, *sorted(min(p, len(items)) for p in places), len(items)]
    return [items[low:high] for low, high in itertools.pairwise(ends)]


def by_key(words: Iterable[str]) -> dict[str, list[str]]:
    results: dict[str, list[str]] = {}
    for word in words:
        results.setdefault(word.removeprefix("late ")[0], []).append(word)
    return results


# -- cuts

OPERATORS = [
    ("show", 0, None),
    ("timer+5", 0, None),
    ("timer@20", 0, None),
    ("renew+10<45", 0, None),
    ("tumble 10", 0, "tumble 20"),
    ("tumble 10", 6, "tumble 20"),
    ("slide 10/5", 3, "show"),
    ("session 4", 0, None),
    ("session 4", 5, None),
    ("join 3", 0, "show"),
]


def run(op: str, lateness: int, then: str | None, steps: list[Step], groups: int = 1) -> list[str]:
    env = StreamExecutionEnvironment()
    known = tuple(dict.fromkeys(split for step in steps for split in step.splits))
    source = ScriptedSource(steps, known=known)
    stream = env.from_source(source, WatermarkStrategy.for_bounded_out_of_orderness(2))
    result = attach(stream, op, "first", lateness, True)
    words: DataStream[Any] = result.map(str).union(result.get_side_output(LATE).map(lambda r: f"late {r}"))
    if then is not None:
        words = attach(result, then, "second", lateness, False).map(str)
    harness = Harness(env, parallelism=groups)
    out = harness.collect(words)
    harness.run()
    return list(out)


@pytest.mark.parametrize(("op", "lateness", "then"), OPERATORS)
@FEW
@given(xs=events(), places=st.lists(st.integers(0, 14), min_size=3, max_size=3))
def test_one_split_may_be_divided_into_any_batches(
    op: str, lateness: int, then: str | None, xs: Events, places: list[int]
) -> None:
    whole = run(op, lateness, then, [Step({"s0": xs})])
    parts = run(op, lateness, then, [Step({"s0": part}) for part in cut(xs, places)])
    assert by_key(whole) == by_key(parts)


@FEW
@given(
    xs=events(late=0),
    ys=events(late=0),
    one=st.lists(st.integers(0, 14), min_size=4, max_size=4),
    other=st.lists(st.integers(0, 14), min_size=4, max_size=4),
)
def test_two_ordered_splits_may_be_divided_into_any_batches(
    xs: Events, ys: Events, one: list[int], other: list[int]
) -> None:
    xs, ys = (sorted(each, key=lambda e: e.timestamp) for each in (xs, ys))
    whole = run("tumble 10", 0, None, [Step({"s0": xs, "s1": ys})])
    steps = [Step({"s0": p, "s1": q}) for p, q in zip(cut(xs, one), cut(ys, other), strict=True)]
    parts = run("tumble 10", 0, None, steps)
    assert sorted(whole) == sorted(parts)
    assert not any(word.startswith("late") for word in parts)


@FEW
@given(xs=events(), ys=events(), places=st.lists(st.integers(0, 14), min_size=2, max_size=2))
def test_a_record_that_is_not_late_in_its_split_is_never_late(xs: Events, ys: Events, places: list[int]) -> None:
    steps = [Step({"s0": p, "s1": q}) for p, q in zip(cut(xs, places), cut(ys, places), strict=True)]
    late = [word for word in run("tumble 10", 0, None, steps) if word.startswith("late")]
    alone = [word for each in (xs, ys) for word in run("tumble 10", 0, None, [Step({"s0": each})])]
    assert set(late) <= set(alone)


# -- slots, blobs and branches

SIDE = OutputTag("side")
RULES = MapStateDescriptor("rules")


class Busy(KeyedProcessFunction):
    """Counts per key, registers future and past timers, renews them, and has a side output."""

    def __init__(self, name: str) -> None:
        self._name = name

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", int))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        at = value[2]  # what processing timers emit has no timestamp
        timers.register_event_time_timer(at + 5)
        timers.register_event_time_timer(at - 9)
        timers.register_processing_time_timer(timers.current_processing_time() + at % 4)
        yield from self._emit(ctx, f"{value[1]}", at)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        if ctx.time_domain() == 0 and timestamp < 80:
            if timestamp % 3 == 0:
                timers.register_event_time_timer(timestamp - 2)
            if timestamp % 4 == 0:
                timers.register_event_time_timer(timestamp + 7)
        yield from self._emit(ctx, f"!{timestamp}", timestamp)

    def _emit(self, ctx: Any, what: str, at: int) -> Iterable[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        watermark = ctx.timer_service().current_watermark()
        key = ctx.get_current_key()
        yield key, f"{self._name}{count}({what})", at
        if count % 3 == 0:
            yield SIDE, (key, f"{self._name}{count}side", at)
        if count % 4 == 0:
            yield key, f"{self._name}{count}again at {watermark}", at


class Ruled(KeyedBroadcastProcessFunction):
    """Emits the rules that it has; rule q emits what each key has seen."""

    def open(self, runtime_context: Any) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", str))
        self._emits_rules = runtime_context.get_index_of_this_subtask() == 0  # results do not depend on the parallelism

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._seen.update(value[1][:20])
        yield value[0], f"{value[1]} by {''.join(ctx.get_broadcast_state(RULES).keys())}", value[2]

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(value, True)
        if value == "r":
            if self._emits_rules:
                yield "rule", value, 0
            return
        changed: list[Any] = []
        ctx.apply_to_keyed_state(ValueStateDescriptor("seen", str), partial(_record, changed))
        yield from changed


def _record(changed: list[Any], key: str, state: Any) -> None:
    changed.append((key, f"had {state.value()}", 0))


def first_letter(value: Any) -> str:
    return str(value[0])


def length(value: Any) -> int:
    return len(value[1]) % 3


def deep_job() -> tuple[StreamExecutionEnvironment, dict[str, DataStream[Any]]]:
    """Branches, their union, side outputs, a broadcast stream, another key, and new watermarks in between."""
    env = StreamExecutionEnvironment()
    source = env.from_source(
        PushSource(splits=["s0", "s1"]), WatermarkStrategy.for_bounded_out_of_orderness(2), "events"
    )
    rules = env.from_source(PushSource(), None, "rules")
    first = source.key_by(first_letter).process(Busy("A")).uid("A")
    other = source.filter(lambda v: v[2] % 2 == 0).map(lambda v: (v[0], v[1] + "f", v[2])).key_by(first_letter)
    beside = other.process(Busy("B")).uid("B")
    united = first.union(first.get_side_output(SIDE), beside, source.map(lambda v: (v[0], "raw", v[2])))
    second = united.key_by(length).process(Busy("C")).uid("C")
    again = second.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(1).with_timestamp_assigner(lambda v, _: v[2])
    )
    third = again.key_by(first_letter).process(Busy("D")).uid("D")
    ruled = second.key_by(length).connect(rules.broadcast(RULES)).process(Ruled()).uid("ruled")
    return env, {"A": first, "C": second, "D": third, "side": second.get_side_output(SIDE), "ruled": ruled}


BATCHES = st.lists(
    st.tuples(events("abcdef", 8, 5), events("abcdef", 8, 5), st.integers(0, 3), st.sampled_from(["", "", "r", "q"])),
    min_size=1,
    max_size=3,
)


def run_deep(batches: list[Any], groups: int, seed: int, backend: str = "lmdb") -> dict[str, list[list[Any]]]:
    env, streams = deep_job()
    env.configuration.set("state.backend", backend)
    harness = Harness(env, parallelism=groups, seed=seed)
    outs = {name: harness.collect(stream) for name, stream in streams.items()}
    for number, (xs, ys, passed, rule) in enumerate(batches):
        with harness.batch():
            for split, each in (("s0", xs), ("s1", ys)):
                items = [At((e.value.key, f"{number}{split}{i}", e.timestamp), e.timestamp) for i, e in enumerate(each)]
                harness.push_all(items, source="events", split=split)
            harness.advance_time(passed)
            if rule:
                harness.push(rule, source="rules")
    harness.advance_time(10)
    harness.end()
    return {name: out.batches for name, out in outs.items()}


@FEW
@given(batches=BATCHES)
def test_results_do_not_depend_on_slots_or_on_the_order_of_blobs(batches: list[Any]) -> None:
    one = run_deep(batches, 1, 0)
    for groups, seed, backend in ((2, 1, "lmdb"), (5, 2, "hashmap")):
        other = run_deep(batches, groups, seed, backend)
        for name in one:
            # Rules are applied to the keys slot by slot, so only the words of each key are in order there.
            arranged = sorted_by_key if name == "ruled" else list
            assert [arranged(b) for b in one[name]] == [arranged(b) for b in other[name]]


def sorted_by_key(batch: list[Any]) -> list[Any]:
    return sorted(batch, key=lambda value: str(value[0]))


@FEW
@given(batches=BATCHES)
def test_the_emissions_of_a_key_stay_in_order_through_three_levels(batches: list[Any]) -> None:
    out = run_deep(batches, 3, 0)
    for name in ("A", "C", "D"):
        counts: dict[Any, int] = {}
        for key, word, _ in (value for batch in out[name] for value in batch):
            if (results := re.match(r"\w(\d+)\(", word)) is not None:
                assert int(results[1]) == counts.get(key, 0) + 1
                counts[key] = int(results[1])


class InOrder(KeyedProcessFunction):
    """Fails if the numbers from one sender do not rise."""

    def open(self, runtime_context: Any) -> None:
        self._last = runtime_context.get_map_state(MapStateDescriptor("last", str, int))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        sender, number = value
        assert number > (self._last.get(sender) or -1), value
        self._last.put(sender, number)
        yield value


class Numbered(KeyedProcessFunction):
    """Numbers the emissions of a key, from elements and from timers."""

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", int))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 3)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() - 3)
        return self._next(ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        if timestamp % 5 == 0 and timestamp < 80:
            ctx.timer_service().register_event_time_timer(timestamp - 1)
        return self._next(ctx)

    def _next(self, ctx: Any) -> Iterable[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield ctx.get_current_key(), count


@pytest.mark.parametrize("again", [False, True], ids=["as they come", "with new watermarks between"])
@FEW
@given(batches=st.lists(st.tuples(events("abcdef", 8, 8), events("abcdef", 8, 8)), min_size=1, max_size=3))
def test_elements_of_one_key_reach_the_next_operator_in_order(again: bool, batches: list[Any]) -> None:
    env = StreamExecutionEnvironment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(2)
    numbered = env.from_source(PushSource(), strategy).key_by(lambda r: r.key).process(Numbered())
    if again:
        numbered = numbered.assign_timestamps_and_watermarks(strategy)
    checked = numbered.key_by(lambda v: "all").process(InOrder())
    harness = Harness(env, parallelism=3)
    out = harness.collect(checked.key_by(lambda v: v[0]).process(InOrder()))
    for xs, ys in batches:
        with harness.batch():
            harness.push_all(xs, split="s0")
            harness.push_all(ys, split="s1")
    harness.end()
    assert len(out) >= sum(len(xs) + len(ys) for xs, ys in batches)


@FEW
@given(
    xs=events("abcd", 8, 10),
    keep=st.dictionaries(st.integers(0, 9), st.integers(0, 3)),
    marks=st.lists(st.integers(0, 60), max_size=3),
)
def test_branches_of_a_stream_are_merged_in_one_order(xs: Events, keep: dict[int, int], marks: list[int]) -> None:
    def run_with(groups: int, seed: int) -> list[Any]:
        env = StreamExecutionEnvironment()
        source = env.from_source(PushSource())
        left = source.filter(lambda v: keep.get(v[1], 3) in (1, 3)).flat_map(
            lambda v: [(v[0], v[1], "l"), (v[0], v[1], "L")]
        )
        right = source.filter(lambda v: keep.get(v[1], 3) > 1).map(lambda v: (v[0], v[1], "r"))
        united = left.union(right, source).key_by(lambda v: v[0]).reduce(lambda a, b: b)
        harness = Harness(env, parallelism=groups, seed=seed)
        out, direct = harness.collect(united), harness.collect(left.union(right))
        items: list[Any] = [At((x.value.key, i), x.timestamp) for i, x in enumerate(xs)]
        for place, mark in enumerate(sorted(marks)):
            items.insert(place * 3, Mark(mark))
        harness.push_all(items)
        return [list(out), list(direct)]

    assert run_with(1, 0) == run_with(2, 1) == run_with(5, 2)


@FEW
@given(
    xs=events("abc", 12, 14),
    places=st.lists(st.integers(0, 14), min_size=2, max_size=3),
    order=st.permutations(range(4)),
)
def test_a_split_may_come_in_any_number_of_chunks(xs: Events, places: list[int], order: list[int]) -> None:
    """As if several tasks read parts of one split in one batch."""

    def run_chunks(parts: list[list[At]]) -> dict[str, list[str]]:
        env = StreamExecutionEnvironment().set_parallelism(2)
        stream = env.from_source(PushSource(), WatermarkStrategy.for_bounded_out_of_orderness(2))
        result = attach(stream, "tumble 10", "first", 0, True)
        words = result.map(str).union(result.get_side_output(LATE).map(lambda r: f"late {r}"))
        words.sink_to(CollectSink())
        chunks, start = [], 0
        for part in parts:
            chunks.append(Chunk("s0", start, [e.value for e in part], [e.timestamp for e in part]))
            start += len(part)
        tasks = [chunks[i] for i in order if i < len(chunks)]
        job = LocalJob(build_program(env.graph()))
        control = Control("r", 0, {0: ["s0"]}, {}, True)
        (out,) = job.run([(0, task, []) for task in tasks], control, 0)
        return by_key(out)

    assert run_chunks([xs]) == run_chunks(cut(xs, places))
