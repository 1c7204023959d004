"""kill -9 while the driver commits a batch. The batch is passed to the function again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.locations import PROGRAMS
from tests.system.spark.processes import JobProcess, checkpoint_in

JOB = PROGRAMS / "handed_over.py"
EVENTS = 4000


@pytest.mark.spark
@pytest.mark.long
def test_a_kill_during_a_call_does_not_change_the_results(spark: SparkSession, tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    job = JobProcess(JOB, str(out), str(root), str(EVENTS))
    wait_for(job, lambda: (root / "mark").exists())
    job.kill_driver()
    job = JobProcess(JOB, str(out), str(root), str(EVENTS), checkpoint_in(root))
    wait_for(job, job.done)
    job.process.wait()
    calls = (root / "calls").read_text().split()
    assert (calls.count("0"), calls.count("1")) == (1, 2)
    rows = spark.read.parquet(str(out)).collect()
    expected = [(n, sum(range(n % 10, n + 1, 10))) for n in range(EVENTS)]
    assert sorted(row.n for row in rows) == [n for n, _ in expected]
    last = {n % 10: total for n, total in expected}
    assert {k: max(row.total for row in rows if row.n % 10 == k) for k in range(10)} == last


def wait_for(job: JobProcess, happened: object) -> None:
    assert callable(happened)
    deadline = time.monotonic() + 240
    while not happened():
        assert job.running() or happened(), job.text()
        assert time.monotonic() < deadline, job.text()
        time.sleep(0.1)
