"""Watermarks of custom generators, after operators and of transient splits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import KeyedProcessFunction, StreamExecutionEnvironment, WatermarkGenerator, WatermarkStrategy
from penstock.connectors import Chunk, CollectSink, json_lines
from penstock.engine.program.builder import build_program
from penstock.engine.wire.frames import Control
from penstock.errors import PlanError, UserFunctionError
from penstock.testing import At, Harness, LocalJob, PushSource, ScriptedSource, Step
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from tests.system.transcripts.operators import LATE, Record, attach

BOUNDED = WatermarkStrategy.for_bounded_out_of_orderness


class Seen(KeyedProcessFunction):
    """Emits elements and timers with the current watermark. Timers fire five milliseconds after an element."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", timestamp, ctx.timer_service().current_watermark()


class Highest(WatermarkGenerator):
    """A custom bounded generator that keeps its maximum between batches."""

    def __init__(self) -> None:
        self.highest = MIN_WATERMARK + 3

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.highest = max(self.highest, event_timestamp)
        output.emit_watermark(self.highest - 3)

    def on_periodic_emit(self, output: Any) -> None:
        """Watermarks are emitted in on_event."""


class EveryThird(WatermarkGenerator):
    """Emits a watermark for every third element, counted over all batches."""

    def __init__(self) -> None:
        self.count = 0

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.count += 1
        if self.count % 3 == 0:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        """Watermarks are emitted in on_event."""


class EveryThirdPerBatch(EveryThird):
    per_batch = True


EVENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40)), max_size=12)


def windows(strategy: WatermarkStrategy, batches: list[list[At]], groups: int) -> list[list[str]]:
    env = StreamExecutionEnvironment()
    stream = env.from_source(ScriptedSource([Step({"s0": items}) for items in batches], known=("s0",)), strategy)
    result = attach(stream, "tumble 10", "first", 0, True)
    harness = Harness(env, parallelism=groups)
    out = harness.collect(result.map(str).union(result.get_side_output(LATE).map(lambda r: f"late {r}")))
    harness.run()
    return out.batches


@settings(max_examples=30, deadline=None)
@given(EVENTS, st.lists(st.integers(0, 12), min_size=2, max_size=2), st.sampled_from([1, 3]))
def test_a_custom_bounded_generator_equals_the_built_in_strategy(
    events: list[tuple[str, int]], cuts: list[int], groups: int
) -> None:
    items = [At(Record(key, at), at) for key, at in events]
    low, high = sorted(cuts)
    batches = [items[:low], items[low:high], items[high:]]
    own = windows(WatermarkStrategy.for_generator(Highest), batches, groups)
    assert own == windows(BOUNDED(2), batches, groups)


@pytest.mark.parametrize(
    ("generator", "watermarks"), [(EveryThird, [-1, 3, 3, 6]), (EveryThirdPerBatch, [-1, -1, -1, -1])]
)
def test_a_generator_keeps_its_state_unless_it_is_per_batch(generator: Any, watermarks: list[int]) -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource(), WatermarkStrategy.for_generator(generator))
    stream.key_by(lambda v: v).process(Seen()).uid("seen")
    harness = Harness(env, parallelism=2)
    seen = []
    for batch in ([1, 2], [3, 4], [5], [6]):
        harness.push_all([At("a", t) for t in batch])
        seen.append(harness.watermark("seen"))
    assert [max(w, -1) for w in seen] == watermarks


def test_each_split_has_its_own_generator() -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource(splits=["s0", "s1"]), WatermarkStrategy.for_generator(Highest))
    stream.key_by(lambda v: v).process(Seen()).uid("seen")
    harness = Harness(env, parallelism=3)
    harness.push("a", 10, split="s0")
    assert harness.watermark("seen") == MIN_WATERMARK
    harness.push("a", 20, split="s1")
    assert harness.watermark("seen") == 7


def test_a_stateful_generator_must_follow_a_source() -> None:
    env = StreamExecutionEnvironment()
    keyed = env.from_source(PushSource()).key_by(lambda v: v).process(Seen())
    keyed.assign_timestamps_and_watermarks(WatermarkStrategy.for_generator(Highest)).sink_to(CollectSink())
    with pytest.raises(PlanError, match="GENERATOR_PLACE"):
        Harness(env).push("a", 1)


def chained() -> tuple[StreamExecutionEnvironment, Any]:
    """A watermark strategy after an operator."""
    env = StreamExecutionEnvironment()
    first = env.from_source(PushSource(), BOUNDED(0)).key_by(lambda v: v).process(Seen()).uid("first")
    again = first.assign_timestamps_and_watermarks(BOUNDED(0).with_timestamp_assigner(lambda v, _: v[1] * 2))
    return env, again.key_by(lambda v: v[0]).process(Seen()).uid("second")


@pytest.mark.parametrize("groups", [1, 4])
def test_watermarks_after_an_operator_advance_between_batches(groups: int) -> None:
    env, second = chained()
    harness = Harness(env, parallelism=groups)
    out = harness.collect(second)
    harness.push_all([At("a", 1), At("b", 3)])
    assert harness.watermark("second") == 5
    assert [(stamp, watermark) for _, stamp, watermark in out.take()] == [(2, MIN_WATERMARK), (6, MIN_WATERMARK)]
    harness.push("c", 4)
    assert [(stamp, watermark) for _, stamp, watermark in out.take()] == [(8, 5), (7, 7)]
    assert harness.watermark("second") == 7


def test_watermarks_after_an_operator_ignore_upstream_watermarks_except_the_last() -> None:
    env, second = chained()
    harness = Harness(env)
    harness.collect(second)
    harness.push("a", 3)
    harness.push_watermark(100)  # timer 8 of the first operator fires, and is an element of the second at 16
    assert (harness.watermark("first"), harness.watermark("second")) == (100, 15)
    harness.end()
    assert (harness.watermark("first"), harness.watermark("second")) == (MAX_WATERMARK, MAX_WATERMARK)


def test_in_a_union_elements_after_an_operator_have_the_watermark_before_the_batch() -> None:
    env = StreamExecutionEnvironment()
    first = env.from_source(PushSource(), BOUNDED(0), "left").key_by(lambda v: v).map(lambda v: v)
    again = first.assign_timestamps_and_watermarks(BOUNDED(0))
    right = env.from_source(PushSource(), BOUNDED(0), "right")
    united = again.union(right).key_by(lambda v: v).process(Seen()).uid("united")
    harness = Harness(env, parallelism=2)
    out = harness.collect(united)
    harness.push("a", 11, source="left")
    with harness.batch():
        harness.push("b", 31, source="left")
        harness.push("c", 21, source="right")
    assert harness.watermark("united") == 20
    assert out.batches[1] == [("c", 21, MIN_WATERMARK), ("b", 31, 10), ("timer", 16, 16)]


def test_new_watermarks_of_a_branch_do_not_affect_other_branches() -> None:
    env = StreamExecutionEnvironment()
    first = env.from_source(PushSource(), BOUNDED(0)).key_by(lambda v: v).map(lambda v: v)
    first.assign_timestamps_and_watermarks(BOUNDED(0)).key_by(lambda v: v).process(Seen())
    other = first.key_by(lambda v: v).process(Seen())
    harness = Harness(env)
    out = harness.collect(other)
    harness.push_all([At("a", 11), At("b", 12)])
    assert out == [("a", 11, MIN_WATERMARK), ("b", 12, 10)]


def test_ingestion_time_after_an_operator_is_the_batch_clock() -> None:
    env = StreamExecutionEnvironment()
    first = env.from_source(PushSource()).key_by(lambda v: v).map(lambda v: v)
    stream = first.assign_timestamps_and_watermarks(WatermarkStrategy.for_ingestion_time())
    harness = Harness(env)
    out = harness.collect(stream.key_by(lambda v: v).process(Seen()).uid("seen"))
    harness.set_time(100)
    harness.push("a")
    harness.set_time(103)
    harness.push("b")
    assert out == [("a", 100, 99), ("b", 103, 102)], "set_time runs a batch too, so the watermark is the clock already"
    assert harness.watermark("seen") == 102


def test_the_error_of_a_timestamp_assigner_names_the_element() -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource(), BOUNDED(0).with_timestamp_assigner(lambda v, _: v["at"]))
    harness = Harness(env)
    harness.collect(stream)
    with pytest.raises(UserFunctionError, match=r"KeyError.*element \{'on': 3\}"):
        harness.push_all([{"at": 1}, {"on": 3}])


def test_the_idle_time_of_a_split_starts_when_it_is_known() -> None:
    env = StreamExecutionEnvironment()
    source = env.from_source(PushSource(splits=["s0"]), BOUNDED(0).with_idleness(100))
    source.key_by(lambda v: v).process(Seen()).uid("seen")
    harness = Harness(env)
    harness.push("a", 1, split="s0")
    with harness.batch():
        harness.set_time(5000)
        harness.know("s1")
        harness.push("a", 9, split="s0")
    assert harness.watermark("seen") == 0
    with harness.batch():
        harness.set_time(5101)
        harness.push("a", 10, split="s0")
    assert harness.watermark("seen") == 9


def test_files_of_one_batch_are_concurrent_splits(tmp_path: Path) -> None:
    """Each record has the watermark of its own file. Files that were read completely have ended (time-rules 1.2, 2.6)."""
    for name, times in (("a", [10, 20, 30]), ("b", [5, 6, 7])):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{t}\n" for t in times))
    env = StreamExecutionEnvironment()
    source = json_lines(tmp_path)
    stream = env.from_source(source, BOUNDED(0).with_timestamp_assigner(lambda v, _: v))
    harness = Harness(env)
    out = harness.collect(stream.key_by(lambda v: v).process(Seen()).uid("seen"))
    harness.run(max_batches=1)
    assert harness.watermark("seen") == 29
    seen = {value: watermark for value, _, watermark in out if value != "timer"}
    assert seen == {10: MIN_WATERMARK, 5: MIN_WATERMARK, 6: 4, 7: 5, 20: 9, 30: 19}


def test_a_split_with_unread_data_is_not_idle() -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    source = env.from_source(PushSource(), BOUNDED(0).with_idleness(100))
    source.key_by(lambda v: v).process(Seen()).uid("seen").sink_to(CollectSink())
    for backlogged, watermark in (["s1"], 0), ([], 19):
        job = LocalJob(build_program(env.graph()))
        control = Control("r", None, {0: ["s0", "s1"]}, {}, False)
        job.run([(0, Chunk("s0", 0, ["a"], [1]), []), (0, Chunk("s1", 0, ["a"], [1]), [])], control, 0)
        job.run([(0, Chunk("s0", 1, ["a"], [20]), backlogged)], None, 500)
        assert job.watermarks()["seen"] == watermark


def test_the_clock_never_decreases() -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    env.from_source(PushSource()).key_by(lambda v: v).process(Seen()).sink_to(CollectSink())
    job = LocalJob(build_program(env.graph()))
    for timestamp, now in ((100, 100), (90, 100), (110, 110)):
        job.run([], Control("r", None, {0: ["0"]}, {}, False), timestamp)
        assert [report.processing_time for report in job.reports] == [now]
