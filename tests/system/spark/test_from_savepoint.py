"""Jobs on Spark that start from a savepoint: tests of each documented guarantee of a restore."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis as redis_client
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import CollectSink, Encoder, FileSink, ScriptedSource, Step
from penstock.connectors.redis import RedisMapper, RedisSink
from penstock.connectors.scripted import At, Mark
from penstock.datastream import DataStream
from penstock.errors import CheckpointError
from penstock.spark.job.job import SparkJob
from penstock.state import MapStateDescriptor, ValueStateDescriptor
from penstock.testing import Harness
from tests.unit.connectors.contracts.sqlite import TableSink

KEYS = 40


class Counts(ps.KeyedProcessFunction):
    """Counts the elements of a key. Emits the count after a second without elements, and its state at the end of time."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", int))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", int, int))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.put(value, count)
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 1000)
        ctx.timer_service().register_event_time_timer(10_000)
        yield f"{ctx.get_current_key()}: {count}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        values = sorted(self.seen.keys())
        yield f"{ctx.get_current_key()} at {timestamp}: {self.count.value()} of {values}"


class Totals(ps.KeyedProcessFunction):
    """Sums the lengths of texts by their first letter."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", int))

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        total = (self.total.value() or 0) + len(value)
        self.total.update(total)
        yield f"{ctx.get_current_key()} has {total}"


def steps() -> list[Step]:
    """Elements, then steps without elements in which processing-time timers fire, then the end of event time."""
    elements = [Step({"s": [At(n, n) for n in range(first, first + KEYS)]}, clock=100) for first in (0, 10, 20)]
    silent = [Step({}, clock=500), Step({}, clock=2000), Step({"s": [Mark(20_000)]}, clock=2100)]
    return [*elements, *silent]


def counts(env: ps.StreamExecutionEnvironment, script: list[Step]) -> DataStream[str]:
    source = env.from_source(ScriptedSource(script, known=("s",)), source_name="numbers").uid("numbers")
    return source.key_by(lambda n: n % KEYS).process(Counts()).uid("counts")


def environment(folder: Path, parallelism: int, groups: int = 128, **options: Any) -> ps.StreamExecutionEnvironment:
    settings = {"execution.checkpointing.dir": str(folder / "checkpoints"), "state.local.dir": str(folder / "local")}
    env = ps.StreamExecutionEnvironment(ps.Configuration({**settings, **options}))
    return env.set_parallelism(parallelism).set_max_parallelism(groups)


def run(env: ps.StreamExecutionEnvironment, keep_open: bool = True) -> tuple[list[Any], SparkJob]:
    """Returns the elements of the last sink, and the job. With `keep_open` there is no final watermark."""
    job = SparkJob(env.graph("restored"), env.configuration, env.files)
    job.keep_open = keep_open
    job.start()
    job.wait()
    return job.collected(len(job.program.sinks) - 1), job


def from_savepoint(path: str) -> dict[str, Any]:
    return {"execution.state-recovery.path": path}


def saved(folder: Path, until: int, parallelism: int = 2, groups: int = 128) -> tuple[str, list[Any]]:
    """Takes a savepoint after some steps. Returns its path and the output after it of an uninterrupted run."""
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism).set_max_parallelism(groups)
    stream = counts(env, steps())
    harness = Harness(env)
    out = harness.collect(stream)
    harness.run(max_batches=until)
    path = harness.savepoint(folder / "savepoint")
    before = len(out)
    harness.run(max_batches=len(steps()) - until)
    return path, list(out)[before:]


@pytest.mark.spark
@pytest.mark.parametrize(("parallelism", "groups"), [(3, 128), (1, 50)])
def test_a_job_is_restored_with_state_and_timers_at_any_parallelism(
    spark: SparkSession, tmp_path: Path, parallelism: int, groups: int
) -> None:
    path, expected = saved(tmp_path, until=2)
    env = environment(tmp_path, parallelism, groups, **from_savepoint(path))
    counts(env, steps()).sink_to(CollectSink())
    found, job = run(env)
    assert sorted(found) == sorted(expected)
    assert json.loads(Path(job.checkpoint.folder, "penstock", "job.json").read_text())["from_savepoint"] == path
    assert job.run is not None
    assert job.run.entry.from_savepoint == path


@pytest.mark.spark
def test_slots_without_new_elements_are_restored_and_their_timers_fire(spark: SparkSession, tmp_path: Path) -> None:
    path, expected = saved(tmp_path, until=3)  # after it only the clock and the watermark advance
    assert len(expected) == 2 * KEYS
    env = environment(tmp_path, 3, **from_savepoint(path))
    counts(env, steps()).sink_to(CollectSink())
    found, _ = run(env)
    assert sorted(found) == sorted(expected)


@pytest.mark.spark
def test_a_restored_job_can_be_resumed(spark: SparkSession, tmp_path: Path) -> None:
    path, expected = saved(tmp_path, until=1)
    env = environment(tmp_path, 3, **from_savepoint(path))
    counts(env, steps()[:3]).sink_to(CollectSink())
    first, job = run(env)
    resume: dict[str, Any] = {"execution.resume": job.checkpoint.folder}
    env = environment(tmp_path, 3, **resume)
    counts(env, steps()).sink_to(CollectSink())
    second, resumed = run(env)
    assert sorted(first + second) == sorted(expected)
    assert resumed.checkpoint.from_savepoint == path


@pytest.mark.spark
def test_a_changed_job_keeps_matching_state_and_starts_new_operators_empty(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, expected = saved(tmp_path, until=2)
    env = environment(tmp_path, 2, **from_savepoint(path))
    # A new operator is before the old one, which is now on another level.
    source = env.from_source(ScriptedSource(steps(), known=("s",)), source_name="numbers").uid("numbers")
    passed = source.key_by(lambda n: n % 7).process(CountingPassThrough()).uid("passes")
    passed.key_by(lambda n: n % KEYS).process(Counts()).uid("counts").sink_to(CollectSink())
    found, job = run(env)
    assert sorted(found) == sorted(expected)
    assert job.program.operators[1].level == 2

    env = environment(tmp_path, 2, **from_savepoint(path))
    texts = env.from_source(ScriptedSource(steps(), known=("s",)), source_name="numbers").uid("numbers").map(str)
    texts.key_by(lambda text: text[0]).process(Totals()).uid("totals").sink_to(CollectSink())
    with pytest.raises(CheckpointError) as refused:
        run(env)
    assert refused.value.code == "SAVEPOINT_STATE_UNCLAIMED"
    assert "operator 'counts'" in refused.value.text
    assert "'totals'" in refused.value.text
    env.configuration.set("execution.state-recovery.ignore-unclaimed-state", True)
    with caplog.at_level(logging.WARNING):
        found, _ = run(env)
    assert "drops operator 'counts'" in caplog.text
    assert found.count("2 has 2") == 1  # it started empty
    assert len(found) == KEYS  # of one step: the source continues at its position


class CountingPassThrough(ps.KeyedProcessFunction):
    """Emits its elements unchanged, and counts them."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("passed", int))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


@pytest.mark.spark
def test_a_job_starts_from_a_checkpoint_with_another_parallelism(spark: SparkSession, tmp_path: Path) -> None:
    _, expected = saved(tmp_path, until=0)
    env = environment(tmp_path, 2)
    counts(env, steps()[:3]).sink_to(CollectSink())
    first, job = run(env)
    env = environment(tmp_path, 3, 64, **from_savepoint(job.checkpoint.folder))
    counts(env, steps()).sink_to(CollectSink())
    second, restored = run(env)
    assert sorted(first + second) == sorted(expected)
    assert restored.job_id != job.job_id
    assert restored.checkpoint.lineage != job.checkpoint.lineage


@pytest.mark.spark
def test_dataframes_and_file_sinks_continue_after_a_restore(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(0, 60, numPartitions=3)

    def job(batches: int, out: str = "out", **options: Any) -> ps.StreamExecutionEnvironment:
        env = environment(tmp_path, 2, **options, **{"source.batch.records": 6})
        script = env.from_source(ScriptedSource([Step({"s": [At(-1, 0)]}) for _ in range(batches)], known=("s",)))
        rows = env.from_dataframe(frame, source_name="rows").uid("rows").map(lambda row: row.id).uid("ids")
        counted = script.uid("script").union(rows).key_by(lambda n: n % 5).process(CountingPassThrough()).uid("passes")
        sink = FileSink.for_row_format(str(tmp_path / out), Encoder.simple_string_encoder()).build()
        counted.filter(lambda n: n >= 0).uid("rows-only").sink_to(sink).uid("files")
        return env

    def visible(out: str = "out") -> list[int]:
        files = [
            f for f in (tmp_path / out).rglob("part-*") if f.is_file() and "/." not in str(f.relative_to(tmp_path))
        ]
        return sorted(int(line) for file in files for line in file.read_text().split())

    _, first = run(job(3))
    assert visible() == []  # no file is full yet
    run(job(30, **from_savepoint(first.checkpoint.folder)), keep_open=False)
    assert visible() == list(range(60))
    run(job(30, "elsewhere", **from_savepoint(first.checkpoint.folder)), keep_open=False)
    assert visible("elsewhere") == list(range(60))


@pytest.mark.spark
def test_user_defined_and_redis_sinks_continue_after_a_restore(spark: SparkSession, tmp_path: Path, redis: Any) -> None:
    """Batches of the restored job have the same numbers as those of the old job, and must not count as written."""
    database = str(tmp_path / "db")
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("create table counts (line text)")
    mapper: RedisMapper[Any] = RedisMapper.hash(
        "restored", field=lambda c: c.split(": ")[0], value=lambda c: c.split()[1]
    )

    def job(script: list[Step], **options: Any) -> ps.StreamExecutionEnvironment:
        env = environment(tmp_path, 2, **options)
        counted = counts(env, script).filter(lambda line: " at " not in line).uid("counts-only")
        counted.sink_to(RedisSink.builder().set_host(redis.host).set_port(redis.port).set_mapper(mapper).build())
        counted.map(lambda line: (line,)).uid("rows").sink_to(TableSink(database, "counts")).uid("table")
        return env

    with redis_client.Redis(host=redis.host, port=redis.port, decode_responses=True) as server:
        server.delete("restored")
        _, first = run(job(steps()[:2]))
        assert set(server.hgetall("restored").values()) == {"2"}
        run(job(steps(), **from_savepoint(first.checkpoint.folder)))
        assert server.hgetall("restored") == {str(key): "3" for key in range(KEYS)}
    with closing(sqlite3.connect(database)) as db:
        rows = [line for (line,) in db.execute("select line from counts")]
    assert sorted(rows) == sorted(f"{key}: {n}" for key in range(KEYS) for n in (1, 2, 3))
