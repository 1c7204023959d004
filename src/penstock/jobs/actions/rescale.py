"""Restarts a running job with another parallelism: savepoint, stop, and a new start from the savepoint."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from penstock.config.checkpoint_options import FROM_SAVEPOINT
from penstock.config.rescale_options import RESCALED
from penstock.errors import JobError
from penstock.jobs.actions.savepoint import take_savepoint
from penstock.jobs.actions.start import StartedProgram, start_program
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.launch_file import StoredLaunch
from penstock.jobs.registry.program_jobs import other_jobs
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.savepoint_requests import SavepointProgress

_POLL = 0.2
RESCALE_STEPS = 3  # savepoint and stop, start, first batch

RescaleStep = Literal["taking a savepoint", "starting", "loading state", "running"]


class RescaleProgress(msgspec.Struct, frozen=True):
    """How far a rescale is."""

    step: RescaleStep
    completed: float  # steps, from 0 to RESCALE_STEPS


class RescaledJob(msgspec.Struct, frozen=True):
    """The job that replaced another one."""

    job: JobEntry
    savepoint: str
    previous_parallelism: int


def rescale_job(
    registry: Registry,
    entry: JobEntry,
    parallelism: int,
    *,
    directory: str = "",
    wait: float = 600.0,
    on_progress: Callable[[RescaleProgress], None] = lambda progress: None,
) -> RescaledJob:
    """Stops a job with a savepoint and starts its program again from there, with another parallelism.

    The new job has its own id and runs in the background. The call returns when the new job has committed a batch, which means that
    its state is loaded. Each step may take `wait` seconds. If the new job does not start, the error contains the command that
    starts it.
    """
    launch = _check_restartable(entry, parallelism).revealed()
    if other_jobs(registry, StoredLaunch(entry.id, entry.name, launch), entry.checkpoint):
        raise JobError(
            "JOB_NOT_RESTARTABLE",
            f"The program of job {entry.id} runs several jobs, and a new start of the program would start all of them. Run the job "
            "in a program of its own to rescale it. Nothing was changed.",
        )

    def on_savepoint(progress: SavepointProgress) -> None:
        written = progress.written / progress.parts if progress.parts else 0.0
        on_progress(RescaleProgress("taking a savepoint", written))

    on_progress(RescaleProgress("taking a savepoint", 0))
    savepoint = take_savepoint(
        registry, entry, directory=directory, then="stop", wait=wait, on_progress=on_savepoint
    ).path
    on_progress(RescaleProgress("starting", 1))
    started = start_program(registry, launch, {FROM_SAVEPOINT.key: savepoint, RESCALED.key: parallelism})
    if started.job is None:
        reason = f"its program ended with exit code {started.exit_code}. See {started.log}"
        raise _not_started(entry, savepoint, started, reason)
    on_progress(RescaleProgress("loading state", 2))
    job = _wait_for_first_batch(registry, started.job, wait)
    if job.status == "failed":
        reason = "it failed" if job.error is None else f"[{job.error.code}] {job.error.text}"
        raise _not_started(entry, savepoint, started, reason)
    on_progress(RescaleProgress("running", RESCALE_STEPS))
    return RescaledJob(job, savepoint, entry.parallelism)


def _check_restartable(entry: JobEntry, parallelism: int) -> Launch:
    launch = entry.launch
    if launch is None:
        raise JobError(
            "JOB_NOT_RESTARTABLE",
            f"The registry does not contain the command that starts the program of job {entry.id}, because the program was not run "
            f"from a file. {_by_hand(parallelism)}",
        )
    if missing := launch.missing_secrets():
        raise JobError(
            "JOB_NOT_RESTARTABLE",
            f"The command line of job {entry.id} contains secrets, which are not stored: {', '.join(s.name for s in missing)}. "
            f"{_by_hand(parallelism)}",
        )
    if parallelism == entry.parallelism:
        raise JobError("RESCALE_SAME", f"Job {entry.id} already has parallelism {parallelism}. Nothing was changed.")
    if not Path(launch.script).exists():
        raise JobError(
            "JOB_NOT_RESTARTABLE",
            f"The program of job {entry.id}, {launch.script}, does not exist any more. Restore the file and try again. "
            "Nothing was changed.",
        )
    return launch


def _by_hand(parallelism: int) -> str:
    return (
        "Stop it with `penstock stop --savepoint`, then run the program with --from-savepoint PATH "
        f"-D {RESCALED.key}={parallelism}."
    )


def _wait_for_first_batch(registry: Registry, entry: JobEntry, wait: float) -> JobEntry:
    """Returns the entry when a batch is committed, the job has ended, or the wait time is over."""
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline:
        entry = registry.entry(entry.id) or entry
        progress = registry.progress(entry.id)
        if entry.is_over or (progress is not None and progress.batches):
            break
        time.sleep(_POLL)
    return entry


def _not_started(entry: JobEntry, savepoint: str, started: StartedProgram, reason: str) -> JobError:
    return JobError(
        "RESCALE_NOT_STARTED",
        f"Job {entry.id} was stopped with the savepoint {savepoint} and did not start again: {reason}. No data is lost. When the "
        f"cause is fixed, start the job with: {shlex.join(started.command[1:])}",
    )
