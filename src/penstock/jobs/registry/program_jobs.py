"""The jobs of one program. A program that calls `execute` several times runs several jobs, each with its own checkpoint.

`penstock resume` starts the whole program again. The job that is resumed, and the other jobs of the last run, each continue from
their own checkpoint: a job that had finished has nothing left to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from penstock.config import Configuration
from penstock.config.checkpoint_options import ALLOW_DROPPED, FROM_SAVEPOINT, PROGRAM_JOBS, REBUILD, RESUME
from penstock.connectors.basic_sinks import CollectSink
from penstock.errors import JobError
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.launch_file import StoredLaunch, read_launch
from penstock.jobs.registry.registry import Registry
from penstock.plan.graph import JobGraph


class ProgramJobs(msgspec.Struct, frozen=True):
    """The jobs that a program has started, for the next run of the program: the value of the option."""

    first: str  # id of the first job
    resumed: int  # number of the job that is resumed; the first one is 1
    checkpoints: dict[int, str]  # of the other jobs, by number; empty: a batch job, which has none
    otherwise: str = ""  # `execution.resume` of jobs without a checkpoint

    def option(self) -> str:
        return msgspec.json.encode(self).decode()


class _Started:
    """The jobs that this process has started."""

    count = 0
    first = ""


def next_job(graph: JobGraph, configuration: Configuration) -> tuple[int, Configuration]:
    """Counts a job that this program starts. Returns its number, and the options with the checkpoint of this job only.

    A job that passes its results to the program, and does nothing else, begins again, because the program needs the results.
    """
    _Started.count += 1
    number, jobs = _Started.count, _read(configuration)
    if jobs is None or number == jobs.resumed:
        return number, configuration
    configuration = configuration.copy()
    for option in (RESUME, FROM_SAVEPOINT, ALLOW_DROPPED, REBUILD):
        configuration.unset(option)
    checkpoint = jobs.checkpoints.get(number)
    if checkpoint and not all(type(node.sink) is CollectSink for node in graph.sinks):
        configuration.set(RESUME.key, checkpoint)
    elif jobs.otherwise:
        configuration.set(RESUME.key, jobs.otherwise)
    return number, configuration


def first_job(number: int, job_id: str, configuration: Configuration) -> str:
    """The id of the first job of this program, by which its jobs are found later. It stays the same when they are resumed."""
    if number == 1:
        jobs = _read(configuration)
        _Started.first = job_id if jobs is None else jobs.first
    return _Started.first


def _read(configuration: Configuration) -> ProgramJobs | None:
    text = configuration.get(PROGRAM_JOBS)
    return msgspec.json.decode(text, type=ProgramJobs) if text else None


def other_jobs(registry: Registry, job: StoredLaunch, checkpoint: str) -> dict[int, str]:
    """The checkpoints of the other jobs that the program of a job has started, by number. Those of a later run count."""
    own = job.launch
    if not own.first_job:
        return {}
    found: dict[int, str] = {}
    for launch, folder in _candidates(registry, checkpoint):
        if (launch.first_job, launch.script) == (own.first_job, own.script) and launch.job != own.job:
            found.setdefault(launch.job, folder)
    return found


def _candidates(registry: Registry, checkpoint: str) -> Iterator[tuple[Launch, str]]:
    """The jobs of the registry, newest first, and those whose checkpoints are beside a checkpoint."""
    for entry in registry.entries():
        if entry.launch is not None:
            yield entry.launch, entry.checkpoint
    for folder in sorted(Path(checkpoint).parent.glob("*/penstock/launch.json")):
        stored = read_launch(str(folder.parent.parent))
        if stored is not None:
            yield stored.launch, str(folder.parent.parent)


def program_jobs(registry: Registry, job: StoredLaunch, checkpoint: str) -> ProgramJobs | None:
    """What is needed to resume one of several jobs of a program; None if the program has one job.

    Raises:
        JobError: the checkpoint of an earlier job is not known or gone, so that this job would begin again.
    """
    others, number = other_jobs(registry, job, checkpoint), job.launch.job
    if not others and number == 1:
        return None
    gone = [n for n in range(1, number) if n not in others or not (others[n] == "" or Path(others[n]).is_dir())]
    if gone:
        raise JobError(
            "JOB_NOT_RESTARTABLE",
            f"Job {job.job_id} ('{job.name}') is job {number} of its program. A new run of the program would begin again with job "
            f"{', '.join(map(str, gone))}, whose checkpoint does not exist any more. Restore it, or move the job into a program of "
            f"its own and run that with --resume {checkpoint}",
        )
    return ProgramJobs(job.launch.first_job, number, others, job.launch.options.get(RESUME.key, ""))
