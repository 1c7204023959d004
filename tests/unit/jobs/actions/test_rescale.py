"""The rescale action, with a program that is not really started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.errors import JobError
from penstock.jobs.actions import rescale
from penstock.jobs.actions.rescale import RescaleProgress, rescale_job
from penstock.jobs.actions.start import StartedProgram
from penstock.jobs.registry.entry import Failure, JobEntry
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.progress import Progress
from penstock.jobs.registry.registry import Registry
from tests.unit.jobs.jobs import StoppableJob, entry

LAUNCH = Launch(__file__, ["--fast"], "/", {"a.b": 1}, python="python")


@pytest.mark.parametrize(
    ("launch", "parallelism", "code", "message"),
    [
        (None, 3, "JOB_NOT_RESTARTABLE", "-D execution.rescale.parallelism=3"),
        (Launch("/gone/job.py", [], "/"), 3, "JOB_NOT_RESTARTABLE", "does not exist any more"),
        (LAUNCH, 2, "RESCALE_SAME", "already has parallelism 2"),
    ],
)
def test_refuses_before_a_savepoint_is_taken(
    tmp_path: Path, launch: Launch | None, parallelism: int, code: str, message: str
) -> None:
    registry, job = Registry(tmp_path), entry(status="running", parallelism=2, launch=launch)
    registry.write(job)
    with pytest.raises(JobError) as refused:
        rescale_job(registry, job, parallelism, wait=1.0)
    assert refused.value.code == code
    assert message in refused.value.text
    assert list(registry.job_folder(job.id).glob("savepoint-*")) == []


def start_as(
    monkeypatch: pytest.MonkeyPatch, job: JobEntry | None, exit_code: int | None = None
) -> list[dict[str, Any]]:
    """Replaces the start of the program. Returns the options that it is started with."""
    started: list[dict[str, Any]] = []

    def start_program(registry: Registry, launch: Launch, options: dict[str, Any]) -> StartedProgram:
        started.append(options)
        if job is not None:
            registry.write(job)
            registry.write_progress(job.id, Progress(batches=1))
        return StartedProgram(launch.command(options, []), 7, "/logs/new.log", job, exit_code)

    monkeypatch.setattr(rescale, "start_program", start_program)
    return started


def test_the_new_job_starts_from_the_savepoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry, steps = Registry(tmp_path), list[RescaleProgress]()
    old = StoppableJob(registry, parallelism=2, launch=LAUNCH)
    started = start_as(monkeypatch, entry("new1", status="running", parallelism=3))
    result = rescale_job(registry, old.run.entry, 3, directory=str(tmp_path), wait=180.0, on_progress=steps.append)
    assert old.actions == ["stop"]
    assert started == [
        {"execution.state-recovery.path": f"{tmp_path}/savepoint", "execution.rescale.parallelism": 3},
    ]
    assert (result.job.id, result.savepoint, result.previous_parallelism) == ("new1", f"{tmp_path}/savepoint", 2)
    assert list(dict.fromkeys(p.step for p in steps)) == ["taking a savepoint", "starting", "loading state", "running"]
    assert (stopped := registry.entry(old.run.entry.id)) is not None
    assert stopped.status == "finished"


@pytest.mark.parametrize(
    ("job", "exit_code", "reason"),
    [
        (None, 3, "its program ended with exit code 3. See /logs/new.log"),
        (entry("new1", status="failed", error=Failure("NO_SINK", "There is no sink.")), None, "[NO_SINK] There is no"),
    ],
)
def test_the_error_contains_the_command_that_starts_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: JobEntry | None, exit_code: int | None, reason: str
) -> None:
    registry = Registry(tmp_path)
    old = StoppableJob(registry, parallelism=2, launch=LAUNCH)
    start_as(monkeypatch, job, exit_code)
    with pytest.raises(JobError) as failed:
        rescale_job(registry, old.run.entry, 3, directory=str(tmp_path), wait=180.0)
    assert failed.value.code == "RESCALE_NOT_STARTED"
    assert reason in failed.value.text
    assert f"-D execution.state-recovery.path={tmp_path}/savepoint" in failed.value.text
    assert failed.value.text.endswith(f"{__file__} -- --fast")
