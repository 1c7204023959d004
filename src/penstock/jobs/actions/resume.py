"""Resumes a job with the program, arguments, options and mode of its last run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.config.checkpoint_options import PROGRAM_JOBS, RESUME
from penstock.config.execution_options import FORK_PLAN
from penstock.errors import CheckpointError, JobError
from penstock.jobs.actions.start import StartedProgram, start_program
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.latest_checkpoint import LatestCheckpoint
from penstock.jobs.registry.launch import Launch, job_options
from penstock.jobs.registry.launch_file import StoredLaunch, read_launch
from penstock.jobs.registry.program_jobs import program_jobs
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.resume_command import secret_command


class ResumePlan(msgspec.Struct, frozen=True):
    """What is started to resume a job. The options of the launch contain the checkpoint to resume."""

    job_id: str
    name: str
    checkpoint: str
    launch: Launch


def plan_resume(
    registry: Registry,
    job: str,
    *,
    options: Mapping[str, Any] | None = None,
    args: list[str] | None = None,
    detached: bool | None = None,
) -> ResumePlan:
    """Finds how a job is resumed. `job` is an id, the beginning of an id, a name, or a checkpoint folder.

    `options` are added to the recorded ones. `args` replace the recorded arguments of the program, `detached` the recorded mode.

    Raises:
        JobError: the job is unknown, runs, or its program cannot be started again.
        CheckpointError: the job has no checkpoint.
    """
    stored, checkpoint = _find(registry, job)
    launch = stored.launch.changed(job_options(options or {}), args)
    _check(launch, stored.job_id, checkpoint)
    if launch.missing_secrets():
        raise JobError(
            "RESUME_SECRETS",
            f"The command line of job {stored.job_id} contained secrets, which are not stored. Put them in place of *** and run: "
            f"{secret_command(job, launch)}",
        )
    jobs = program_jobs(registry, stored, checkpoint)
    position = {RESUME.key: checkpoint} if jobs is None else {RESUME.key: checkpoint, PROGRAM_JOBS.key: jobs.option()}
    launch = launch.changed(position).revealed()
    folder = launch.folder if os.path.isdir(launch.folder) else ""  # it may not exist on another machine
    detached = launch.detached if detached is None else detached
    launch = msgspec.structs.replace(launch, folder=folder, detached=detached, python="")
    return ResumePlan(stored.job_id, stored.name, checkpoint, launch)


def resume_job(
    registry: Registry,
    job: str,
    *,
    options: Mapping[str, Any] | None = None,
    args: list[str] | None = None,
) -> StartedProgram:
    """Resumes a job in the background. Returns when it runs or its program has ended. The arguments are those of `plan_resume`."""
    return start_program(registry, plan_resume(registry, job, options=options, args=args, detached=True).launch)


def _find(registry: Registry, job: str) -> tuple[StoredLaunch, str]:
    """The launch of a job, and its checkpoint folder."""
    folder = _checkpoint_folder(job)
    if folder is None:
        entry: JobEntry | None = registry.find(job)
    else:
        entry = next((e for e in registry.entries() if e.checkpoint == folder), None)
    if entry is not None:
        folder = folder or _checkpoint_of(entry)
    assert folder is not None
    stored = StoredLaunch(entry.id, entry.name, entry.launch) if entry and entry.launch else read_launch(folder)
    if stored is None:
        raise JobError(
            "JOB_NOT_RESTARTABLE",
            f"It is not known which program wrote the checkpoint {folder}, because the program was not run from a file. Run the "
            f"program with the option {RESUME.key}={folder}",
        )
    return stored, folder


def _checkpoint_folder(job: str) -> str | None:
    """The checkpoint at a path, or the last one in the fixed folder of a job; None if the text is not such a path."""
    path = os.path.abspath(job)
    if os.path.isfile(os.path.join(path, "penstock", "job.json")):
        return path
    if not os.path.isdir(path):
        return None
    latest = LatestCheckpoint(path).find()
    if latest is None and os.sep in job:
        raise CheckpointError(
            "NO_CHECKPOINT",
            f"{job} holds no checkpoint of a Penstock job (penstock/job.json was not found). Give the folder that the job printed, "
            "its id or its name.",
        )
    return latest


def _checkpoint_of(entry: JobEntry) -> str:
    if not entry.is_over:
        raise JobError(
            "JOB_RUNNING",
            f"Job {entry.id} ('{entry.name}') is still running: process {entry.process.pid} on {entry.process.host}. There is "
            "nothing to resume.",
        )
    if not entry.checkpoint:
        raise JobError(
            "JOB_IN_BATCH_MODE",
            f"Job {entry.id} ('{entry.name}') ran in batch mode. It has no checkpoint and cannot be resumed. Start it again.",
        )
    if not os.path.isdir(entry.checkpoint):
        raise CheckpointError(
            "NO_CHECKPOINT",
            f"The checkpoint of job {entry.id} ('{entry.name}') is gone: {entry.checkpoint} does not exist on this machine. "
            "Restore the folder, or start the job again with empty state.",
        )
    return entry.checkpoint


def _check(launch: Launch, job_id: str, checkpoint: str) -> None:
    if FORK_PLAN.key in launch.options:
        raise JobError(
            "JOB_NOT_RESTARTABLE", f"Job {job_id} is a run of penstock fork or replay. Run that command again instead."
        )
    if not Path(launch.script).exists():
        raise JobError(
            "JOB_NOT_RESTARTABLE",
            f"The program of job {job_id}, {launch.script}, does not exist on this machine. Restore the file, or run the program "
            f"at its new path: penstock run JOB.PY --resume {checkpoint}",
        )
