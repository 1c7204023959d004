"""`penstock list`: lists the jobs of the registry."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.render.times import format_time
from penstock.jobs.actions import jobs as actions
from penstock.jobs.actions.jobs import JobInfo
from penstock.jobs.registry.entry import ENDED, JobEntry
from penstock.jobs.registry.registry import registry_of
from penstock.units import format_duration

STYLES = {
    "created": "cyan",
    "running": "green",
    "finished": "dim",
    "failed": "red",
    "cancelled": "yellow",
    "lost": "magenta",
}
_WIDE = 90
_ID_LENGTH = 12  # characters of an id that are shown


def list_jobs(
    running: Annotated[bool, typer.Option("--running", help="Only jobs that have not ended.")] = False,
    last: Annotated[int, typer.Option("--last", "-n", metavar="N", min=1, help="Only the newest N jobs.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """List the jobs of this machine, running and ended ones."""
    registry = registry_of()
    jobs = actions.list_jobs(registry, running=running, limit=last)
    if as_json:
        for job in jobs:
            print(json.dumps(job.as_dict()))
        return
    console = Console(highlight=False)
    if not jobs:
        console.print(f"No jobs in {registry.folder}.", style="dim", soft_wrap=True)
        return
    console.print(jobs_table(jobs, console.width))


def jobs_table(jobs: list[JobInfo], width: int) -> Table:
    """A table with one row per job."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("job", no_wrap=True, min_width=_ID_LENGTH)  # a narrow terminal shortens the name, not the id
    table.add_column("name", no_wrap=True, overflow="ellipsis", min_width=4)
    table.add_column("status", no_wrap=True, min_width=9)
    wide = width >= _WIDE
    if wide:
        table.add_column("started", no_wrap=True)
    for heading in ("time", "in", "out") if wide else ("time",):
        table.add_column(heading, justify="right", no_wrap=True)
    for job in jobs:
        entry, progress = job.entry, job.progress
        counts = [f"{progress.read:,}", f"{progress.written:,}"] if wide else []
        started = [format_time(entry.started)] if wide else []
        duration = format_duration(entry.seconds)
        table.add_row(entry.id[:_ID_LENGTH], entry.name, status_text(entry), *started, duration, *counts)
    return table


def status_text(entry: JobEntry) -> Text:
    """The status of a job in its colour."""
    status = entry.current_status()
    if entry.waits and status not in ENDED:
        return Text(f"{status}, waits", style="yellow")
    return Text(f"{status} (stopped)" if entry.stopped and status == "finished" else status, style=STYLES[status])
