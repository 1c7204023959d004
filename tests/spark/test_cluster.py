"""A real standalone cluster: the user's modules, files, packages and archives reach the executors."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.jobs.cluster_words import WORDS
from tests.spark.processes import JobProcess, lines_of
from tests.spark.standalone import StandaloneCluster

JOB = Path(__file__).parent.parent / "jobs" / "cluster_job.py"


@pytest.mark.spark
def test_a_job_runs_on_two_workers_with_everything_it_needs(tmp_path: Path) -> None:
    with StandaloneCluster(tmp_path / "cluster") as cluster:
        job = JobProcess(JOB, cluster.url, str(tmp_path / "out"), str(tmp_path / "root"))
        assert job.process.wait(240) == 0, job.text()[-4000:]
    rows = [json.loads(line) for line in lines_of(tmp_path / "out")]
    assert Counter((r["word"], r["count"]) for r in rows) == Counter((w, n) for w in WORDS for n in (1, 2, 3))
    assert {(r["added"], r["package"], r["archive"]) for r in rows} == {("added", "from the requirements", "archived")}
    assert {r["subtask"] for r in rows} == {0, 1}
    assert len({r["process"] for r in rows}) == 2
