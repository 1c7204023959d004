"""Renders the progress of a job: a line, and a table of its operators that fits the width of the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.render.times import format_lag, format_watermark
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.progress import SINK, SOURCE, OperatorProgress, Progress, StageProgress
from penstock.units import format_count, format_duration, format_size

Column = tuple[str, int, Callable[[OperatorProgress], str]]  # heading, minimum width of the terminal, text

_COLUMNS: tuple[Column, ...] = (
    ("in", 64, lambda o: "" if o.kind == SOURCE else f"{o.records_in:,}"),
    ("in/s", 44, lambda o: "" if o.kind == SOURCE else f"{o.in_rate:,.0f}"),
    ("out", 64, lambda o: "" if o.kind == SINK else f"{o.records_out:,}"),
    ("out/s", 44, lambda o: "" if o.kind == SINK else f"{o.out_rate:,.0f}"),
    ("late", 76, lambda o: f"{o.late:,}" if o.late else ""),
    ("event time", 100, lambda o: format_watermark(o.watermark)),
    ("lag", 112, lambda o: format_lag(o.watermark, time.time())),
)


def job_board(entry: JobEntry, progress: Progress, width: int) -> RenderableType:
    """The board of a running job."""
    line = Text(progress_line(entry, progress), style="cyan")
    return Group(line, operators_table(progress, width)) if width >= 44 and progress.batches else line


def progress_line(entry: JobEntry, progress: Progress) -> str:
    """The progress of a job in one line."""
    if not progress.batches:
        stage = stage_text(progress.stages) if progress.stages else "starting"
        return f"{entry.name} · {stage} · {format_duration(entry.seconds)}"
    parts = [entry.name, format_duration(entry.seconds), f"batch {progress.batches}"]
    if (millis := progress.batch_millis) is not None:
        parts[-1] += f" ({format_duration(millis / 1000)})"
    parts += [f"{progress.read:,} in", f"{progress.written:,} out", f"{progress.read_rate:,.0f}/s"]
    if progress.late:
        parts.append(f"{progress.late:,} late")
    if watermark := format_watermark(progress.watermark):
        lag = format_lag(progress.watermark, time.time())
        parts.append(f"event time {watermark}" + (f" (lag {lag})" if lag else ""))
    parts.append(f"state {format_state(progress)}")
    return " · ".join(parts)


def format_state(progress: Progress) -> str:
    """The size of the state, and of the log of its changes that waits for compaction.

    >>> format_state(Progress(state_bytes=20, state_log_bytes=8_600))
    '20 B (log 8.6 KB)'
    """
    log = f" (log {format_size(progress.state_log_bytes)})" if progress.state_log_bytes else ""
    return format_size(progress.state_bytes) + log


def stage_text(stages: list[StageProgress]) -> str:
    """The current stage of a batch job.

    >>> stage_text([StageProgress("read", 4, 4), StageProgress("totals", 8, 3), StageProgress("top")])
    'stage 2 of 3: totals (3 of 8 tasks)'
    """
    index = next((i for i, stage in enumerate(stages) if not stage.tasks or stage.done < stage.tasks), len(stages) - 1)
    stage = stages[index]
    tasks = f" ({stage.done:,} of {stage.tasks:,} tasks)" if stage.tasks else ""
    return f"stage {index + 1} of {len(stages)}: {stage.name}{tasks}"


def operators_table(progress: Progress, width: int, seconds: float | None = None) -> Table:
    """A table of the operators. With `seconds`, the duration of the run, rates are averages over the run."""
    columns = [c for c in _COLUMNS if width >= c[1]]
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False, expand=False)
    table.add_column("operator", no_wrap=True, overflow="ellipsis", max_width=max(12, width // 3))
    for heading, _, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    labels = progress.labels()
    for operator in progress.operators:
        shown = operator if seconds is None else _with_average_rates(operator, seconds)
        table.add_row(labels[operator.uid], *(text(shown) for _, _, text in columns))
    return table


def _with_average_rates(operator: OperatorProgress, seconds: float) -> OperatorProgress:
    return OperatorProgress(
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
    """The totals of a job in one line."""
    rate = progress.read / max(entry.seconds, 0.001)
    ended = "was stopped after" if entry.stopped else f"{entry.status} in"
    late = f", {progress.late:,} late" if progress.late else ""
    return (
        f"'{entry.name}' {ended} {format_duration(entry.seconds)}: {progress.read:,} records in, {progress.written:,} out"
        f"{late}{rejected_text(progress)}, {format_count(progress.batches, 'batch', 'batches')}, {rate:,.0f} records/s"
    )


def rejected_text(progress: Progress | OperatorProgress) -> str:
    """The number of dead letters and skipped records; empty if there are none.

    >>> rejected_text(Progress(dead=2, skipped=1))
    ', 2 dead letters, 1 skipped'
    """
    dead = f", {format_count(progress.dead, 'dead letter', 'dead letters')}" if progress.dead else ""
    return dead + (f", {progress.skipped:,} skipped" if progress.skipped else "")


def operator_line(operator: OperatorProgress, label: str) -> str:
    """The totals of an operator in one line."""
    parts = [] if operator.kind == SOURCE else [f"{operator.records_in:,} in"]
    parts += [] if operator.kind == SINK else [f"{operator.records_out:,} out"]
    parts += [f"{operator.late:,} late"] if operator.late else []
    return f"{label}: {', '.join(parts)}{rejected_text(operator)}"
