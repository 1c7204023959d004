"""Jobs on Spark: partitioning, side outputs, several sinks, resuming, errors, and all kinds of sources."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import (
    CallableSink,
    CollectSink,
    DataGeneratorSource,
    JsonLinesSink,
    ScriptedSource,
    Step,
    json_lines,
)
from penstock.connectors.scripted import Abort, At
from penstock.errors import CheckpointError, ConfigError, JobError, StateError, UserFunctionError
from penstock.spark.job.job import SparkJob
from tests.programs.partitioning import KINDS, check, spread
from tests.system.spark.processes import checkpoint_in, lines_of

pytestmark = pytest.mark.spark


def environment(folder: Path, **options: Any) -> ps.StreamExecutionEnvironment:
    settings = {"execution.checkpointing.dir": str(folder / "checkpoints"), "state.local.dir": str(folder / "local")}
    env = ps.StreamExecutionEnvironment(ps.Configuration({**settings, **options}))
    return env.set_parallelism(2)


def test_every_partitioning_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """One job with a branch and a sink per partitioning."""
    env = environment(tmp_path)
    for kind in KINDS:
        spread(env, kind).sink_to(CollectSink()).name(kind)
    graph = env.graph("partitioning")
    job = SparkJob(graph, env.configuration, env.files)
    job.start()
    job.wait()
    for number, kind in enumerate(KINDS):
        check(kind, job.collected(number), 2)


class Count(ps.KeyedProcessFunction):
    """Counts the elements of a key. Odd counts go to a side output."""

    ODD = ps.OutputTag("odd")

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", ps.Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count % 2:
            yield self.ODD, (ctx.get_current_key(), count)
        else:
            yield ctx.get_current_key(), count


def test_side_outputs_unions_and_several_sinks_in_one_query(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    words = env.from_collection(["a", "b", "a", "a"])
    counts = words.key_by(lambda w: w).process(Count())
    counts.sink_to(JsonLinesSink(tmp_path / "even"))
    odd = counts.get_side_output(Count.ODD)
    odd.union(counts).key_by(lambda c: c[0]).reduce(max).sink_to(JsonLinesSink(tmp_path / "top"))
    words.map(str.upper).sink_to(JsonLinesSink(tmp_path / "words"))
    env.execute()
    assert lines_of(tmp_path / "even") == ['["a",2]']
    assert lines_of(tmp_path / "words") == ['"A"', '"A"', '"A"', '"B"']
    assert lines_of(tmp_path / "top") == ['["a",1]', '["a",2]', '["a",3]', '["b",1]']


def test_collected_elements_are_in_order(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    found = list(env.from_collection(list("banana")).map(str.upper).execute_and_collect())
    assert found == list("BANANA")


def test_an_aborted_job_is_resumed(spark: SparkSession, tmp_path: Path) -> None:
    def job(**options: Any) -> None:
        env = environment(tmp_path, **options)
        steps = [Step({"s": [At("a", 1)]}), Step({"s": [At("a", 2), Abort(), At("b", 3)]}), Step({"s": [At("a", 4)]})]
        env.from_source(ScriptedSource(steps)).key_by(lambda v: v).process(Count()).sink_to(
            JsonLinesSink(tmp_path / "out")
        )
        env.execute()

    with pytest.raises(JobError, match="SCRIPTED_ABORT"):
        job()
    job(**{"execution.resume": checkpoint_in(tmp_path / "checkpoints")})
    assert lines_of(tmp_path / "out") == ['["a",2]']


def test_json_lines_are_read_in_bounded_batches_and_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for file in range(3):
        (folder / f"{file}.json").write_text("".join(json.dumps({"n": file * 1000 + i}) + "\n" for i in range(1000)))
    env = environment(tmp_path)
    rows = env.from_source(json_lines(folder, bytes_per_batch=9_000))
    rows.map(lambda r: r["n"]).sink_to(JsonLinesSink(tmp_path / "out"))
    result = env.execute()
    assert sorted(map(int, lines_of(tmp_path / "out"))) == list(range(3000))
    assert len([b for b in result.batches if b["read"]]) > 3


def test_a_function_that_raises_names_operator_key_and_element(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    env.from_collection([3, 0]).key_by(lambda n: n).map(lambda n: 6 // n).name("divide").print()
    with pytest.raises(UserFunctionError, match=r"'divide'.* raised ZeroDivisionError.*key 0, element 0"):
        env.execute()


def test_a_callable_sink_and_a_rate(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    target = str(tmp_path / "called")

    def write_number(number: int) -> None:
        with open(target, "a") as file:
            file.write(f"{number}\n")

    # Two seconds, so that a slow machine has several batches too.
    env.from_source(DataGeneratorSource(lambda n: n, count=50, rate=25)).sink_to(CallableSink(write_number))
    result = env.execute()
    assert sorted(map(int, Path(target).read_text().split())) == list(range(50))
    assert len([b for b in result.batches if b["read"]]) > 1


@pytest.mark.parametrize("keyed", [True, False])
def test_a_source_that_is_ahead_of_its_alignment_group_is_paused(
    spark: SparkSession, tmp_path: Path, keyed: bool
) -> None:
    """Event time advances ten times faster in the fast source. Alignment keeps it within the maximum drift."""
    env = environment(tmp_path)
    aligned = ps.WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("g", 2_000)

    def stream(step: int, count: int, name: str) -> ps.DataStream[Any]:
        source = DataGeneratorSource(lambda n: (name, n * step), count, records_per_batch=10)
        return env.from_source(source, aligned.with_timestamp_assigner(lambda e, _: e[1]), name)

    both = stream(100, 100, "fast").union(stream(10, 100, "slow"))
    result = both.key_by(lambda e: e[0]).map(lambda e: e) if keyed else both.map(lambda e: e)
    result.sink_to(JsonLinesSink(tmp_path / "out"))
    env.execute()
    highest = {"fast": 0, "slow": 0}
    by_batch: dict[str, list[tuple[str, int]]] = {}
    for file in sorted((tmp_path / "out").glob("part-*.jsonl")):
        by_batch.setdefault(file.name.split("-")[1], []).extend(
            map(tuple, map(json.loads, file.read_text().splitlines()))
        )
    for rows in by_batch.values():
        ahead = highest["fast"] - highest["slow"]
        if ahead > 2_000 and highest["slow"] < 990:
            assert not [r for r in rows if r[0] == "fast"], f"a batch admitted records {ahead} ms ahead"
        for name, time in rows:
            highest[name] = max(highest[name], time)
    assert highest == {"fast": 9_900, "slow": 990}


# -- errors


def counting(folder: Path, state: Any = None, uid: str = "count", parallelism: int = 2, resume: str = "") -> None:
    env = environment(folder, **({"execution.resume": resume} if resume else {}))
    env.set_parallelism(parallelism)

    class StoreLast(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.last = runtime_context.get_state(state or ps.ValueStateDescriptor("kept", ps.Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            self.last.update(value)
            yield value

    env.from_collection([1, 2, 3]).key_by(lambda n: n).process(StoreLast()).uid(uid).sink_to(
        JsonLinesSink(folder / "out")
    )
    env.execute()


def test_resuming_the_checkpoint_of_another_job_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    counting(tmp_path)
    resume = checkpoint_in(tmp_path / "checkpoints")
    with pytest.raises(CheckpointError, match="operator 'count' is gone; operator 'total' is new"):
        counting(tmp_path, uid="total", resume=resume)
    with pytest.raises(CheckpointError, match="parallelism was 2 and is now 1"):
        counting(tmp_path, parallelism=1, resume=resume)
    with pytest.raises(CheckpointError, match="NO_CHECKPOINT"):
        counting(tmp_path, resume=str(tmp_path / "nothing"))


def test_resuming_with_another_state_type_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    steps = [Step({"s": [At("a", 1)]}), Step({"s": [Abort()]}), Step({"s": [At("a", 2)]})]

    def job(descriptor: Any, resume: str = "") -> None:
        env = environment(tmp_path, **({"execution.resume": resume} if resume else {}))

        class StoreLast(ps.KeyedProcessFunction):
            def open(self, runtime_context: ps.RuntimeContext) -> None:
                self.last = runtime_context.get_state(descriptor)

            def process_element(self, value: Any, ctx: Any) -> None:
                self.last.update(self.last.value())

        env.from_source(ScriptedSource(steps)).key_by(lambda v: v).process(StoreLast()).uid("kept").print()
        env.execute()

    with pytest.raises(JobError, match="SCRIPTED_ABORT"):
        job(ps.ValueStateDescriptor("kept", ps.Types.LONG()))
    resume = checkpoint_in(tmp_path / "checkpoints")
    with pytest.raises(StateError, match=r"STATE_CHANGED.*msgspec:STRING.*msgspec:LONG"):
        job(ps.ValueStateDescriptor("kept", ps.Types.STRING()), resume)
    assert env is not None


def test_spark_connect_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(os.environ, "SPARK_REMOTE", "sc://127.0.0.1")
    env = environment(tmp_path)
    env.from_collection([1]).print()
    with pytest.raises(ConfigError, match="SPARK_CONNECT"):
        env.execute()


def test_code_generation_is_off_for_jobs_and_unchanged_for_other_queries(spark: SparkSession, tmp_path: Path) -> None:
    """The plan of a batch contains its timestamp, so Spark would compile code for every batch."""
    compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()  # type: ignore[union-attr]
    env = environment(tmp_path, **{"source.batch.records": 10})
    source = DataGeneratorSource(lambda n: n, 100)
    kept = env.from_source(source, ps.WatermarkStrategy.no_watermarks()).key_by(lambda n: n % 3).map(lambda n: n)
    kept.sink_to(CollectSink())
    settings = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
    before = [spark.conf.get(name) for name in settings]
    first = compiled.getCount()
    result = env.execute()
    assert len(result.batches) >= 10
    assert compiled.getCount() - first < 25, "some at the start, none per batch"
    assert [spark.conf.get(name) for name in settings] == before
