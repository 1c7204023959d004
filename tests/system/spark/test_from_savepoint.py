"""Jobs that start from a savepoint, on Spark: each line of what a restore promises."""

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
from penstock.spark.job import SparkJob
from penstock.state import MapStateDescriptor, ValueStateDescriptor
from penstock.testing import Harness
from tests.contracts.sqlite import TableSink

KEYS = 40


class Counts(ps.KeyedProcessFunction):
    """Counts the elements of a key; tells the count after a second of silence, and what it knows at the end of time."""

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
    """Adds up the lengths of texts by their first letter."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", int))

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        total = (self.total.value() or 0) + len(value)
        self.total.update(total)
        yield f"{ctx.get_current_key()} has {total}"


def steps() -> list[Step]:
    """Elements, a clock, silence in which timers of the clock fire, and the end of event time."""
    given = [Step({"s": [At(n, n) for n in range(first, first + KEYS)]}, clock=100) for first in (0, 10, 20)]
    silent = [Step({}, clock=500), Step({}, clock=2000), Step({"s": [Mark(20_000)]}, clock=2100)]
    return [*given, *silent]


def counts(env: ps.StreamExecutionEnvironment, given: list[Step]) -> DataStream[str]:
    source = env.from_source(ScriptedSource(given, known=("s",)), source_name="numbers").uid("numbers")
    return source.key_by(lambda n: n % KEYS).process(Counts()).uid("counts")


def environment(folder: Path, parallelism: int, groups: int = 128, **options: Any) -> ps.StreamExecutionEnvironment:
    settings = {"execution.checkpointing.dir": str(folder / "checkpoints"), "state.local.dir": str(folder / "local")}
    env = ps.StreamExecutionEnvironment(ps.Configuration({**settings, **options}))
    return env.set_parallelism(parallelism).set_max_parallelism(groups)


def run(env: ps.StreamExecutionEnvironment, keep_open: bool = True) -> tuple[list[Any], SparkJob]:
    """What reaches the job's last sink, and the job; with `keep_open` without the final watermark."""
    job = SparkJob(env.graph("restored"), env.configuration, env.files)
    job.keep_open = keep_open
    job.start()
    job.wait()
    return job.collected(len(job.program.sinks) - 1), job


def from_savepoint(path: str) -> dict[str, Any]:
    return {"execution.state-recovery.path": path}


def saved(folder: Path, until: int, parallelism: int = 2, groups: int = 128) -> tuple[str, list[Any]]:
    """A savepoint after so many steps, and what came out behind it where nothing was interrupted."""
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
def test_a_job_goes_on_with_its_state_and_timers_at_any_parallelism(
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
def test_slots_of_a_silent_source_have_their_state_and_their_timers_fire(spark: SparkSession, tmp_path: Path) -> None:
    path, expected = saved(tmp_path, until=3)  # behind it nothing but the clock and the watermark move
    assert len(expected) == 2 * KEYS
    env = environment(tmp_path, 3, **from_savepoint(path))
    counts(env, steps()).sink_to(CollectSink())
    found, _ = run(env)
    assert sorted(found) == sorted(expected)


@pytest.mark.spark
def test_a_restored_job_that_is_resumed_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
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
def test_a_changed_job_keeps_what_it_still_has_and_starts_the_rest_empty(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, expected = saved(tmp_path, until=2)
    env = environment(tmp_path, 2, **from_savepoint(path))
    # A new operator stands before the old one, which is now on another level.
    source = env.from_source(ScriptedSource(steps(), known=("s",)), source_name="numbers").uid("numbers")
    passed = source.key_by(lambda n: n % 7).process(Passes()).uid("passes")
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
    assert found.count("2 has 2") == 1  # nothing came before
    assert len(found) == KEYS  # of one step: the source goes on where it was


class Passes(ps.KeyedProcessFunction):
    """Gives what it gets, and counts it."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("passed", int))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


@pytest.mark.spark
def test_a_job_starts_from_the_checkpoint_of_another_one_with_another_parallelism(
    spark: SparkSession, tmp_path: Path
) -> None:
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
def test_rows_of_a_dataframe_and_files_go_on_where_they_were(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(0, 60, numPartitions=3)

    def job(batches: int, **options: Any) -> ps.StreamExecutionEnvironment:
        env = environment(tmp_path, 2, **options, **{"source.batch.records": 6})
        script = env.from_source(ScriptedSource([Step({"s": [At(-1, 0)]}) for _ in range(batches)], known=("s",)))
        rows = env.from_dataframe(frame, source_name="rows").uid("rows").map(lambda row: row.id).uid("ids")
        counted = script.uid("script").union(rows).key_by(lambda n: n % 5).process(Passes()).uid("passes")
        sink = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder()).build()
        counted.filter(lambda n: n >= 0).uid("rows-only").sink_to(sink).uid("files")
        return env

    def visible() -> list[int]:
        files = [
            f for f in (tmp_path / "out").rglob("part-*") if f.is_file() and "/." not in str(f.relative_to(tmp_path))
        ]
        return sorted(int(line) for file in files for line in file.read_text().split())

    _, first = run(job(3))
    assert visible() == []  # no file is full yet
    run(job(30, **from_savepoint(first.checkpoint.folder)), keep_open=False)
    assert visible() == list(range(60))


@pytest.mark.spark
def test_sinks_of_ones_own_and_redis_take_up_behind_the_savepoint(
    spark: SparkSession, tmp_path: Path, redis: Any
) -> None:
    """Batches of the restored job have the numbers of the old job's: none of them may pass for done."""
    database = str(tmp_path / "db")
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("create table counts (told text)")
    mapper: RedisMapper[Any] = RedisMapper.hash(
        "restored", field=lambda c: c.split(": ")[0], value=lambda c: c.split()[1]
    )

    def job(given: list[Step], **options: Any) -> ps.StreamExecutionEnvironment:
        env = environment(tmp_path, 2, **options)
        counted = counts(env, given).filter(lambda told: " at " not in told).uid("counts-only")
        counted.sink_to(RedisSink.builder().set_host(redis.host).set_port(redis.port).set_mapper(mapper).build())
        counted.map(lambda told: (told,)).uid("rows").sink_to(TableSink(database, "counts")).uid("table")
        return env

    with redis_client.Redis(host=redis.host, port=redis.port, decode_responses=True) as server:
        server.delete("restored")
        _, first = run(job(steps()[:2]))
        assert set(server.hgetall("restored").values()) == {"2"}
        run(job(steps(), **from_savepoint(first.checkpoint.folder)))
        assert server.hgetall("restored") == {str(key): "3" for key in range(KEYS)}
    with closing(sqlite3.connect(database)) as db:
        rows = [told for (told,) in db.execute("select told from counts")]
    assert sorted(rows) == sorted(f"{key}: {n}" for key in range(KEYS) for n in (1, 2, 3))
