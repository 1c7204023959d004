"""The transcripts of time.md on Spark: the same words as in the harness, batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import CollectSink, SinkWriter, WriteTask
from penstock.errors import JobError
from penstock.spark.engine import SparkJob
from tests.transcripts.case import FIRST, Case, cases

NOT_ON_SPARK = {
    39: "batch mode runs on Spark's batch engine, which the DataStream layer brings (issue 5)",
    40: "restoring with another number of slots needs savepoints on Spark (issue 7)",
}


def number(case: Case) -> int:
    return int(str(case.told["id"]).split()[0])


def run(
    case: Case, groups: int, folder: Path, resume: str = "", sink: Any = None
) -> tuple[list[list[str]], list[Any], SparkJob]:
    env = case.env(groups)
    settings = {"execution.checkpointing.dir": str(folder), "state.local.dir": str(folder / "local")}
    env.configuration = ps.Configuration({**settings, **({"execution.resume": resume} if resume else {})})
    graph = env.graph()
    if sink is not None:
        object.__setattr__(graph.sinks[0], "sink", sink)
    job = SparkJob(graph, env.configuration, {"files": [], "requirements": [], "archives": [], "jars": []})
    job.keep_open = True
    job.start()
    outputs: list[list[str]] = [[] for _ in case.steps()]
    for batch, letters in job.letters():
        outputs[batch] += letters.get(0, [])
    return outputs, job.folder.reports(), job


@pytest.mark.spark
@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name) for c in cases() if number(c) not in NOT_ON_SPARK and not c.crash]
)
def test_the_transcript_comes_true_on_spark(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    groups = 2 if 2 in case.groups else case.groups[0]
    outputs, reports, _ = run(case, groups, tmp_path)
    assert case.comparable(outputs) == case.comparable(case.expected_outputs())
    if "W" in case.told:
        words = {-(2**63): "MIN", 2**63 - 1: "MAX"}
        found = [str(words.get(r["watermarks"][FIRST], r["watermarks"][FIRST])) for r in reports]
        assert found == case.expected_watermarks()
    assert sum(reports[-1]["late"].values()) == case.told.get("late_count", 0)
    if "next" in case.told:
        assert reports[-1]["wake"] == case.told["next"]


class FailsOnce(CollectSink):
    """Fails the first time that it is written to, after the slot has written its state."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def writer(self, task: WriteTask) -> SinkWriter:
        if not self._marker.exists():
            self._marker.write_text("failed")
            raise OSError("the sink fails once")
        return super().writer(task)


@pytest.mark.spark
def test_a_batch_that_failed_half_way_runs_again_with_the_same_result(spark: SparkSession, tmp_path: Path) -> None:
    case = next(c for c in cases() if c.crash)
    sink = FailsOnce(tmp_path / "marker")
    with pytest.raises(JobError):
        run(case, 2, tmp_path, sink=sink)
    checkpoint = next(p.parent.parent for p in tmp_path.glob("*/penstock/job.json"))
    outputs, _, _ = run(case, 2, tmp_path, resume=str(checkpoint), sink=sink)
    assert case.comparable(outputs) == case.comparable(case.expected_outputs())


def test_what_does_not_run_on_spark_is_said() -> None:
    assert {number(c) for c in cases()} >= set(NOT_ON_SPARK)
