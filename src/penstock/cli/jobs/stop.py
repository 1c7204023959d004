"""`penstock stop` and `penstock cancel`: end a job."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock.cli.arguments import Job, SavepointFolder
from penstock.cli.render.error_exit import error_exit
from penstock.cli.savepoints.take import take_and_print
from penstock.jobs.actions.stop import JobEnd, cancel_job, stop_job
from penstock.jobs.registry.registry import registry_of

Wait = Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for the end.")]


def stop(
    job: Job,
    drain: Annotated[
        bool,
        typer.Option("--drain", help="Emit the final watermark, so that all timers fire; the job cannot be resumed."),
    ] = False,
    savepoint: Annotated[
        bool, typer.Option("--savepoint", help="Take a savepoint at the end, in --to or in the job's default folder.")
    ] = False,
    to: SavepointFolder = None,
    wait: Wait = 60.0,
) -> None:
    """Stop a job after its running batch. `penstock resume` resumes it."""
    if savepoint or to is not None:
        take_and_print(job, to, "drain" if drain else "stop", wait, as_json=False)
        return
    registry = registry_of()
    with error_exit():
        result = stop_job(registry, registry.find_running(job, "stop"), drain=drain, wait=wait)
    _print_end(result, "drain" if drain else "stop")


def cancel(job: Job, wait: Wait = 60.0) -> None:
    """End a job immediately. Its state is that of the last committed batch."""
    registry = registry_of()
    with error_exit():
        result = cancel_job(registry, registry.find_running(job, "cancel"), wait=wait)
    _print_end(result, "cancel")


def _print_end(result: JobEnd, action: str) -> None:
    if not result.ended:
        print(f"penstock: job {result.job_id} was asked to {action} and is still {result.status}", file=sys.stderr)
        raise typer.Exit(1)
    print(f"{result.job_id} {result.status}")
    if result.resume_from:
        command = result.resume_command or f"--resume {result.resume_from}"
        print(f"penstock: resume with: {command}", file=sys.stderr)
