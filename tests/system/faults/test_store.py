"""The checkpoint store fails while a job runs: the job says what it waits for, and ends as if nothing had been."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.jobs import requests
from penstock.jobs.history import History
from tests.faults.disturbed import DisturbedJob

pytestmark = pytest.mark.spark


@pytest.fixture
def job(tmp_path: Path) -> Iterator[DisturbedJob]:
    made = DisturbedJob(tmp_path)
    yield made
    made.kill()


def waits(job: DisturbedJob) -> str:
    entry = job.entry()
    return "" if entry is None else entry.waits


def outlasts(job: DisturbedJob, says: str, **fault: object) -> None:
    """The job waits, says why, commits nothing meanwhile, and goes on when the store is healed."""
    job.store.command(**fault)
    words = job.wait_until(lambda: waits(job))
    assert words.startswith("waits for the checkpoint store since ")
    assert says in words
    before = job.batches()
    job.store.heal()
    job.wait_until(lambda: job.batches() > before + 1)
    job.wait_until(lambda: not waits(job), seconds=60)


def test_a_store_that_is_full_and_then_refuses_the_commit_log(job: DisturbedJob) -> None:
    """A commit that is not noted is the hardest: the sinks have the batch, which runs again."""
    job.start()
    job.wait_for_batches(3)
    outlasts(job, "No space left on device", write="No space left on device")
    outlasts(job, "Connection refused", write="Connection refused", only=".*/commits/.*")
    job.ends_right()


@pytest.mark.long
@pytest.mark.parametrize(
    ("says", "fault"),
    [
        ("Read-only file system", {"write": "Read-only file system"}),
        ("Read-only file system", {"write": "Read-only file system", "only": ".*/state/.*"}),
        ("Connection refused", {"write": "Connection refused", "only": ".*/offsets/.*"}),
        ("Connection timed out", {"read": "Connection timed out"}),
        ("No space left on device", {"write": "No space left on device", "after": 100}),
    ],
    ids=["read-only", "state", "offsets", "unreadable", "full in mid-file"],
)
def test_a_store_that_fails_in_part(job: DisturbedJob, says: str, fault: dict[str, object]) -> None:
    job.start()
    for _ in range(2):
        job.wait_for_batches(2)
        outlasts(job, says, **fault)
    job.ends_right()


@pytest.mark.long
def test_a_store_that_does_not_answer_is_told(tmp_path: Path) -> None:
    job = DisturbedJob(tmp_path, {"execution.checkpointing.store.slow-after": "2 s"})
    try:
        job.start()
        job.wait_for_batches(3)
        for only in (".*/commits/.*", ".*/offsets/.*", ".*/state/.*"):
            outlasts(job, "does not end", hang=True, only=only)
        job.ends_right()
    finally:
        job.kill()


@pytest.mark.long
def test_a_slow_store_only_costs_time(tmp_path: Path) -> None:
    job = DisturbedJob(tmp_path, {"execution.checkpointing.store.slow-after": "300 s"}, events=6_000)
    try:
        job.store.command(delay=40)
        job.start()
        job.ends_right()
        assert job.process is not None
        assert "waits" not in job.process.text()
    finally:
        job.kill()


@pytest.mark.long
def test_patience_ends(tmp_path: Path) -> None:
    job = DisturbedJob(tmp_path, {"execution.checkpointing.store.patience": "4 s"})
    try:
        job.start()
        job.wait_for_batches(3)
        job.store.command(write="Read-only file system")
        assert job.process is not None
        assert job.process.process.wait(200) == 1
        assert "FAILED [STORE_UNREACHABLE] The checkpoint store has failed for" in job.process.text()
        job.start(resume=True)
        assert job.process.process.wait(200) == 1, "a job that starts does not wait"
        assert "FAILED [STORE_UNREACHABLE] The checkpoint" in job.process.text()
        job.store.heal()
        job.start(resume=True)
        job.ends_right()
    finally:
        job.kill()


@pytest.mark.long
def test_a_job_that_waits_can_be_stopped(job: DisturbedJob) -> None:
    job.start()
    job.wait_for_batches(3)
    job.store.command(write="Read-only file system")
    job.wait_until(lambda: waits(job))
    entry, process = job.entry(), job.process
    assert entry is not None
    assert process is not None
    requests.ask(job.registry, entry, "stop")
    assert process.process.wait(200) == 0, process.text()[-3000:]
    job.store.heal()
    job.start(resume=True)
    job.ends_right()


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
        failed = [c for c in History(job.registry.job_folder(entry.id)).latest() if c.status == "failed"]
        assert len({c.id for c in failed}) == 1
        assert len(failed) >= 2
    finally:
        job.kill()
