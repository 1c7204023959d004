"""`penstock info`: all that the registry knows of a job."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.board import aside_words, operators, stage_words
from penstock.cli.failure import told
from penstock.cli.listing import described, status_of
from penstock.cli.words import event_time, lag_of, moment, size_of, span_of
from penstock.jobs.entry import JobEntry
from penstock.jobs.progress import Progress
from penstock.jobs.registry import registry_of

Job = Annotated[str, typer.Argument(metavar="JOB", help="Its id, the beginning of its id, or its name.")]
_BATCHES = 5


def info(job: Job, as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False) -> None:
    """Show what is known of a job: status, checkpoint, figures of its operators and last batches."""
    registry = registry_of()
    with told():
        entry = registry.find(job)
    progress = registry.progress(entry.id) or Progress()
    if as_json:
        print(json.dumps(described(entry, progress)))
        return
    console = Console(highlight=False)
    for part in pages(entry, progress, console.width):
        console.print(part, soft_wrap=isinstance(part, Text))  # a path that is folded cannot be copied


def pages(entry: JobEntry, progress: Progress, width: int) -> Iterator[RenderableType]:
    """What is shown, from top to bottom."""
    yield _facts(entry, progress)
    if progress.batches:
        yield Text()
        yield operators(progress, width, max(entry.seconds, 0.001) if entry.is_over else None)
        yield Text()
        yield _batches(progress)
    if progress.metrics:
        yield Text()
        yield _metrics(progress.metrics)
    program = shlex.split(entry.program)[:1]
    if entry.is_over and entry.checkpoint and progress.batches and program and program[0].endswith(".py"):
        yield Text()
        command = shlex.join(["penstock", "run", program[0], "--resume", entry.checkpoint])
        yield Text(f"Go on with: {command}", style="dim")


def _facts(entry: JobEntry, progress: Progress) -> Text:
    process = f"{entry.process.pid} on {entry.process.host}"
    facts: list[tuple[str, str | Text]] = [
        ("job", entry.id),
        ("name", entry.name),
        ("status", status_of(entry)),
        ("waits", Text(entry.waits, style="yellow") if entry.waits and not entry.is_over else ""),
        ("error", Text(f"[{entry.error.code}] {entry.error.text}", style="red") if entry.error else ""),
        ("program", entry.program),
        ("started", f"{moment(entry.started)}, run {entry.runs}"),
        ("ended", f"{moment(entry.ended)}, after {span_of(entry.seconds)}" if entry.ended else ""),
        ("process", process),
        ("master", f"{entry.master}, parallelism {entry.parallelism}"),
        ("Spark's pages", entry.web),
        ("mode", "batch" if entry.batch else ""),
        ("stages", stage_words(progress.stages) if progress.stages and not entry.is_over else ""),
        ("started from", entry.from_savepoint),
        ("checkpoint", entry.checkpoint),
        ("log", entry.log),
        ("records", f"{progress.read:,} in, {progress.written:,} out, {progress.late:,} late{aside_words(progress)}"),
        ("event time", _event_time(entry, progress)),
        ("state", size_of(progress.state_bytes) if progress.batches else ""),
    ]
    lines = [Text.assemble((f"{name:<15}", "bold"), value) for name, value in facts if value]
    return Text("\n").join(lines)


def _event_time(entry: JobEntry, progress: Progress) -> str:
    reached = event_time(progress.watermark)
    lag = "" if entry.is_over else lag_of(progress.watermark, time.time())
    return f"{reached}, {lag} behind the clock" if reached and lag else reached


def _batches(progress: Progress) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("batch", "ended", "took", "in", "out", "late", "state"):
        table.add_column(heading, justify="right", no_wrap=True)
    for batch in progress.recent[-_BATCHES:]:
        table.add_row(
            str(batch.batch),
            moment(batch.ended).split()[1],
            "" if batch.millis is None else span_of(batch.millis / 1000),
            f"{batch.read:,}",
            f"{batch.written:,}",
            f"{batch.late:,}",
            size_of(batch.state_bytes),
        )
    return table


def _metrics(metrics: dict[str, Any]) -> Table:
    """What the program's functions count."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("metric")
    table.add_column("value", justify="right")
    for name, value in metrics.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int | float) else json.dumps(value))
    return table
