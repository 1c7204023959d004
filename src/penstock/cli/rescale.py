"""`penstock rescale`: a job goes on with another parallelism: savepoint, stop and a new start in one command."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from penstock.cli.detached import first_job, new_log, start
from penstock.cli.failure import told
from penstock.cli.info import Job
from penstock.config import FROM_SAVEPOINT, RESCALED
from penstock.errors import JobError
from penstock.jobs.entry import JobEntry
from penstock.jobs.registry import Registry, registry_of
from penstock.jobs.requests import wait_until_over
from penstock.jobs.savepoints import SavepointAnswer, ask_savepoint, wait_for

_POLL = 0.2
_STEPS = 4  # savepoint, end, start, first batch

Tell = Callable[[str, float], None]  # what is done, and how far all of it is: 0 to _STEPS


def rescale(
    job: Job,
    parallelism: Annotated[int, typer.Option("--parallelism", "-p", metavar="N", min=1, help="Subtasks from now on.")],
    savepoint_dir: Annotated[
        str,
        typer.Option(
            "--savepoint-dir", metavar="DIR", help="Where the savepoint goes; not given: as the job's options say."
        ),
    ] = "",
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long each step may take.")
    ] = 600.0,
) -> None:
    """Give a running job another parallelism: take a savepoint, stop it, and start its program from there.

    The new job has an id of its own and runs by itself, as after `penstock run --detached`. Prints its id.
    """
    registry = registry_of()
    with told():
        entry = registry.find(job)
        with _progress(f"rescale {entry.id[:8]} to {parallelism}") as tell:
            new = rescaled(registry, entry, parallelism, savepoint_dir, wait, tell)
    print(new.id)
    print(
        f"penstock: '{new.name}' runs with parallelism {new.parallelism} (before: {entry.parallelism}), from {new.from_savepoint}; "
        f"penstock logs {new.id[:8]} --follow shows its output",
        file=sys.stderr,
    )


def rescaled(
    registry: Registry, entry: JobEntry, parallelism: int, directory: str, wait: float, tell: Tell
) -> JobEntry:
    """The job that goes on; whatever fails says how to go on by hand."""
    launch = entry.launch
    if launch is None:
        raise JobError(
            "JOB_NOT_RESTARTABLE",
            f"Nobody knows how to start the program of job {entry.id} again: it was not run from a file, or with secrets on its "
            "command line, which are not written down. Stop it with `penstock stop --savepoint`, then run the program with "
            f"--from-savepoint PATH -D {RESCALED.key}={parallelism}.",
        )
    if parallelism == entry.parallelism:
        raise JobError("RESCALE_SAME", f"Job {entry.id} has parallelism {parallelism} already. Nothing was done.")
    if not Path(launch.script).is_file():
        raise JobError(
            "JOB_NOT_RESTARTABLE",
            f"The program of job {entry.id}, {launch.script}, is not there any more. Put it back; nothing was done.",
        )
    tell("takes a savepoint", 0)
    request = ask_savepoint(registry, entry, directory, "stop")
    answer = wait_for(registry, entry, request, wait, lambda a: tell("takes a savepoint", _share(a)))
    tell("waits for its end", 1)
    wait_until_over(registry, entry.id, wait)
    log = new_log(registry)
    command = launch.command({FROM_SAVEPOINT.key: answer.path, RESCALED.key: parallelism}, ["--log", str(log)])
    tell("starts again", 2)
    process = start(command, log, launch.folder)
    new = first_job(registry, process)
    if new is None:
        raise _not_started(
            entry, answer.path, command, f"its program ended with exit code {process.returncode}; see {log}"
        )
    tell("loads its state", 3)
    new = _first_batch(registry, new, wait)
    if new.status == "failed":
        why = "" if new.error is None else f"[{new.error.code}] {new.error.text}"
        raise _not_started(entry, answer.path, command, why)
    tell("runs", _STEPS)
    return new


def _share(answer: SavepointAnswer) -> float:
    return answer.written / answer.parts if answer.parts else 0.0


def _first_batch(registry: Registry, entry: JobEntry, wait: float) -> JobEntry:
    """The entry once a batch is committed: then all state is loaded. Or when the job is over, or the time is up."""
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline:
        entry = registry.entry(entry.id) or entry
        progress = registry.progress(entry.id)
        if entry.is_over or (progress is not None and progress.batches):
            break
        time.sleep(_POLL)
    return entry


def _not_started(entry: JobEntry, savepoint: str, command: list[str], why: str) -> JobError:
    return JobError(
        "RESCALE_NOT_STARTED",
        f"Job {entry.id} was stopped with the savepoint {savepoint}, and did not start again: {why}. Nothing is lost; when the "
        f"cause is gone, start it with: {shlex.join(command[1:])}",
    )


@contextmanager
def _progress(what: str) -> Iterator[Tell]:
    """A bar on a terminal; elsewhere a line for each step."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        last = ""

        def line(step: str, done: float) -> None:
            nonlocal last
            if step != last:
                console.print(f"penstock: {what}: {step}", soft_wrap=True)
            last = step

        yield line
        return
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=_STEPS)
        yield lambda step, done: progress.update(task, completed=done, description=f"{what}: {step}")
