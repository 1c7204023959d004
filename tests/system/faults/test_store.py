"""Checkpoint storage fails while a job runs. The job reports what it waits for, and its result is not affected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.jobs.registry import requests
from penstock.jobs.registry.history import CheckpointHistory
from tests.system.faults.disturbed import DisturbedJob

pytestmark = pytest.mark.spark


@pytest.fixture
def job(tmp_path: Path) -> Iterator[DisturbedJob]:
    disturbed_job = DisturbedJob(tmp_path)
    yield disturbed_job
    disturbed_job.kill()


def waiting_for(job: DisturbedJob) -> str:
    entry = job.entry()
    return "" if entry is None else entry.waits


def check_recovery(job: DisturbedJob, reason: str, **fault: object) -> None:
    """Checks that the job waits, reports why, commits nothing, and continues when the storage works again."""
    job.store.command(**fault)
    message = job.wait_until(lambda: waiting_for(job))
    assert message.startswith("waits for checkpoint storage since ")
    assert reason in message
    before = job.batches()
    job.store.heal()
    job.wait_until(lambda: job.batches() > before + 1)
    job.wait_until(lambda: not waiting_for(job))


def test_full_storage_and_a_failing_commit_log(job: DisturbedJob) -> None:
    """A failing commit log is the hardest case, because sinks have committed the batch, and it runs again."""
    job.start()
    job.wait_for_batches(3)
    check_recovery(job, "No space left on device", write="No space left on device")
    check_recovery(job, "Connection refused", write="Connection refused", only=".*/commits/.*")
    job.check_result()


@pytest.mark.long
@pytest.mark.parametrize(
    ("reason", "fault"),
    [
        ("Read-only file system", {"write": "Read-only file system"}),
        ("Read-only file system", {"write": "Read-only file system", "only": ".*/state/.*"}),
        ("Connection refused", {"write": "Connection refused", "only": ".*/offsets/.*"}),
        ("Connection timed out", {"read": "Connection timed out"}),
        ("No space left on device", {"write": "No space left on device", "after": 100}),
    ],
    ids=["read-only", "state", "offsets", "unreadable", "full in mid-file"],
)
def test_storage_that_fails_partly(job: DisturbedJob, reason: str, fault: dict[str, object]) -> None:
    job.start()
    for _ in range(2):
        job.wait_for_batches(2)
        check_recovery(job, reason, **fault)
    job.check_result()


@pytest.mark.long
def test_storage_that_does_not_answer(tmp_path: Path) -> None:
    job = DisturbedJob(tmp_path, {"execution.checkpointing.store.slow-after": "2 s"})
    try:
        job.start()
        job.wait_for_batches(3)
        for only in (".*/commits/.*", ".*/offsets/.*", ".*/state/.*"):
            check_recovery(job, "does not end", hang=True, only=only)
        job.check_result()
    finally:
        job.kill()


@pytest.mark.long
def test_slow_storage_only_costs_time(tmp_path: Path) -> None:
    job = DisturbedJob(tmp_path, {"execution.checkpointing.store.slow-after": "300 s"}, events=6_000)
    try:
        job.store.command(delay=40)
        job.start()
        job.check_result()
        assert job.process is not None
        assert "waits" not in job.process.text()
    finally:
        job.kill()


@pytest.mark.long
def test_the_job_fails_after_its_patience(tmp_path: Path) -> None:
    job = DisturbedJob(tmp_path, {"execution.checkpointing.store.timeout": "4 s"})
    try:
        job.start()
        job.wait_for_batches(3)
        job.store.command(write="Read-only file system")
        assert job.process is not None
        assert job.process.process.wait(200) == 1
        assert "FAILED [STORE_UNREACHABLE] Checkpoint storage has failed for" in job.process.text()
        job.start(resume=True)
        assert job.process.process.wait(200) == 1, "a job that starts does not wait"
        assert "FAILED [STORE_UNREACHABLE] The checkpoint" in job.process.text()
        job.store.heal()
        job.start(resume=True)
        job.check_result()
    finally:
        job.kill()


@pytest.mark.long
def test_a_waiting_job_can_be_stopped(job: DisturbedJob) -> None:
    job.start()
    job.wait_for_batches(3)
    job.store.command(write="Read-only file system")
    job.wait_until(lambda: waiting_for(job))
    entry, process = job.entry(), job.process
    assert entry is not None
    assert process is not None
    requests.request_end(job.registry, entry, "stop")
    assert process.process.wait(200) == 0, process.text()[-3000:]
    job.store.heal()
    job.start(resume=True)
    job.check_result()


@pytest.mark.long
def test_so_many_failed_checkpoints_are_tolerated(tmp_path: Path) -> None:
    """The store takes the probe and refuses the commit log: each attempt fails anew."""
    job = DisturbedJob(tmp_path, {"execution.checkpointing.tolerable-failed-checkpoints": 1})
    try:
        job.start()
        job.wait_for_batches(3)
        job.store.command(write="Connection refused", only=".*/commits/.*")
        assert job.process is not None
        assert job.process.process.wait(180) != 0
        entry = job.entry()
        assert entry is not None
        assert entry.error is not None
        assert (entry.status, entry.error.code) == ("failed", "CHECKPOINTS_FAILED")
        assert "2 checkpoints in a row" in entry.error.text
        failed = [c for c in CheckpointHistory(job.registry.job_folder(entry.id)).latest() if c.status == "failed"]
        assert len({c.id for c in failed}) == 1
        assert len(failed) >= 2
    finally:
        job.kill()
