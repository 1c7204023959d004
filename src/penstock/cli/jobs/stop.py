"""`penstock stop` and `penstock cancel`: ask a job to end."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock.cli.failure import told
from penstock.cli.info import Job
from penstock.cli.savepoint import To, save
from penstock.jobs import requests
from penstock.jobs.registry import registry_of
from penstock.jobs.requests import Action

Wait = Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for the end.")]


def stop(
    job: Job,
    drain: Annotated[
        bool,
        typer.Option("--drain", help="Send the final watermark, so that all timers fire; the job cannot be resumed."),
    ] = False,
    savepoint: Annotated[
        bool, typer.Option("--savepoint", help="End with a savepoint: in --to, or in the job's default folder.")
    ] = False,
    to: To = None,
    wait: Wait = 60.0,
) -> None:
    """Let a job finish its running batch, then end; --resume goes on from there."""
    if savepoint or to is not None:
        save(job, to, "drain" if drain else "stop", wait, as_json=False)
        return
    _end(job, "drain" if drain else "stop", wait)


def cancel(job: Job, wait: Wait = 60.0) -> None:
    """End a job at once; its state stays as of the last committed batch."""
    _end(job, "cancel", wait)


def _end(job: str, action: Action, wait: float) -> None:
    registry = registry_of()
    with told():
        entry = registry.find(job)
        requests.ask(registry, entry, action)
    status = requests.wait_until_over(registry, entry.id, wait)
    after = registry.entry(entry.id) or entry
    if not after.is_over:
        print(f"penstock: job {entry.id} was asked to {action} and is still {status}", file=sys.stderr)
        raise typer.Exit(1)
    print(f"{entry.id} {status}")
    if action != "drain" and not after.batch:
        print(f"penstock: go on with --resume {after.checkpoint}", file=sys.stderr)
