"""Jobs with `execution.resume: latest` on Spark: one start command for the first start and all later ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.errors import CheckpointError
from tests.system.spark.processes import lines_of
from tests.system.spark.test_job_client import endless
from tests.system.spark.test_jobs import environment
from tests.waiting import until

pytestmark = pytest.mark.spark

LATEST = {"execution.resume": "latest"}


def test_an_unbounded_job(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = endless(environment(tmp_path, **LATEST), out, "numbers")
    until(lambda: lines_of(out))
    with pytest.raises(CheckpointError, match="CHECKPOINT_IN_USE"):
        endless(environment(tmp_path, **LATEST), out, "numbers")
    first.cancel().result()
    written = len(lines_of(out))

    second = endless(environment(tmp_path, **LATEST), out, "numbers")
    assert second.get_job_id() == first.get_job_id()
    until(lambda: len(lines_of(out)) > written)
    second.cancel().result()
    assert sorted(map(int, lines_of(out))) == list(range(len(lines_of(out))))


def test_a_finished_job_says_what_to_do(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> ps.JobExecutionResult:
        env = environment(tmp_path, **LATEST)
        env.from_collection([1, 2, 3]).sink_to(JsonLinesSink(tmp_path / "out"))
        return env.execute("numbers")

    first, second = run(), run()
    assert first.get_job_id() == second.get_job_id()
    assert sorted(lines_of(tmp_path / "out")) == ["1", "2", "3"]
    shown = capsys.readouterr().err
    assert f"job {first.get_job_id()}: its input has ended, so there is nothing left to do." in shown
    assert f"start the job with another name, or after {tmp_path}/checkpoints/numbers is deleted\n" in shown
