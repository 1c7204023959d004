"""`penstock logs`: shows the log of a job."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock.cli.arguments import Job
from penstock.cli.render.error_exit import error_exit
from penstock.jobs.actions.logs import read_log
from penstock.jobs.registry.registry import registry_of


def logs(
    job: Job,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show new lines until the job ends.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", metavar="N", help="Only the last N lines; 0: all.")] = 0,
) -> None:
    """Show the log of a job: its own log lines, Spark's output, and all output of a detached program."""
    registry = registry_of()
    try:
        with error_exit():
            for text in read_log(registry, registry.find(job), lines=lines, follow=follow):
                sys.stdout.write(text)
                sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
