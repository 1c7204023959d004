"""The public API of the test harness."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    Configuration,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.connectors import CollectSink, JsonLinesSink, NumberSequenceSource, Offset, json_lines
from penstock.errors import PlanError, UserFunctionError
from penstock.state import ValueState
from penstock.testing import At, Harness, Mark, PushSource, ScriptedSource, Step
from penstock.time import MAX_WATERMARK, MIN_WATERMARK

ODD = OutputTag("odd")


class Count(KeyedProcessFunction):
    """Counts elements per key, and emits the count again on a timer."""

    def open(self, runtime_context: Any) -> None:
        self._count: ValueState[int] = runtime_context.get_state(ValueStateDescriptor("count", int))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        if ctx.timestamp() is not None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        else:
            ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 10)
        yield value, count

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), "at", timestamp, self._count.value()


class Odd(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield (ODD, value) if value % 2 else value


def environment(*names: str, strategy: WatermarkStrategy | None = None) -> tuple[StreamExecutionEnvironment, Any]:
    """Returns an environment with push sources, whose union is counted."""
    env = StreamExecutionEnvironment()
    first, *others = [env.from_source(PushSource(), strategy, name) for name in names or ("source",)]
    return env, first.union(*others).key_by(lambda value: value).process(Count()).uid("count")


def test_each_push_is_a_batch() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)
    harness.push("a")
    harness.push("a")
    assert out.batches == [[("a", 1)], [("a", 2)]]
    assert out == [("a", 1), ("a", 2)]


def test_take_returns_new_elements() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)
    harness.push("a")
    assert out.take() == [("a", 1)]
    harness.push("b")
    assert out.take() == [("b", 1)]
    assert out.take() == []


def test_elements_pushed_in_a_batch_are_processed_in_one_batch() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)
    with harness.batch():
        harness.push("a")
        harness.push("b")
    harness.push_all(["a", "b"])
    assert out.batches == [[("a", 1), ("b", 1)], [("a", 2), ("b", 2)]]


def test_a_batch_block_that_raises_pushes_nothing() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)

    def fail_in_batch() -> None:
        with harness.batch():
            harness.push("a")
            raise KeyError

    with pytest.raises(KeyError):
        fail_in_batch()
    harness.push("b")
    assert out == [("b", 1)]


def test_a_watermark_takes_effect_immediately() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)
    harness.push("a", 5)
    assert harness.watermark() == MIN_WATERMARK
    harness.push_watermark(14)
    assert harness.watermark() == 14
    assert out.take() == [("a", 1)]
    harness.push_watermark(15)
    assert out.take() == [("a", "at", 15, 1)]


def test_results_have_timestamps() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)
    harness.push_all([At("a", 5), Mark(20)])
    assert out.records == [At(("a", 1), 5), At(("a", "at", 15, 1), 15)]


def test_watermarks_of_the_strategy_are_combined_with_pushed_ones() -> None:
    env, counts = environment(strategy=WatermarkStrategy.for_bounded_out_of_orderness(3))
    harness = Harness(env)
    harness.collect(counts)
    harness.push("a", 10)
    assert harness.watermark(counts) == 6
    harness.push_watermark(8)
    assert harness.watermark("count") == 8
    harness.push("a", 20)
    assert harness.watermark("process") == 16


def test_elements_after_a_watermark_in_their_batch_see_it() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(3)
    env, counts = environment(strategy=strategy)
    harness = Harness(env)
    out = harness.collect(counts)
    harness.push_all([At("a", 0), Mark(10), At("b", 0), Mark(30)])
    assert out == [("a", 1), ("a", "at", 10, 1), ("b", 1), ("b", "at", 10, 1)]


def test_processing_time_takes_effect_immediately() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)
    harness.set_time(100)
    harness.push("a")
    assert harness.next_wake() == 110
    harness.advance_time(9)
    assert out.take() == [("a", 1)]
    harness.advance_time(1)
    assert out.take() == [("a", "at", 110, 1)]
    assert harness.next_wake() is None


def test_the_clock_never_goes_back() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)
    harness.set_time(100)
    harness.set_time(50)
    harness.push("a")
    harness.set_time(110)
    assert out == [("a", 1), ("a", "at", 110, 1)]


def test_the_end_fires_event_timers_and_no_input_is_possible_after_it() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)
    harness.push("a", 5)
    harness.end()
    assert out == [("a", 1), ("a", "at", 15, 1)]
    assert harness.watermark() == MAX_WATERMARK
    with pytest.raises(PlanError, match="HARNESS_ENDED"):
        harness.push("b", 6)


def test_the_end_without_any_elements() -> None:
    env, counts = environment()
    harness = Harness(env)
    harness.collect(counts)
    harness.end()
    assert harness.watermark() == MAX_WATERMARK


def test_time_waits_for_every_source() -> None:
    env, counts = environment("left", "right", strategy=WatermarkStrategy.for_monotonous_timestamps())
    harness = Harness(env)
    harness.collect(counts)
    harness.push("a", 10, source="left")
    assert harness.watermark() == MIN_WATERMARK
    harness.push("a", 20, source="right", split="any")
    assert harness.watermark() == 9
    harness.end(source="left")
    assert harness.watermark() == 19


def test_time_waits_for_declared_splits() -> None:
    env, counts = environment(strategy=WatermarkStrategy.for_monotonous_timestamps())
    harness = Harness(env)
    harness.collect(counts)
    harness.know("s0", "s1")
    harness.push("a", 10)
    assert harness.watermark() == MIN_WATERMARK
    harness.push("a", 5, split="s1")
    assert harness.watermark() == 4
    harness.end(split="s1")
    assert harness.watermark() == 9


def test_a_source_can_declare_its_splits() -> None:
    env = StreamExecutionEnvironment()
    counts = env.from_source(PushSource(splits=["s0", "s1"])).key_by(lambda v: v).process(Count())
    harness = Harness(env)
    harness.collect(counts)
    harness.push_watermark(5, split="s1")
    assert harness.watermark() == MIN_WATERMARK
    harness.push_watermark(3)
    assert harness.watermark() == 3


def test_a_new_run_does_not_count_downtime_as_idle() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(100)
    env, counts = environment(strategy=strategy)
    for new_run, watermark in ((True, 0), (False, 49)):
        harness = Harness(env)
        harness.collect(counts)
        harness.know("s0", "s1")
        with harness.batch():
            harness.push("a", 1, split="s0")
            harness.push("a", 1, split="s1")
        if new_run:
            harness.begin_run()
        with harness.batch():
            harness.set_time(5000)
            harness.push("a", 50, split="s0")
        assert harness.watermark() == watermark


def test_side_outputs_are_collected_by_tag() -> None:
    env = StreamExecutionEnvironment()
    even = env.from_source(PushSource()).process(Odd())
    harness = Harness(env)
    main, side, of = harness.collect(even), harness.side_output(ODD), harness.side_output(ODD, of=even)
    harness.push_all([1, 2, 3])
    assert (main, side, of) == ([2], [1, 3], [1, 3])


def test_sinks_of_the_pipeline_are_collected_and_not_written(tmp_path: Path) -> None:
    env, counts = environment()
    counts.sink_to(JsonLinesSink(tmp_path / "out")).name("files")
    harness = Harness(env)
    harness.push("a")
    assert harness.sink("files") == [("a", 1)]
    assert not (tmp_path / "out").exists()


def test_real_sinks_are_written_if_requested(tmp_path: Path) -> None:
    env, counts = environment()
    counts.sink_to(JsonLinesSink(tmp_path / "out"))
    Harness(env, real_sinks=True).push("a")
    assert [f.read_text() for f in (tmp_path / "out").glob("*.jsonl")] == ['["a",1]\n']


def test_the_environment_is_not_changed() -> None:
    env, counts = environment()
    harness = Harness(env)
    harness.collect(counts)
    harness.push("a")
    with pytest.raises(PlanError, match="NO_SINK"):
        env.set_parallelism(1).graph()


def test_a_pipeline_without_collected_streams_runs() -> None:
    env, _ = environment()
    harness = Harness(env)
    harness.push("a", 7)
    harness.push_watermark(7)
    assert harness.watermark() == 7


def test_bounded_sources_run_to_their_end() -> None:
    env = StreamExecutionEnvironment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    stream = env.from_collection([3, 5, 3]).assign_timestamps_and_watermarks(strategy)
    harness = Harness(env, parallelism=2)
    out = harness.collect(stream.key_by(lambda value: value).process(Count()))
    harness.run()
    assert out == [(3, 1), (5, 1), (3, 2), (3, "at", 13, 2), (5, "at", 15, 1)]


def test_files_are_read_in_batches(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text("".join(f'["{name}", {n}]\n' for n in range(3)))
    env = StreamExecutionEnvironment()
    harness = Harness(env)
    out = harness.collect(env.from_source(json_lines(tmp_path, bytes_per_batch=15)))
    harness.run()
    assert sorted(out) == [[name, n] for name in "ab" for n in range(3)]
    assert len([batch for batch in out.batches if batch]) > 1


def test_reading_continues_after_a_restore() -> None:
    env = StreamExecutionEnvironment()
    counts = env.from_source(ScriptedSource([Step({"s": ["a"]}), Step({"s": ["b"]}), Step({"s": ["a"]})]))
    stream = counts.key_by(lambda value: value).process(Count())
    first = Harness(env)
    out = first.collect(stream)
    first.run(max_batches=2)
    assert out == [("a", 1), ("b", 1)]
    second = Harness(env, parallelism=3)
    out = second.collect(stream)
    second.restore(first.snapshot()).run()
    assert out == [("a", 2)]


def test_a_failed_batch_changes_nothing() -> None:
    env = StreamExecutionEnvironment()
    checked = env.from_source(PushSource()).key_by(lambda value: value).process(Count()).map(lambda c: c[0] + "!")
    harness = Harness(env)
    out = harness.collect(checked)
    harness.push("a")
    before = harness.snapshot()
    with pytest.raises(UserFunctionError):
        harness.push_all(["a", 7])
    assert harness.snapshot() == before
    harness.push("b")
    assert out == ["a!", "b!"]


def test_a_script_can_be_fed_step_by_step() -> None:
    env, counts = environment()
    harness = Harness(env)
    out = harness.collect(counts)
    harness.feed(Step({"s0": ["a"]}, clock=5))
    harness.feed(Step({"s0": ["a"]}, clock=15, end=True))
    assert out.batches == [[("a", 1)], [("a", "at", 15, 1), ("a", 2)]]


def test_in_batch_mode_all_input_is_one_batch() -> None:
    env, counts = environment()
    harness = Harness(env, batch_mode=True)
    out = harness.collect(counts)
    harness.push("a", 9)
    harness.push("a", 2)
    assert out.batches == []
    harness.end()
    assert out.records == [At(("a", 1), 2), At(("a", 2), 9), At(("a", "at", 12, 2), 12), At(("a", "at", 19, 2), 19)]


def test_in_batch_mode_sources_are_read_in_one_batch() -> None:
    env = StreamExecutionEnvironment()
    steps = [Step({"s": [At("a", 9)]}), Step({"s": [At("a", 2)]})]
    stream = env.from_source(ScriptedSource(steps)).key_by(lambda value: value).process(Count())
    harness = Harness(env, batch_mode=True)
    out = harness.collect(stream)
    harness.run()
    assert [r.timestamp for r in out.records] == [2, 9, 12, 19]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda harness: harness.push("a", source="nowhere"), "NO_SUCH_SOURCE"),
        (lambda harness: harness.push("a"), "NO_SUCH_SOURCE"),
        (lambda harness: harness.sink("nowhere"), "NO_SUCH_SINK"),
        (lambda harness: harness.watermark("nowhere"), "NO_SUCH_OPERATOR"),
    ],
)
def test_an_unknown_or_missing_name_is_an_error(call: Any, code: str) -> None:
    env, _ = environment("left", "right")
    with pytest.raises(PlanError, match=code):
        call(Harness(env))


def test_a_stream_cannot_be_collected_after_the_start() -> None:
    env, counts = environment()
    harness = Harness(env)
    harness.push("a")
    with pytest.raises(PlanError, match="HARNESS_STARTED"):
        harness.collect(counts)


class LifeCycle(ProcessFunction):
    """Writes calls of open and close to a file."""

    def open(self, runtime_context: Any) -> None:
        self._log = Path(runtime_context.get_job_parameter("log", ""))
        self._log.write_text("open")

    def close(self) -> None:
        self._log.write_text(self._log.read_text() + " close")

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


def test_functions_are_opened_and_closed(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment()
    env.set_job_parameters({"log": str(tmp_path / "log")})
    env.from_source(PushSource()).process(LifeCycle()).sink_to(CollectSink())
    with Harness(env) as harness:
        harness.push(1)
    assert (tmp_path / "log").read_text() == "open close"


class CommitRecorder(NumberSequenceSource):
    """Records the offsets for which it was notified of a commit."""

    def __init__(self) -> None:
        super().__init__(1, 10, records_per_batch=4)
        self.committed_offsets: list[Offset] = []

    def committed(self, offset: Offset) -> None:
        self.committed_offsets.append(offset)


def test_a_source_is_notified_of_committed_offsets() -> None:
    env = StreamExecutionEnvironment()
    source = CommitRecorder()
    harness = Harness(env)
    out = harness.collect(env.from_source(source))
    harness.run(max_batches=1)
    assert (list(out), source.committed_offsets) == ([1, 2, 3, 4], [{"n": 4}])
    source.records_per_batch = 1  # limits may change while a job runs
    harness.run()
    assert source.committed_offsets == [{"n": n} for n in (4, 5, 6, 7, 8, 9, 10, 10)]  # the last one is the end


def test_levels_of_loggers(caplog: pytest.LogCaptureFixture) -> None:
    """The options `python.logging.*` apply only while functions run."""

    def log(value: Any) -> Any:
        logging.getLogger().debug("root %s", value)
        logging.getLogger("mine").debug("hidden %s", value)
        logging.getLogger("mine").info("mine %s", value)
        return value

    settings = {"python.logging.default.level": "DEBUG", "python.logging.level.overrides": "mine: INFO"}
    env = StreamExecutionEnvironment(Configuration(settings))
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).map(log))
    harness.push(1)
    assert [line.text for line in harness.logs] == ["root 1", "mine 1"]
    assert logging.getLogger("mine").level == logging.NOTSET
