"""A job on Spark does not use more file descriptors with each batch."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import CallableSink, ScriptedSource, Step
from penstock.spark.job.job import SparkJob
from penstock.spark.session.deletions_at_exit import DeletionsAtExit

pytestmark = pytest.mark.spark

BATCHES = 30


def test_the_jvm_closes_the_connections_of_its_tasks_and_forgets_them(spark: SparkSession, tmp_path: Path) -> None:
    settings = {
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "state.local.dir": str(tmp_path / "local"),
    }
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings)).set_parallelism(2)
    counts = tmp_path / "counts"
    jvm = _jvm(spark)

    def count(value: int) -> None:
        with open(counts, "a") as file:
            file.write(f"{len(psutil.Process(jvm).net_connections('all'))}\n")

    numbers = env.from_source(ScriptedSource([Step({"a": [i]}) for i in range(BATCHES)]))
    numbers.key_by(lambda i: i % 4).reduce(lambda a, b: a + b).sink_to(CallableSink(count))
    job = SparkJob(env.graph("sockets"), env.configuration, env.files)
    job.start()
    job.wait()
    found = [int(line) for line in counts.read_text().split()]
    assert len(found) == BATCHES
    assert found[-1] < found[BATCHES // 3] + BATCHES // 3, found  # one per batch and slot would be 40 more
    deletions = DeletionsAtExit(spark)
    assert sum(path.endswith(".sock") for path in deletions.paths()) >= BATCHES
    other = [path for path in deletions.paths() if not path.endswith(".sock")]
    deletions.forget_sockets()
    assert sum(path.endswith(".sock") for path in deletions.paths()) < BATCHES
    assert [path for path in deletions.paths() if not path.endswith(".sock")] == other


def _jvm(spark: SparkSession) -> int:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    return int(gateway.proc.pid)
