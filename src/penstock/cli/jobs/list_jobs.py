"""`penstock list`: lists the jobs of the registry."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from penstock.cli.render.output_console import output_console
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
_MIN_NAME = 4
_GAP = 3  # between two columns


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
    console = output_console()
    if not jobs:
        console.print(f"No jobs in {registry.folder}.", style="dim", soft_wrap=True)
        return
    console.print(jobs_table(jobs, console.width))


def jobs_table(jobs: list[JobInfo], width: int) -> Table:
    """A table with one row per job. Long names are shortened, so that the other columns fit."""
    wide = width >= _WIDE
    rows = [_row(job, wide) for job in jobs]
    headings = ("status", "started", "time", "in", "out") if wide else ("status", "time")
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("job", no_wrap=True, min_width=_ID_LENGTH)
    name_width = max(_MIN_NAME, width - _ID_LENGTH - sum(widths) - _GAP * (len(widths) + 1))
    table.add_column("name", no_wrap=True, overflow="ellipsis", max_width=name_width)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("status", "started") else "right", no_wrap=True)
    for job, row in zip(jobs, rows, strict=True):
        table.add_row(job.entry.id[:_ID_LENGTH], job.entry.name, *row)
    return table


def _row(job: JobInfo, wide: bool) -> list[Text]:
    """The columns after the name."""
    entry, progress = job.entry, job.progress
    status, duration = status_text(entry), Text(format_duration(entry.seconds))
    if not wide:
        return [status, duration]
    return [
        status,
        Text(format_time(entry.started)),
        duration,
        Text(f"{progress.read:,}"),
        Text(f"{progress.written:,}"),
    ]


def status_text(entry: JobEntry) -> Text:
    """The status of a job in its colour."""
    status = entry.current_status()
    if entry.waits and status not in ENDED:
        return Text(f"{status}, waits", style="yellow")
    return Text(f"{status} (stopped)" if entry.stopped and status == "finished" else status, style=STYLES[status])
