"""A job's figures as the terminal shows them: a line, and a table of its operators that fits the terminal's width."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.words import counted, event_time, lag_of, size_of, span_of
from penstock.jobs.entry import JobEntry
from penstock.jobs.progress import SINK, SOURCE, OperatorFigures, Progress, StageFigures

Column = tuple[str, int, Callable[[OperatorFigures], str]]  # heading, least width of the terminal, text

_COLUMNS: tuple[Column, ...] = (
    ("in", 64, lambda o: "" if o.kind == SOURCE else f"{o.records_in:,}"),
    ("in/s", 44, lambda o: "" if o.kind == SOURCE else f"{o.in_rate:,.0f}"),
    ("out", 64, lambda o: "" if o.kind == SINK else f"{o.records_out:,}"),
    ("out/s", 44, lambda o: "" if o.kind == SINK else f"{o.out_rate:,.0f}"),
    ("late", 76, lambda o: f"{o.late:,}" if o.late else ""),
    ("event time", 100, lambda o: event_time(o.watermark)),
    ("lag", 112, lambda o: lag_of(o.watermark, time.time())),
)
_AVERAGES = ("in/s", "out/s")


def board(entry: JobEntry, progress: Progress, width: int) -> RenderableType:
    """A running job."""
    line = Text(progress_line(entry, progress), style="cyan")
    return Group(line, operators(progress, width)) if width >= 44 and progress.batches else line


def progress_line(entry: JobEntry, progress: Progress) -> str:
    """Where a job stands, in one line."""
    if not progress.batches:
        doing = stage_words(progress.stages) if progress.stages else "starting"
        return f"{entry.name} · {doing} · {span_of(entry.seconds)}"
    parts = [entry.name, span_of(entry.seconds), f"batch {progress.batches}"]
    if (millis := progress.batch_millis) is not None:
        parts[-1] += f" ({span_of(millis / 1000)})"
    parts += [f"{progress.read:,} in", f"{progress.written:,} out", f"{progress.read_rate:,.0f}/s"]
    if progress.late:
        parts.append(f"{progress.late:,} late")
    if reached := event_time(progress.watermark):
        lag = lag_of(progress.watermark, time.time())
        parts.append(f"event time {reached}" + (f" (lag {lag})" if lag else ""))
    parts.append(f"state {size_of(progress.state_bytes)}")
    return " · ".join(parts)


def stage_words(stages: list[StageFigures]) -> str:
    """Where a batch job stands.

    >>> stage_words([StageFigures("read", 4, 4), StageFigures("totals", 8, 3), StageFigures("top")])
    'stage 2 of 3: totals (3 of 8 tasks)'
    """
    at = next((i for i, stage in enumerate(stages) if not stage.tasks or stage.done < stage.tasks), len(stages) - 1)
    stage = stages[at]
    tasks = f" ({stage.done:,} of {stage.tasks:,} tasks)" if stage.tasks else ""
    return f"stage {at + 1} of {len(stages)}: {stage.name}{tasks}"


def operators(progress: Progress, width: int, seconds: float | None = None) -> Table:
    """The operators; with `seconds`, the rates are those of the whole run."""
    columns = [c for c in _COLUMNS if width >= c[1]]
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False, expand=False)
    table.add_column("operator", no_wrap=True, overflow="ellipsis", max_width=max(12, width // 3))
    for heading, _, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    called = progress.labels()
    for operator in progress.operators:
        shown = operator if seconds is None else _averaged(operator, seconds)
        table.add_row(called[operator.uid], *(text(shown) for _, _, text in columns))
    return table


def _averaged(operator: OperatorFigures, seconds: float) -> OperatorFigures:
    return OperatorFigures(
        operator.uid,
        operator.name,
        operator.kind,
        operator.records_in,
        operator.records_out,
        operator.records_in / seconds,
        operator.records_out / seconds,
        operator.late,
        operator.watermark,
        operator.dead,
        operator.skipped,
    )


def summary_line(entry: JobEntry, progress: Progress) -> str:
    """What a job came to, in one line."""
    rate = progress.read / max(entry.seconds, 0.001)
    how = "was stopped after" if entry.stopped else f"{entry.status} in"
    aside = (f", {progress.late:,} late" if progress.late else "") + aside_words(progress)
    return (
        f"'{entry.name}' {how} {span_of(entry.seconds)}: {progress.read:,} records in, {progress.written:,} out{aside}, "
        f"{counted(progress.batches, 'batch', 'batches')}, {rate:,.0f} records/s"
    )


def aside_words(figures: Progress | OperatorFigures) -> str:
    """What did not go the common way; nothing where all did.

    >>> aside_words(Progress(dead=2, skipped=1))
    ', 2 put aside, 1 skipped'
    """
    dead = f", {figures.dead:,} put aside" if figures.dead else ""
    return dead + (f", {figures.skipped:,} skipped" if figures.skipped else "")


def operator_line(operator: OperatorFigures, called: str) -> str:
    """One operator, where there is no table."""
    parts = [] if operator.kind == SOURCE else [f"{operator.records_in:,} in"]
    parts += [] if operator.kind == SINK else [f"{operator.records_out:,} out"]
    parts += [f"{operator.late:,} late"] if operator.late else []
    return f"{called}: {', '.join(parts)}{aside_words(operator)}"
