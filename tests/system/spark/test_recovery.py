"""After kill -9 output and state must equal those of an undisturbed run."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.locations import PROGRAMS
from tests.system.spark.checkpoint_state import read_state
from tests.system.spark.processes import JobProcess, batches_of, checkpoint_in, lines_of

JOB = PROGRAMS / "three_operators.py"
LEVELS, PARALLELISM = 3, 2


def run_disturbed(root: Path, events: int, kills: int, rng: random.Random) -> None:
    """Runs the job to its end and kills driver or worker at random moments, `kills` times."""
    out, checkpoints = root / "out", root / "checkpoints"
    job = JobProcess(JOB, str(out), str(checkpoints), str(events))
    deadline = time.monotonic() + 1800
    while not job.done():
        assert time.monotonic() < deadline, job.text()[-3000:]
        if not job.running():
            job = JobProcess(JOB, str(out), str(checkpoints), str(events), checkpoint_in(checkpoints))
        if kills:
            _wait_for_batches(job, out, batches_of(out) + rng.randrange(1, 3))
            time.sleep(rng.random() * 0.7)
            if job.running():
                kills -= 1
                if rng.random() < 0.6 or not job.kill_worker(rng):
                    job.kill_driver()
        else:
            job.process.wait(900)
    assert kills == 0, "the job ended before all kills; use more events"


def _wait_for_batches(job: JobProcess, out: Path, batches: int) -> None:
    while job.running() and batches_of(out) < batches:
        time.sleep(0.05)


def state_of(session: SparkSession, root: Path) -> dict[Any, Any]:
    """Returns all entries of all slots, without clocks that depend on the system time."""
    folder = os.path.join(checkpoint_in(root / "checkpoints"), "spark")
    found = read_state(session, folder, PARALLELISM, LEVELS)
    assert len(found) == LEVELS * PARALLELISM
    return {at: (meta.watermarks, entries) for at, (meta, entries) in found.items()}


def compare(session: SparkSession, tmp_path: Path, events: int, kills: int, seed: int) -> None:
    calm = tmp_path / "calm"
    job = JobProcess(JOB, str(calm / "out"), str(calm / "checkpoints"), str(events))
    assert job.process.wait(600) == 0, job.text()[-3000:]
    run_disturbed(tmp_path / "wild", events, kills, random.Random(seed))
    expected, found = lines_of(calm / "out"), lines_of(tmp_path / "wild" / "out")
    assert len(expected) > events // 100
    assert found == expected
    assert state_of(session, tmp_path / "wild") == state_of(session, calm)


@pytest.mark.spark
def test_three_kills_do_not_change_the_results(spark: SparkSession, tmp_path: Path) -> None:
    compare(spark, tmp_path, events=1_000_000, kills=3, seed=11)


@pytest.mark.long
def test_twenty_kills_do_not_change_the_results(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_OPTIONS", '{"source.batch.records": 14000}')  # enough batches for the kills
    compare(spark, tmp_path, events=1_000_000, kills=20, seed=12)
