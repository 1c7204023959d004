"""Processes of a job on this machine are killed one after the other. None is left, and the results are right."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.faults.disturbed import DisturbedJob
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.long]

RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": 10,
    "restart-strategy.fixed-delay.delay": "100 ms",
    "spark.class-archive": False,  # a JVM that writes the archive ends later
}


@pytest.fixture
def job(tmp_path: Path) -> Iterator[DisturbedJob]:
    job = DisturbedJob(tmp_path, RESTARTS, events=40_000, failing_store=False)
    yield job
    job.kill()


def kill(job: DisturbedJob, text: str) -> None:
    """Kills the last process of the job with a text in its command line."""
    assert job.process is not None
    found = [pid for pid, command in job.process.members() if text in command and "fork_client" not in command]
    os.kill(found[-1], signal.SIGKILL)


def test_killed_processes_on_one_machine(job: DisturbedJob) -> None:
    job.start()
    assert job.process is not None
    for text in ("daemon pyspark.worker", "shared_process", "fork_server", "daemon pyspark.worker"):
        job.wait_for_batches(3)
        kill(job, text)
        job.wait_for_batches(3)
        print(f"{text} was killed: the job has committed {job.batches()} batches")
    print(job.process.text())
    assert "Traceback" not in job.process.text()
    job.process.process.kill()  # the driver
    job.process.process.wait()
    until(lambda: not job.process.members())  # type: ignore[union-attr]
    job.start(resume=True)
    job.check_result()
    until(lambda: not job.process.members())  # type: ignore[union-attr]
