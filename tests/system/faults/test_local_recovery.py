"""A job that is killed and resumed on the same machine reads its state from the working copy, not from the checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.system.faults.disturbed import DisturbedJob

pytestmark = pytest.mark.spark
KEYS, STATE_SIZE = 40_000, 4_000  # 160 MB of state
PER_BATCH = 10_000


def catch_up_seconds(job: DisturbedJob) -> float:
    """The seconds that all slots needed to load their state in the first batch after a resume."""
    job.start(resume=True)
    job.check_result(300)
    seconds: float = job.reports()[0]["seconds"]["level 1 catch up"]
    return seconds


@pytest.mark.long
def test_a_working_copy_survives_sigkill(tmp_path: Path) -> None:
    job = DisturbedJob(tmp_path, {"source.batch.records": PER_BATCH}, events=KEYS * 2, keys=KEYS, state_size=STATE_SIZE)
    try:
        job.start()
        job.wait_until(lambda: job.batches() * PER_BATCH > KEYS + PER_BATCH, 300)
        job.kill()
        state = tmp_path / "as it was"
        for name in ("checkpoints", "lines", "local"):
            shutil.copytree(tmp_path / name, state / name)
        with_copy = catch_up_seconds(job)
        for name in ("checkpoints", "lines", "local"):
            shutil.rmtree(tmp_path / name)
            if name != "local":
                shutil.copytree(state / name, tmp_path / name)
        without_copy = catch_up_seconds(job)
        print(
            f"state of {KEYS * STATE_SIZE / 1e6:.0f} MB: {with_copy:.2f} s with the working copy, {without_copy:.2f} s without"
        )
        assert with_copy < without_copy / 4, (with_copy, without_copy)
    finally:
        job.kill()
