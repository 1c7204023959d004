"""A job that is killed and resumed on the same machine takes its state from the working copy, not from the checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.disturbed import DisturbedJob

pytestmark = pytest.mark.spark
KEYS, ROOM = 40_000, 4_000  # 160 MB of state
PER_BATCH = 10_000


def catching_up(job: DisturbedJob) -> float:
    """Seconds that the slots took in the first batch after a resume to have their state, all together."""
    job.start(resume=True)
    job.ends_right(300)
    seconds: float = job.reports()[0]["seconds"]["level 1 catch up"]
    return seconds


@pytest.mark.long
def test_a_working_copy_outlives_kill_9(tmp_path: Path) -> None:
    job = DisturbedJob(tmp_path, {"source.batch.records": PER_BATCH}, events=KEYS * 2, keys=KEYS, room=ROOM)
    try:
        job.start()
        job.wait_until(lambda: job.batches() * PER_BATCH > KEYS + PER_BATCH, 300)
        job.kill()
        state = tmp_path / "as it was"
        for name in ("checkpoints", "lines", "local"):
            shutil.copytree(tmp_path / name, state / name)
        kept = catching_up(job)
        for name in ("checkpoints", "lines", "local"):
            shutil.rmtree(tmp_path / name)
            if name != "local":
                shutil.copytree(state / name, tmp_path / name)
        anew = catching_up(job)
        print(f"state of {KEYS * ROOM / 1e6:.0f} MB: {kept:.2f} s with the working copy, {anew:.2f} s without")
        assert kept < anew / 4, (kept, anew)
    finally:
        job.kill()
