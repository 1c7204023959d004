"""A run keeps the history of its checkpoints."""

from __future__ import annotations

import time
from pathlib import Path

from penstock.config import Configuration
from penstock.jobs.checkpoints import Checkpoint, Measured
from penstock.jobs.entry import Failure
from penstock.jobs.history import History
from penstock.jobs.registry import Registry
from penstock.jobs.run import Run
from tests.jobs_registry.jobs import FakeJob, entry


def begun(folder: Path, **options: object) -> tuple[Run, FakeJob, History]:
    registry = Registry(folder)
    run, job = Run(registry, entry(), [], Configuration(options)), FakeJob()
    run.begin(job)
    return run, job, History(registry.job_folder("a1b2c3"))


def until(history: History, count: int) -> list[Checkpoint]:
    deadline = time.monotonic() + 10
    while len(history.latest()) < count and time.monotonic() < deadline:
        time.sleep(0.02)
    return history.latest()


def test_checkpoints_are_kept_as_they_come(tmp_path: Path) -> None:
    run, job, history = begun(tmp_path, **{"execution.trigger.interval": "2 s"})
    job.spent = {0: Measured(5.0, 0.5), 1: Measured(6.0, 0.7)}
    job.checkpoints = [Checkpoint(0), Checkpoint(1)]
    kept = until(history, 2)
    assert [(c.id, c.seconds, c.interval, c.run) for c in kept] == [(0, 0.5, 2.0, 1), (1, 0.7, 2.0, 1)]
    assert job.whole == [0, 1]  # the job was told, so that it can rest
    run.end("finished")


def test_what_came_last_is_kept_at_the_end(tmp_path: Path) -> None:
    run, job, history = begun(tmp_path)
    job.checkpoints = [Checkpoint(0)]
    run.end("finished")
    assert [(c.id, c.status) for c in history.latest()] == [(0, "completed")]


def test_a_job_that_fails_leaves_a_failed_checkpoint(tmp_path: Path) -> None:
    run, job, history = begun(tmp_path)
    job.checkpoints = [Checkpoint(0)]
    run.end("failed", Failure("USER_CODE", "a function raised"))
    failed = history.latest()[-1]
    assert (failed.id, failed.status, failed.reason) == (1, "failed", "[USER_CODE] a function raised")


def test_another_run_goes_on_with_the_history(tmp_path: Path) -> None:
    run, job, _ = begun(tmp_path)
    job.checkpoints = [Checkpoint(0), Checkpoint(1)]
    run.end("finished")
    again, _, history = begun(tmp_path)
    again.checkpoint_failed("the disk is full")
    again.end("finished")
    told = [(c.id, c.status, c.run) for c in history.latest()]
    assert told == [(0, "completed", 1), (1, "completed", 1), (2, "failed", 2)]
