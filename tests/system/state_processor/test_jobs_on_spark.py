"""The state of jobs on Spark: of a running job, of a checkpoint, and of a job that starts from a written savepoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.main import app
from penstock.config import Configuration
from penstock.connectors import DataGeneratorSource, JsonLinesSink
from penstock.jobs.registry.registry import registry_of
from penstock.spark.checkpoint.spark_log import last_committed_batch
from penstock.spark.savepoint.state_reader import checkpoint_as_savepoint
from penstock.state_processor import SavepointReader, SavepointWriter
from penstock.state_processor.locate import open_state
from penstock.state_processor.statistics import savepoint_entries
from tests.system.spark.processes import lines_of
from tests.system.spark.test_jobs import environment
from tests.waiting import until

pytestmark = pytest.mark.spark
COUNT = ps.ValueStateDescriptor("count", int)


class Counts(ps.KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.seen = runtime_context.get_list_state(ps.ListStateDescriptor("seen", int))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(value)
        ctx.timer_service().register_processing_time_timer(4_000_000_000_000)
        yield ctx.get_current_key(), self.count.value()


def counted(env: ps.StreamExecutionEnvironment, stream: Any, out: Path) -> None:
    counts = stream.key_by(lambda n: f"k{n % 5}").process(Counts()).uid("counts").name("counts")
    counts.map(list).sink_to(JsonLinesSink(out)).uid("out")


def written(folder: Path) -> set[tuple[str, int]]:
    return {(key, count) for key, count in map(json.loads, lines_of(folder))}


def state(*args: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["state", *args, "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output)
    return found


def all_of(entries: Any) -> set[tuple[str, str, bytes, bytes]]:
    return {
        (operator, saved.name, name, value)
        for operator, saved, flat, _ in entries
        for name, value in zip(flat[::2], flat[1::2], strict=True)
    }


def test_a_running_job_and_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    counted(env, env.from_source(DataGeneratorSource(lambda n: n, rate=500), None, "numbers"), tmp_path / "out")
    client = env.execute_async("counts")
    job = client.get_job_id()
    entry = registry_of(env.configuration).find(job)
    until(lambda: last_committed_batch(entry.checkpoint) >= 3)
    before = -1
    for _ in range(5):  # while batches continue
        result = state("get", job, "counts", "k1")
        assert "working copies" in result["source"], result["source"]
        (row,) = result["states"]["count"]
        # Of one batch: as many elements as were counted, those that the generator made.
        assert [r["value"] for r in result["states"]["seen"]] == [1 + 5 * i for i in range(row["value"])]
        assert row["value"] >= before
        before = row["value"]
    figures = {s["state"]: s for s in state("stats", job)["states"]}
    assert figures["count"]["keys"] == 5
    assert sum(s["entries"] for s in state("stats", job)["states"] if s["state"] == "seen") > 5 * before / 2
    assert {s["state"] for s in state("list", job)["states"]} >= {"count", "seen"}
    client.cancel().result()
    batch = last_committed_batch(entry.checkpoint)
    made = checkpoint_as_savepoint(entry.checkpoint, str(tmp_path / "made"))
    assert made.verify() == []
    assert made.manifest.batch == batch
    reader = SavepointReader.read(made.path)
    counts = {r["key"]: r["value"] for r in reader.table("counts", "count").to_pylist()}
    assert (
        sum(counts.values())
        == reader.table("counts", "seen").num_rows
        == sum(reader.table("counts", "count")["value"].to_pylist())
    )
    assert set(counts.items()) <= written(tmp_path / "out")
    with open_state(job, registry_of(env.configuration), env.configuration) as (view, source):
        assert view.batch == batch
        assert "working copies" in source
        assert all_of(view.entries()) == all_of(savepoint_entries(made))
    read = SavepointReader.read(entry.checkpoint)
    assert read.table("counts", "count").sort_by("key") == reader.table("counts", "count").sort_by("key")
    frame = read.dataframe(spark, "counts", "seen")
    assert frame.count() == reader.table("counts", "seen").num_rows
    changed = SavepointWriter.from_existing_savepoint(entry.checkpoint).with_state(
        "counts", COUNT, [{"key": "k1", "value": -7}]
    )
    after = SavepointReader.read(changed.write(str(tmp_path / "changed")).path).table("counts", "count").to_pylist()
    assert {r["key"]: r["value"] for r in after} == {**counts, "k1": -7}
    elsewhere = Configuration({"state.local.dir": str(tmp_path / "nowhere")})
    with open_state(entry.checkpoint, registry_of(env.configuration), elsewhere) as (view, source):
        assert "read by Spark" in source
        assert all_of(view.entries()) == all_of(savepoint_entries(made))


def test_a_job_starts_from_a_written_savepoint(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(5).selectExpr("concat('k', id) AS key", "id * 100 AS value")
    writer = SavepointWriter.new_savepoint(128).with_state("counts", COUNT, frame)
    seen = [{"key": "k1", "value": -1}]
    writer.with_state("counts", ps.ListStateDescriptor("seen", int), seen)
    path = writer.write(str(tmp_path / "bootstrapped")).path
    env = environment(tmp_path)
    env.configuration.set("execution.state-recovery.path", path)
    counted(env, env.from_collection(list(range(10))), tmp_path / "out")
    result = env.execute("restored")
    last = {key: count for key, count in written(tmp_path / "out") if count % 100 == 2}
    assert last == {f"k{i}": 100 * i + 2 for i in range(5)}
    made = checkpoint_as_savepoint(result.checkpoint, str(tmp_path / "after"))
    table = SavepointReader.read(made.path).table("counts", "seen")
    assert [r["value"] for r in table.to_pylist() if r["key"] == "k1"] == [-1, 1, 6]
