"""`penstock checkpoints`: the last checkpoints of a job, or one of them part by part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.failure import told
from penstock.cli.info import Job
from penstock.cli.words import event_time, moment, size_of, span_of
from penstock.errors import JobError
from penstock.jobs.checkpoints import Checkpoint, OperatorPart, SinkPart, SourcePart, TaskFigures
from penstock.jobs.history import History
from penstock.jobs.registry import registry_of

_STYLES = {"completed": "green", "in progress": "cyan", "failed": "red"}
_MOST_TASKS = 40  # shown; --json has all

Number = Annotated[
    int | None, typer.Argument(metavar="ID", help="One of them, in full: its operators, tasks, sources and sinks.")
]


def checkpoints(
    job: Job,
    number: Number = None,
    last: Annotated[int, typer.Option("--last", "-n", metavar="N", min=1, help="At most so many, the newest.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show a job's checkpoints: how long they took, what they wrote, and where the time went."""
    registry = registry_of()
    with told():
        entry = registry.find(job)
        history = History(registry.job_folder(entry.id))
        found = history.latest(last) if number is None else [_one(history, number, entry.id)]
    if as_json:
        for checkpoint in found:
            print(json.dumps(described(checkpoint)))
        return
    console = Console(highlight=False)
    if not found:
        none = "ran in batch mode: there are none" if entry.batch else "has no checkpoints yet"
        console.print(f"Job {entry.id} {none}.", style="dim")
    elif number is None:
        console.print(table_of(found, console.width))
        for c in found:
            if c.reason:
                console.print(Text(f"{c.id} failed: {c.reason}", style="red"), soft_wrap=True)
    else:
        for part in pages(found[0], console.width):
            console.print(part)


def _one(history: History, number: int, job: str) -> Checkpoint:
    kept = history.latest()
    found = [c for c in kept if c.id == number]
    if not found:
        known = f"from {kept[0].id} to {kept[-1].id}" if kept else "none"
        raise JobError(
            "CHECKPOINT_UNKNOWN",
            f"The history of job {job} has no checkpoint {number}. It keeps the last ones: {known}. "
            "'penstock checkpoints JOB' lists them.",
        )
    return found[-1]


def described(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint for programs: with the sums that people see."""
    facts: dict[str, Any] = msgspec.to_builtins(checkpoint)
    return {
        "id": checkpoint.id,
        "status": checkpoint.status,
        "triggered": checkpoint.triggered,
        "latest_acknowledged": checkpoint.latest_acknowledged,
        "seconds": round(checkpoint.seconds, 4),
        "work": round(checkpoint.work, 4),
        "storing": round(checkpoint.storing, 4),
        "overhead": round(checkpoint.overhead, 4),
        "state_bytes": checkpoint.state_bytes,
        "written_bytes": checkpoint.written_bytes,
        "files": checkpoint.measured.files,
        "records": checkpoint.records,
        **{name: value for name, value in facts.items() if name not in ("id", "status")},
    }


Cell = tuple[str, int, str]  # heading, least width of the terminal, text


def _table(rows: list[list[Cell]], width: int, texts: int = 1, styles: list[str] | None = None) -> Table:
    """Rows whose columns are those that fit the terminal."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for at, (heading, least, _) in enumerate(rows[0]):
        if width >= least:
            table.add_column(heading, no_wrap=True, justify="left" if at < texts else "right", overflow="ellipsis")
    for at, row in enumerate(rows):
        shown = [Text(text) for _, least, text in row if width >= least]
        if styles:
            shown[1].stylize(styles[at])
        table.add_row(*shown)
    return table


def table_of(found: list[Checkpoint], width: int) -> Table:
    """Checkpoints, one a row."""
    return _table([_row(c) for c in found], width, 2, [_STYLES[c.status] for c in found])


def _row(c: Checkpoint) -> list[Cell]:
    done, acknowledged = c.status == "completed", c.latest_acknowledged
    return [
        ("id", 0, str(c.id)),
        ("status", 0, c.status),
        ("tasks", 50, f"{c.acknowledged_tasks}/{c.all_tasks}"),
        ("triggered", 0, moment(c.triggered).split()[1]),
        ("last ack", 90, "" if acknowledged is None else f"+{_seconds(acknowledged - c.triggered)}"),
        ("took", 0, _seconds(c.seconds) if done else ""),
        ("in", 70, f"{c.records:,}" if done else ""),
        ("state", 60, size_of(c.state_bytes) if c.tasks else ""),
        ("written", 80, size_of(c.written_bytes) if c.tasks else ""),
        ("files", 90, str(c.measured.files or "")),
    ]


def pages(c: Checkpoint, width: int) -> Iterator[RenderableType]:
    """One checkpoint, from top to bottom."""
    yield _facts(c)
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
        waits = [f"waits for {_called(u.level, u.slot)} on {u.host} since {u.seconds:.0f} s" for u in c.waits_for]
        yield Text("\n".join(waits))


def _facts(c: Checkpoint) -> Text:
    spent, acknowledged = c.measured, c.latest_acknowledged
    parts = f"planning {_seconds(spent.planning)}, logs {_seconds(spent.logging)}, state {_seconds(c.storing)}"
    facts: list[tuple[str, str | Text]] = [
        ("checkpoint", f"{c.id}, of the job's run {c.run}"),
        ("status", Text(c.status, style=_STYLES[c.status])),
        ("reason", Text(c.reason, style="red") if c.reason else ""),
        ("tasks", f"{c.acknowledged_tasks} of {c.all_tasks} acknowledged"),
        ("triggered", moment(c.triggered)),
        ("last ack", f"{_seconds(acknowledged - c.triggered)} later" if acknowledged else ""),
        ("took", f"{_seconds(c.seconds)}, of it {_seconds(c.work)} for the elements" if c.seconds else ""),
        ("", parts if c.seconds else ""),
        ("state", f"{size_of(c.state_bytes)}; written now {size_of(c.written_bytes)}" if c.tasks else ""),
        ("files", f"{spent.files} in the checkpoint" if spent.files else ""),
    ]
    return Text("\n").join(Text.assemble((f"{name:<15}", "bold"), value) for name, value in facts if value)


def _operator(o: OperatorPart) -> list[Cell]:
    return [
        ("operator", 0, o.name),
        ("in", 0, f"{o.records:,}"),
        ("out", 60, f"{o.out:,}"),
        ("slowest", 0, _seconds(o.slowest)),
        ("all tasks", 70, _seconds(o.seconds)),
        ("skew", 50, f"{o.skew:.1f}" if o.level else ""),
        ("entries", 100, f"{o.entries:,}" if o.entries else ""),
        ("written", 80, size_of(o.written_bytes) if o.entries else ""),
        ("event time", 110, event_time(o.watermark)),
        ("hot keys", 90, ", ".join(f"{key} {share:.0%}" for key, share in o.hot)),
    ]


def _task(c: Checkpoint, t: TaskFigures) -> list[Cell]:
    return [
        ("task", 0, _called(t.level, t.slot)),
        ("delay", 0, _seconds(t.began - c.triggered)),
        ("catch up", 80, _seconds(t.catch_up) if t.level else ""),
        ("run", 0, _seconds(t.run)),
        ("sync", 60, _seconds(t.sync) if t.level else ""),
        ("async", 60, _async(c, t)),
        ("in", 50, f"{t.records:,}"),
        ("state", 100, size_of(t.state_bytes) if t.level else ""),
        ("written", 90, size_of(t.written_bytes) if t.level else ""),
        ("worker", 110, t.worker),
    ]


def _async(c: Checkpoint, task: TaskFigures) -> str:
    """The store's own commit, of which Spark tells the mean of a level's tasks."""
    known = c.measured.storing
    return f"~{_seconds(known[task.level - 1])}" if 0 < task.level <= len(known) else ""


def _called(level: int, slot: int) -> str:
    return f"level {level} slot {slot}" if level else f"source task {slot}"


def _source(s: SourcePart) -> list[Cell]:
    return [
        ("source", 0, s.name),
        ("in", 0, f"{s.records:,}"),
        ("reading", 0, _seconds(s.reading)),
        ("lag", 0, "" if s.lag is None else f"{s.lag:,}"),
        ("event time", 80, event_time(s.mark)),
    ]


def _sink(s: SinkPart) -> list[Cell]:
    return [
        ("sink", 0, s.name),
        ("in", 0, f"{s.records:,}"),
        ("writing", 0, _seconds(s.writing)),
        ("commit", 0, _seconds(s.committing)),
        ("files", 60, f"{s.files:,} of {size_of(s.bytes / s.files)}" if s.files else ""),
    ]


def _seconds(seconds: float) -> str:
    """A short span.

    >>> _seconds(0.0134), _seconds(2.5), _seconds(185)
    ('13 ms', '2.5 s', '3 min 5 s')
    """
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else span_of(seconds)
