"""`penstock info`: shows a job in detail."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.arguments import Job
from penstock.cli.jobs.list_jobs import status_text
from penstock.cli.render.board import format_state, operators_table, rejected_text, stage_text
from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.output_console import output_console
from penstock.cli.render.times import format_lag, format_time, format_watermark
from penstock.jobs.actions.jobs import find_job
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.progress import Progress
from penstock.jobs.registry.registry import registry_of
from penstock.jobs.registry.resume_command import resume_command
from penstock.units import format_duration, format_size

_BATCHES = 5


def info(job: Job, as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False) -> None:
    """Show a job: status, checkpoint, metrics of its operators and its last batches."""
    with error_exit():
        found = find_job(registry_of(), job)
    if as_json:
        print(json.dumps(found.as_dict()))
        return
    console = output_console()
    for part in job_report(found.entry, found.progress, console.width):
        console.print(part, soft_wrap=isinstance(part, Text))  # a path with line breaks could not be copied


def job_report(entry: JobEntry, progress: Progress, width: int) -> Iterator[RenderableType]:
    """The sections of the output, from top to bottom."""
    yield _summary(entry, progress)
    if progress.batches:
        yield Text()
        yield operators_table(progress, width, max(entry.seconds, 0.001) if entry.is_over else None)
        yield Text()
        yield _batches(progress)
    if progress.metrics:
        yield Text()
        yield _metrics(progress.metrics)
    has_input = entry.status != "finished" or entry.stopped == "stop"
    if entry.is_over and has_input and (progress.batches or entry.runs > 1) and (command := resume_command(entry)):
        yield Text()
        yield Text(f"Resume with: {command}", style="dim")


def _summary(entry: JobEntry, progress: Progress) -> Text:
    process = f"{entry.process.pid} on {entry.process.host}"
    rows: list[tuple[str, str | Text]] = [
        ("job", entry.id),
        ("name", entry.name),
        ("status", status_text(entry)),
        ("waits", Text(entry.waits, style="yellow") if entry.waits and not entry.is_over else ""),
        ("error", Text(f"[{entry.error.code}] {entry.error.text}", style="red") if entry.error else ""),
        ("program", entry.program),
        ("started", f"{format_time(entry.started)}, run {entry.runs}"),
        ("ended", f"{format_time(entry.ended)}, after {format_duration(entry.seconds)}" if entry.ended else ""),
        ("process", process),
        ("master", f"{entry.master}, parallelism {entry.parallelism}"),
        ("Spark UI", entry.web),
        ("mode", "batch" if entry.batch else ""),
        ("stages", stage_text(progress.stages) if progress.stages and not entry.is_over else ""),
        ("started from", entry.from_savepoint),
        ("checkpoint", entry.checkpoint),
        ("log", entry.log),
        ("records", f"{progress.read:,} in, {progress.written:,} out, {progress.late:,} late{rejected_text(progress)}"),
        ("event time", _event_time(entry, progress)),
        ("state", format_state(progress) if progress.batches else ""),
    ]
    lines = [Text.assemble((f"{name:<15}", "bold"), value) for name, value in rows if value]
    return Text("\n").join(lines)


def _event_time(entry: JobEntry, progress: Progress) -> str:
    reached = format_watermark(progress.watermark)
    lag = "" if entry.is_over else format_lag(progress.watermark, time.time())
    return f"{reached}, {lag} behind the clock" if reached and lag else reached


def _batches(progress: Progress) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("batch", "ended", "took", "in", "out", "late", "state", "log"):
        table.add_column(heading, justify="right", no_wrap=True)
    for batch in progress.recent[-_BATCHES:]:
        table.add_row(
            str(batch.batch),
            format_time(batch.ended).split()[1],
            "" if batch.millis is None else format_duration(batch.millis / 1000),
            f"{batch.read:,}",
            f"{batch.written:,}",
            f"{batch.late:,}",
            format_size(batch.state_bytes),
            format_size(batch.state_log_bytes),
        )
    return table


def _metrics(metrics: dict[str, Any]) -> Table:
    """The metrics that functions of the program registered."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("metric")
    table.add_column("value", justify="right")
    for name, value in metrics.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int | float) else json.dumps(value))
    return table
