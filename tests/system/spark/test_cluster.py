"""A standalone cluster: modules, files, packages and archives of the user reach the executors, which cannot read the files of
the driver. Metrics and log lines still reach the driver.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.locations import PROGRAMS
from tests.programs.cluster_words import WORDS
from tests.system.spark.processes import JobProcess, lines_of
from tests.system.spark.standalone import StandaloneCluster, can_hide_folders

JOB = PROGRAMS / "cluster_job.py"


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_job_with_user_files_runs_on_a_cluster(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver_files = tmp_path / "driver"
    driver_files.mkdir()
    with StandaloneCluster(tmp_path / "cluster", hidden=driver_files, workers=workers) as cluster:
        monkeypatch.setenv("TMPDIR", str(driver_files))  # the run folder is in it
        job = JobProcess(JOB, cluster.url, str(tmp_path / "out"), str(tmp_path / "root"))
        assert job.process.wait(900) == 0, job.text()[-4000:]
    rows = [json.loads(line) for line in lines_of(tmp_path / "out")]
    assert Counter((r["word"], r["count"]) for r in rows) == Counter((w, n) for w in WORDS for n in (1, 2, 3))
    assert {(r["added"], r["package"], r["archive"]) for r in rows} == {("added", "from the requirements", "archived")}
    assert {r["subtask"] for r in rows} == {0, 1}
    assert workers == 1 or len({r["process"] for r in rows}) == 2
    output = job.text()
    assert f"SEEN {3 * len(WORDS)}\n" in output
    where = "without the driver's files" if can_hide_folders() else "beside the driver"
    logged = re.findall(r"^LOGGED words \[count words #[01]\] saw (.*)$", output, re.MULTILINE)
    assert Counter(logged) == Counter({f"{w}, {where}": 3 for w in WORDS})
