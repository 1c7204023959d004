"""A run writes the history of its checkpoints."""

from __future__ import annotations

from pathlib import Path

from penstock.config import Configuration
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SparkTimings
from penstock.jobs.registry.entry import Failure
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.registry import Registry
from penstock.jobs.run.run import Run
from tests.unit.jobs.jobs import FakeJob, entry
from tests.waiting import until


def start_run(folder: Path, **options: object) -> tuple[Run, FakeJob, CheckpointHistory]:
    registry = Registry(folder)
    run, job = Run(registry, entry(), [], Configuration(options)), FakeJob()
    run.begin(job)
    return run, job, CheckpointHistory(registry.job_folder("a1b2c3"))


def test_checkpoints_are_written_with_their_timings(tmp_path: Path) -> None:
    run, job, history = start_run(tmp_path, **{"execution.trigger.interval": "2 s"})
    job.timings = {0: SparkTimings(5.0, 0.5), 1: SparkTimings(6.0, 0.7)}
    job.checkpoints = [CheckpointStats(0), CheckpointStats(1)]
    until(lambda: job.completed == [0, 1])  # the job was notified, so that it can pause
    assert [(c.id, c.seconds, c.interval, c.run) for c in history.latest()] == [(0, 0.5, 2.0, 1), (1, 0.7, 2.0, 1)]
    run.end("finished")


def test_checkpoints_without_timings_are_written_at_the_end(tmp_path: Path) -> None:
    run, job, history = start_run(tmp_path)
    job.checkpoints = [CheckpointStats(0)]
    run.end("finished")
    assert [(c.id, c.status) for c in history.latest()] == [(0, "completed")]


def test_a_job_that_fails_leaves_a_failed_checkpoint(tmp_path: Path) -> None:
    run, job, history = start_run(tmp_path)
    job.checkpoints = [CheckpointStats(0)]
    run.end("failed", Failure("USER_CODE", "a function raised"))
    failed = history.latest()[-1]
    assert (failed.id, failed.status, failed.reason) == (1, "failed", "[USER_CODE] a function raised")


def test_the_next_run_continues_the_history(tmp_path: Path) -> None:
    run, job, _ = start_run(tmp_path)
    job.checkpoints = [CheckpointStats(0), CheckpointStats(1)]
    run.end("finished")
    again, _, history = start_run(tmp_path)
    again.checkpoint_failed("the disk is full")
    again.end("finished")
    history_of_runs = [(c.id, c.status, c.run) for c in history.latest()]
    assert history_of_runs == [(0, "completed", 1), (1, "completed", 1), (2, "failed", 2)]
