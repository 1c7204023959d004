"""What sink tasks know: the lineage of the batch numbers, the uid of the sink, and whether an earlier run began the batch."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import ScriptedSource, Step, WriteTask
from penstock.connectors.scripted import At
from penstock.errors import PenstockError
from penstock.spark.checkpoint.spark_log import unfinished_batch
from penstock.spark.job.job import SparkJob
from penstock.testing import Harness, PushSource
from tests.system.spark.fails_once import CommitFailsOnce, TaskSink
from tests.system.spark.processes import checkpoint_in


def run(folder: Path, resume: str = "") -> list[WriteTask]:
    options = {
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "state.local.dir": str(folder / "local"),
        "restart-strategy.type": "none",
    }
    env = ps.StreamExecutionEnvironment(
        ps.Configuration({**options, **({"execution.resume": resume} if resume else {})})
    )
    steps = [Step({"s": [At("a", n)]}) for n in range(4)]
    elements = env.set_parallelism(2).from_source(ScriptedSource(steps))
    elements.sink_to(TaskSink()).uid("tasks")
    elements.sink_to(CommitFailsOnce(folder / "marker"))
    job = SparkJob(env.graph("lineage"), env.configuration, env.files)
    job.start()
    with suppress(PenstockError):
        job.wait()
    return job.collected(0)


@pytest.mark.spark
def test_a_resumed_job_keeps_its_lineage_and_knows_the_unfinished_batch(spark: SparkSession, tmp_path: Path) -> None:
    began = time.time() * 1000
    first = run(tmp_path)  # the commit of the other sink fails in batch 2
    checkpoint = checkpoint_in(tmp_path / "checkpoints")
    unfinished = unfinished_batch(f"{checkpoint}/spark")
    assert unfinished is not None
    assert began <= unfinished[1] <= time.time() * 1000
    second = run(tmp_path, checkpoint)
    third = run(tmp_path / "other")
    assert {t.sink for t in first + second} == {"tasks"}
    assert len({t.lineage for t in first + second}) == 1
    assert first[0].lineage
    assert first[0].lineage != third[0].lineage
    assert next(t.batch for t in second) == unfinished[0]
    assert [t.begun_before for t in second] == [unfinished[1]] + [None] * (len(second) - 1)
    assert all(t.begun_before is None for t in first)
    assert len(second) > 1


def test_a_finished_batch_is_not_unfinished(tmp_path: Path) -> None:
    for log in ("offsets", "commits"):
        (tmp_path / log).mkdir()
        (tmp_path / log / "8").write_text('v1\n{"batchTimestampMs":17}\n')
        (tmp_path / log / ".9.crc").write_text("")
    assert unfinished_batch(str(tmp_path)) is None
    (tmp_path / "offsets" / "9").write_text('v1\n{"batchTimestampMs":18}\n-')
    assert unfinished_batch(str(tmp_path)) == (9, 18)
    assert unfinished_batch(str(tmp_path / "none")) is None


def test_a_restored_harness_has_a_new_lineage() -> None:
    env = ps.StreamExecutionEnvironment()
    env.from_source(PushSource()).sink_to(TaskSink()).uid("tasks").name("tasks")
    harness = Harness(env, real_sinks=True)
    out = harness.sink("tasks")
    harness.push(1)
    saved = harness.snapshot()
    harness.push(2)
    harness.restore(saved).push(2)
    assert [t.batch for t in out] == [0, 1, 1]
    assert out[0].lineage == out[1].lineage != out[2].lineage
