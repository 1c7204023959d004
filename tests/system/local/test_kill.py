"""The local engine after kill -9: every row is in every sink exactly once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.locations import PROGRAMS
from tests.system.spark.processes import JobProcess, checkpoint_in
from tests.system.spark.test_files import check, make_input, visible

JOB = PROGRAMS / "files_to_files.py"
ROWS = 60_000


@pytest.fixture(autouse=True)
def _local_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_OPTIONS", '{"execution.engine": "local"}')


def run_disturbed(root: Path, kills: int, rng: random.Random) -> None:
    """Runs the job, kills it a few batches after each start, and resumes it until it has read everything."""
    make_input(root / "in", ROWS)
    arguments = [str(root / "out"), str(root / "checkpoints"), str(root / "in"), "4000"]
    output = root / "out" / "each-batch"
    job = JobProcess(JOB, *arguments)
    deadline = time.monotonic() + 600
    while not job.done():
        assert time.monotonic() < deadline, job.text()[-3000:]
        if not job.running():
            assert job.process.returncode in (0, -9), job.text()[-3000:]
            job = JobProcess(JOB, *arguments, checkpoint_in(root / "checkpoints"))
        if not kills:
            job.process.wait(600)
            continue
        seen = len(visible(output))
        while job.running() and len(visible(output)) <= seen + rng.randrange(1, 4):
            time.sleep(0.002)
        time.sleep(rng.random() * 0.03)
        if job.running():
            job.kill_driver()
            kills -= 1
    assert not kills, "the job ended before all kills were done"


@pytest.mark.slow
def test_every_row_is_written_once_after_kills(tmp_path: Path) -> None:
    run_disturbed(tmp_path, 4, random.Random(3))
    check(tmp_path, ROWS)


@pytest.mark.long
def test_every_row_is_written_once_after_many_kills(tmp_path: Path) -> None:
    run_disturbed(tmp_path, 20, random.Random(4))
    check(tmp_path, ROWS)
