"""Batch mode on Spark: one batch job with the same final results as a bounded stream. Sinks commit once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import CollectSink, JsonLinesSink, ScriptedSource, Step, json_lines
from penstock.connectors.scripted import Abort, At
from penstock.errors import CheckpointError, JobError, UserFunctionError
from penstock.spark.job.job import SparkJob
from tests.programs.both_modes import PROGRAMS, STRATEGY, Event
from tests.system.spark.fails_once import LinesFailOnce
from tests.system.spark.processes import lines_of
from tests.system.spark.test_jobs import Count, environment
from tests.unit.engine.host.test_batch_host import results
from tests.waiting import until

pytestmark = pytest.mark.spark

RULES = ps.MapStateDescriptor("rules")
FIXED = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "10 ms"}


def batch(folder: Path, **options: Any) -> ps.StreamExecutionEnvironment:
    return environment(folder, **{"execution.runtime-mode": "BATCH", **options})


def collected(env: ps.StreamExecutionEnvironment, *streams: ps.DataStream[Any]) -> list[list[Any]]:
    """Returns the elements of each stream. The checkpoint folder of the job must be gone afterwards."""
    for stream in streams:
        stream.sink_to(CollectSink())
    job = SparkJob(env.graph(), env.configuration, env.files)
    job.start()
    job.wait()
    assert not Path(job.checkpoint.folder).exists()
    return [job.collected(number) for number in range(len(streams))]


class Totals(ps.KeyedProcessFunction):
    """Sums the numbers of a key and emits the sum at its end. Timers that register timers must end too."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", ps.Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self.total.update((self.total.value() or 0) + value)
        ctx.timer_service().register_event_time_timer(10)
        ctx.timer_service().register_processing_time_timer(2**60)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self.total.value(), ctx.time_domain() == 0
        ctx.timer_service().register_event_time_timer(timestamp + 1)


class Ruled(ps.KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, sorted(ctx.get_broadcast_state(RULES).keys())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value, True)
        yield value, []


class TwoInputs(ps.KeyedCoProcessFunction):
    """Emits elements with the number of their input."""

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), 1, value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), 2, value


def test_keys_are_processed_one_by_one_on_several_levels(spark: SparkSession, tmp_path: Path) -> None:
    """Many small tasks, so that each slot has several partitions of keys."""
    env = batch(tmp_path, **{"source.batch.records": "100"})
    totals = env.from_sequence(1, 1000).key_by(lambda n: n % 50).process(Totals())
    at_end = totals.filter(lambda t: t[2])
    again = at_end.key_by(lambda t: t[0] % 5).map(lambda t: (t[0] % 5, t[1], t[2])).key_by(lambda t: t[0])
    found, sums = collected(env, totals, again.reduce(lambda a, b: (a[0], a[1] + b[1], True)))
    totals_of = {key: sum(n for n in range(1, 1001) if n % 50 == key) for key in range(50)}
    assert sorted(found) == sorted((k, t, event) for k, t in totals_of.items() for event in (True, False))
    assert [found[i : i + 2] for i in range(0, 100, 2)] == [
        [(key, total, True), (key, total, False)] for key, total, _ in found[::2]
    ], "the event-time timers of a key, then its processing-time timers, and no other key between them"
    assert sorted(sums) == [(k, sum(t for key, t in totals_of.items() if key % 5 == k), True) for k in range(5)]


def test_side_outputs_unions_broadcast_and_several_sinks(spark: SparkSession, tmp_path: Path) -> None:
    env = batch(tmp_path)
    words = env.from_collection(["a", "b", "a", "a"])
    counts = words.key_by(lambda w: w).process(Count())
    both = counts.get_side_output(Count.ODD).union(counts)
    rules = env.from_collection(["r1", "r2"]).broadcast(RULES)
    ruled = words.key_by(lambda w: w).connect(rules).process(Ruled())
    met = words.key_by(lambda w: w).connect(env.from_collection(["b", "c"]).key_by(lambda w: w)).process(TwoInputs())
    spread = words.rebalance().map(str.upper)
    found = collected(env, both, both.key_by(lambda c: c[0]).reduce(max), ruled, met, spread)
    assert sorted(found[0]) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert sorted(found[1]) == [("a", 3), ("b", 1)], "one result per key, instead of one per element"
    assert sorted(found[2][:4]) == [("r1", []), ("r1", []), ("r2", []), ("r2", [])]  # from each of two subtasks
    assert sorted(found[2][4:]) == [("a", ["r1", "r2"])] * 3 + [("b", ["r1", "r2"])]
    assert sorted(found[3]) == [("a", 1, "a")] * 3 + [("b", 1, "b"), ("b", 2, "b"), ("c", 2, "c")]
    assert sorted(found[4]) == ["A", "A", "A", "B"]


def test_a_key_gets_its_elements_in_timestamp_order_from_all_splits(spark: SparkSession, tmp_path: Path) -> None:
    env = batch(tmp_path)
    steps = [
        Step({"s0": [At(("a", 9), 9), At(("b", 1), 1)], "s1": [At(("a", 2), 2)]}, clock=7),
        Step({"s1": [At(("a", 4), 4)]}),
    ]
    stream = env.from_source(ScriptedSource(steps), ps.WatermarkStrategy.for_monotonous_timestamps())
    (found,) = collected(env, stream.key_by(lambda v: v[0]).process(Seen()))
    assert [f for f in found if f[0] == "a"] == [("a", t, -(2**63), 7) for t in (2, 4, 9)]
    assert [f for f in found if f[0] == "b"] == [("b", 1, -(2**63), 7)]


def test_every_operator_has_the_same_results_as_in_streaming_mode(spark: SparkSession, tmp_path: Path) -> None:
    """Compares all programs in one batch job, with unordered input, with the harness in streaming mode."""
    left = [Event("abcde"[n % 5], (n * 7) % 60, n) for n in range(60)]
    right = [Event("abcde"[n % 5], (n * 11) % 60, 100 + n) for n in range(60)]
    env = batch(tmp_path, **{"source.batch.records": "15"})
    sides = [env.from_collection(side).assign_timestamps_and_watermarks(STRATEGY) for side in (left, right)]
    found = collected(env, *(program(*sides) for program in PROGRAMS.values()))
    in_order = [sorted(side, key=lambda event: event.time) for side in (left, right)]
    for name, elements in zip(PROGRAMS, found, strict=True):
        assert (name, sorted(map(repr, elements))) == (name, results(name, *in_order))
        assert elements, f"{name} has nothing to compare"


class Seen(ps.KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        yield *value, timers.current_watermark(), timers.current_processing_time()


def test_automatic_mode_is_batch_for_bounded_files(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(3):
        lines = [f'{{"k": "{k}", "n": {n}}}' for n in range(number * 10, number * 10 + 10) for k in "ab"]
        (tmp_path / f"in-{number}.jsonl").write_text("\n".join(lines) + "\n")
    env = environment(tmp_path, **{"execution.runtime-mode": "AUTOMATIC"})
    events = env.from_source(json_lines(tmp_path, pattern="in-*.jsonl"))
    sums = events.map(lambda e: (e["k"], e["n"])).key_by(lambda e: e[0]).sum(1)
    sums.sink_to(JsonLinesSink(tmp_path / "out"))
    result = env.execute()
    assert lines_of(tmp_path / "out") == ['["a",435]', '["b",435]']
    assert result.checkpoint == ""
    assert [r["batch"] for r in result.batches] == [0]
    assert result.get_accumulator_result("source.numRecordsOut") == 60
    assert result.batches[0]["flows"]["sum-1"] == [60, 2]


def test_a_failed_job_is_restarted_from_the_beginning_and_commits_once(spark: SparkSession, tmp_path: Path) -> None:
    env = batch(tmp_path, **FIXED, **{"restart-strategy.fixed-delay.attempts": "2"})
    source = ScriptedSource([Step({"s": ["a", "b"]}), Step({"s": [Abort(), "a"]})])
    counts = env.from_source(source).key_by(lambda w: w).map(lambda w: (w, 1)).key_by(lambda w: w[0]).sum(1)
    counts.sink_to(LinesFailOnce(tmp_path / "counts", tmp_path / "marker"))
    counts.sink_to(JsonLinesSink(tmp_path / "others"))
    result = env.execute()
    assert result.attempts == 3
    for folder in ("counts", "others"):
        assert lines_of(tmp_path / folder) == ['["a",2]', '["b",1]']


def test_an_error_in_a_function_names_operator_and_key(spark: SparkSession, tmp_path: Path) -> None:
    env = batch(tmp_path)
    broken = env.from_collection([("a", 1), ("b", 0)]).key_by(lambda v: v[0]).map(lambda v: 1 // v[1]).name("divide")
    broken.sink_to(JsonLinesSink(tmp_path / "out"))
    with pytest.raises(UserFunctionError, match=r"'divide'.*ZeroDivisionError.*key 'b'"):
        env.execute()
    assert lines_of(tmp_path / "out") == []


def test_a_checkpoint_cannot_be_resumed_in_batch_mode(spark: SparkSession, tmp_path: Path) -> None:
    env = batch(tmp_path, **{"execution.resume": str(tmp_path)})
    env.from_collection([1]).print()
    with pytest.raises(CheckpointError, match="BATCH_RESUME"):
        env.execute()


class Slow(ps.MapFunction):
    """Creates a marker file and sleeps."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def map(self, value: int) -> int:
        self.marker.touch()
        time.sleep(600)
        return value


def test_a_batch_job_can_be_cancelled(spark: SparkSession, tmp_path: Path) -> None:
    env = batch(tmp_path)
    marker = tmp_path / "sleeps"
    env.from_collection([1, 2]).key_by(lambda n: n).map(Slow(marker)).sink_to(JsonLinesSink(tmp_path / "out"))
    client = env.execute_async()
    until(marker.exists)
    began = time.monotonic()
    client.cancel().result()
    assert time.monotonic() - began < 120  # it does not wait for the function
    with pytest.raises(JobError, match="JOB_CANCELED"):
        client.get_job_execution_result().result()
    assert lines_of(tmp_path / "out") == []
