"""`penstock list`: the jobs of the registry."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.words import moment, span_of
from penstock.jobs.entry import ENDED, JobEntry
from penstock.jobs.progress import Progress
from penstock.jobs.registry import registry_of

STYLES = {
    "created": "cyan",
    "running": "green",
    "finished": "dim",
    "failed": "red",
    "cancelled": "yellow",
    "lost": "magenta",
}
_WIDE = 90
_ID = 12  # signs of an id that are shown


def list_jobs(
    running: Annotated[bool, typer.Option("--running", help="Only jobs that are not over.")] = False,
    last: Annotated[int, typer.Option("--last", "-n", metavar="N", min=1, help="At most so many, the newest.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List the jobs of this machine: those that run, and those that are over."""
    registry = registry_of()
    entries = [e for e in registry.entries() if not running or e.status_now() not in ENDED][:last]
    jobs = [(e, registry.progress(e.id) or Progress()) for e in entries]
    if as_json:
        for entry, progress in jobs:
            print(json.dumps(described(entry, progress)))
        return
    console = Console(highlight=False)
    if not jobs:
        console.print(f"No jobs in {registry.folder}.", style="dim", soft_wrap=True)
        return
    console.print(jobs_table(jobs, console.width))


def described(entry: JobEntry, progress: Progress) -> dict[str, Any]:
    """A job for programs."""
    facts: dict[str, Any] = msgspec.to_builtins(entry)
    return {**facts, "status": entry.status_now(), "progress": msgspec.to_builtins(progress)}


def jobs_table(jobs: list[tuple[JobEntry, Progress]], width: int) -> Table:
    """The jobs, one a row."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("job", no_wrap=True, min_width=_ID)  # narrow terminals shorten the name
    table.add_column("name", no_wrap=True, overflow="ellipsis", min_width=4)
    table.add_column("status", no_wrap=True, min_width=9)
    wide = width >= _WIDE
    if wide:
        table.add_column("started", no_wrap=True)
    for heading in ("time", "in", "out") if wide else ("time",):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry, progress in jobs:
        figures = [f"{progress.read:,}", f"{progress.written:,}"] if wide else []
        when = [moment(entry.started)] if wide else []
        table.add_row(entry.id[:_ID], entry.name, status_of(entry), *when, span_of(entry.seconds), *figures)
    return table


def status_of(entry: JobEntry) -> Text:
    """The status in its colour."""
    status = entry.status_now()
    if entry.waits and status not in ENDED:
        return Text(f"{status}, waits", style="yellow")
    return Text(f"{status} (stopped)" if entry.stopped and status == "finished" else status, style=STYLES[status])
