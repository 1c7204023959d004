"""`penstock checkpoints`: lists the last checkpoints of a job, or shows one in detail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.arguments import Job
from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.output_console import output_console
from penstock.cli.render.times import format_time, format_watermark
from penstock.jobs.actions.checkpoints import checkpoint_as_dict, find_checkpoint, list_checkpoints
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, OperatorStats, SinkStats, SourceStats, TaskStats
from penstock.jobs.registry.registry import registry_of
from penstock.units import format_latency, format_size

_STYLES = {"completed": "green", "in progress": "cyan", "failed": "red"}
_MOST_TASKS = 40  # shown; --json has all

Number = Annotated[
    int | None, typer.Argument(metavar="ID", help="Show one checkpoint with its operators, tasks, sources and sinks.")
]


def checkpoints(
    job: Job,
    number: Number = None,
    last: Annotated[int, typer.Option("--last", "-n", metavar="N", min=1, help="Only the newest N checkpoints.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Show the checkpoints of a job: how long they took, what they wrote, and where the time went."""
    registry = registry_of()
    with error_exit():
        entry = registry.find(job)
        if number is None:
            found = list_checkpoints(registry, entry, last)
        else:
            found = [find_checkpoint(registry, entry, number)]
    if as_json:
        for checkpoint in found:
            print(json.dumps(checkpoint_as_dict(checkpoint)))
        return
    console = output_console()
    if not found:
        none = "ran in batch mode, without checkpoints" if entry.batch else "has no checkpoints yet"
        console.print(f"Job {entry.id} {none}.", style="dim")
    elif number is None:
        console.print(checkpoints_table(found, console.width))
        for c in found:
            if c.reason:
                console.print(Text(f"{c.id} failed: {c.reason}", style="red"), soft_wrap=True)
    else:
        for part in checkpoint_report(found[0], console.width):
            console.print(part)


Cell = tuple[str, int, str]  # heading, minimum width of the terminal, text


def _table(rows: list[list[Cell]], width: int, texts: int = 1, styles: list[str] | None = None) -> Table:
    """A table with the columns that fit the width of the terminal."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for index, (heading, minimum, _) in enumerate(rows[0]):
        if width >= minimum:
            table.add_column(heading, no_wrap=True, justify="left" if index < texts else "right", overflow="ellipsis")
    for index, row in enumerate(rows):
        shown = [Text(text) for _, minimum, text in row if width >= minimum]
        if styles:
            shown[1].stylize(styles[index])
        table.add_row(*shown)
    return table


def checkpoints_table(found: list[CheckpointStats], width: int) -> Table:
    """A table with one row per checkpoint."""
    return _table([_row(c) for c in found], width, 2, [_STYLES[c.status] for c in found])


def _row(c: CheckpointStats) -> list[Cell]:
    done, acknowledged = c.status == "completed", c.latest_acknowledged
    return [
        ("id", 0, str(c.id)),
        ("status", 0, c.status),
        ("tasks", 50, f"{c.acknowledged_tasks}/{c.all_tasks}"),
        ("triggered", 0, format_time(c.triggered).split()[1]),
        ("last ack", 90, "" if acknowledged is None else f"+{format_latency(acknowledged - c.triggered)}"),
        ("took", 0, format_latency(c.seconds) if done else ""),
        ("in", 70, f"{c.records:,}" if done else ""),
        ("state", 60, format_size(c.state_bytes) if c.tasks else ""),
        ("log", 100, format_size(c.state_log_bytes) if c.tasks else ""),
        ("written", 80, format_size(c.written_bytes) if c.tasks else ""),
        ("files", 90, str(c.measured.files or "")),
    ]


def checkpoint_report(c: CheckpointStats, width: int) -> Iterator[RenderableType]:
    """One checkpoint in detail, from top to bottom."""
    yield _summary(c)
    slowest = sorted(c.tasks, key=lambda t: -(t.acknowledged - t.began))[:_MOST_TASKS]
    for rows in (
        [_operator(o) for o in c.operators],
        [_task(c, t) for t in sorted(slowest, key=lambda t: (t.level, t.slot))],
        [_source(s) for s in c.sources],
        [_sink(s) for s in c.sinks],
    ):
        if rows:
            yield Text()
            yield _table(rows, width)
    if c.waits_for:
        yield Text()
        waits = [f"waiting for {_task_name(u.level, u.slot)} on {u.host} for {u.seconds:.0f} s" for u in c.waits_for]
        yield Text("\n".join(waits))


def _summary(c: CheckpointStats) -> Text:
    timings, acknowledged = c.measured, c.latest_acknowledged
    planning, logging, storing = map(format_latency, (timings.planning, timings.logging, c.storing))
    rows: list[tuple[str, str | Text]] = [
        ("checkpoint", f"{c.id}, run {c.run} of the job"),
        ("status", Text(c.status, style=_STYLES[c.status])),
        ("reason", Text(c.reason, style="red") if c.reason else ""),
        ("tasks", f"{c.acknowledged_tasks} of {c.all_tasks} acknowledged"),
        ("triggered", format_time(c.triggered)),
        ("last ack", f"{format_latency(acknowledged - c.triggered)} later" if acknowledged else ""),
        ("took", f"{format_latency(c.seconds)}, {format_latency(c.work)} of it for the elements" if c.seconds else ""),
        ("", f"planning {planning}, logs {logging}, state {storing}" if c.seconds else ""),
        ("state", _state(c) if c.tasks else ""),
        ("files", f"{timings.files} in the checkpoint" if timings.files else ""),
    ]
    return Text("\n").join(Text.assemble((f"{name:<15}", "bold"), value) for name, value in rows if value)


def _state(c: CheckpointStats) -> str:
    live, log, written = map(format_size, (c.state_bytes, c.state_log_bytes, c.written_bytes))
    return f"{live}; log {log}; written {written}"


def _operator(o: OperatorStats) -> list[Cell]:
    return [
        ("operator", 0, o.name),
        ("in", 0, f"{o.records:,}"),
        ("out", 60, f"{o.out:,}"),
        ("slowest", 0, format_latency(o.slowest)),
        ("all tasks", 70, format_latency(o.seconds)),
        ("skew", 50, f"{o.skew:.1f}" if o.level else ""),
        ("entries", 100, f"{o.entries:,}" if o.entries else ""),
        ("written", 80, format_size(o.written_bytes) if o.entries else ""),
        ("event time", 110, format_watermark(o.watermark)),
        ("hot keys", 90, ", ".join(f"{key} {share:.0%}" for key, share in o.hot)),
    ]


def _task(c: CheckpointStats, t: TaskStats) -> list[Cell]:
    return [
        ("task", 0, _task_name(t.level, t.slot)),
        ("delay", 0, format_latency(t.began - c.triggered)),
        ("catch up", 80, format_latency(t.catch_up) if t.level else ""),
        ("run", 0, format_latency(t.run)),
        ("sync", 60, format_latency(t.sync) if t.level else ""),
        ("async", 60, _async(c, t)),
        ("in", 50, f"{t.records:,}"),
        ("state", 100, format_size(t.state_bytes) if t.level else ""),
        ("log", 120, format_size(t.state_log_bytes) if t.level else ""),
        ("written", 90, format_size(t.written_bytes) if t.level else ""),
        ("worker", 110, t.worker),
    ]


def _async(c: CheckpointStats, task: TaskStats) -> str:
    """The commit of the state store. Spark reports only the mean over the tasks of a level."""
    commits = c.measured.storing
    return f"~{format_latency(commits[task.level - 1])}" if 0 < task.level <= len(commits) else ""


def _task_name(level: int, slot: int) -> str:
    return f"level {level} slot {slot}" if level else f"source task {slot}"


def _source(s: SourceStats) -> list[Cell]:
    return [
        ("source", 0, s.name),
        ("in", 0, f"{s.records:,}"),
        ("reading", 0, format_latency(s.reading)),
        ("lag", 0, "" if s.lag is None else f"{s.lag:,}"),
        ("event time", 80, format_watermark(s.mark)),
    ]


def _sink(s: SinkStats) -> list[Cell]:
    return [
        ("sink", 0, s.name),
        ("in", 0, f"{s.records:,}"),
        ("writing", 0, format_latency(s.writing)),
        ("commit", 0, format_latency(s.committing)),
        ("files", 60, f"{s.files:,} of {format_size(s.bytes / s.files)}" if s.files else ""),
    ]
