"""Shows the progress of jobs: a board at the bottom of the terminal, plain lines, or JSON lines."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live

from penstock.cli.render.board import job_board, operator_line, operators_table, progress_line, summary_line
from penstock.cli.run.stderr import duplicate_stderr
from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.progress import Progress
from penstock.jobs.run.listener import Listener

_LINE_INTERVAL = 5.0  # seconds between two progress lines if the output is not a terminal


class Watcher(Listener):
    """Remembers the jobs of the program and their progress. Prints nothing."""

    def __init__(self) -> None:
        self.jobs: dict[str, tuple[JobEntry, Progress]] = {}

    def on_created(self, job: JobEntry) -> None:
        self.jobs[job.id] = job, Progress()

    def on_batch(self, job: JobEntry, progress: Progress, report: BatchReport) -> None:
        self.jobs[job.id] = job, progress

    def on_stages(self, job: JobEntry, progress: Progress) -> None:
        self.jobs[job.id] = job, progress

    def on_ended(self, job: JobEntry, progress: Progress) -> None:
        self.jobs[job.id] = job, progress

    def print_line(self, text: str) -> None:
        """Prints a message of the command."""

    def running_jobs(self) -> list[tuple[JobEntry, Progress]]:
        return [(job, progress) for job, progress in list(self.jobs.values()) if job.ended is None]

    def last_job(self) -> tuple[JobEntry, Progress] | None:
        """The job that was started last, if there is one."""
        return list(self.jobs.values())[-1] if self.jobs else None


class JsonWatcher(Watcher):
    """Prints one line of JSON on stderr for each event."""

    def on_created(self, job: JobEntry) -> None:
        super().on_created(job)
        print_event(event="started", name=job.name, job_id=job.id, checkpoint=job.checkpoint, log=job.log)

    def on_batch(self, job: JobEntry, progress: Progress, report: BatchReport) -> None:
        super().on_batch(job, progress, report)
        print_event(event="batch", job_id=job.id, **report.to_dict())

    def on_message(self, job: JobEntry, text: str) -> None:
        print_event(event="told", job_id=job.id, text=text)

    def on_ended(self, job: JobEntry, progress: Progress) -> None:
        super().on_ended(job, progress)
        if job.status == "finished":
            print_event(event="finished", **job_totals(job, progress))


def job_totals(job: JobEntry, progress: Progress) -> dict[str, Any]:
    """The totals of a job as JSON values."""
    return {
        "name": job.name,
        "job_id": job.id,
        "checkpoint": job.checkpoint,
        "stopped": job.stopped,
        "seconds": round(job.seconds, 3),
        "batches": progress.batches,
        "read": progress.read,
        "written": progress.written,
        "late": progress.late,
        "dead": progress.dead,
        "skipped": progress.skipped,
        "state_bytes": progress.state_bytes,
        "state_log_bytes": progress.state_log_bytes,
        "operators": msgspec.to_builtins(progress.operators),
        "metrics": progress.metrics,
    }


def print_event(**fields: Any) -> None:
    """Prints an event as a line of JSON on stderr."""
    with suppress(OSError):  # a job must not fail when the reader of its events has ended
        print(json.dumps(fields), file=sys.stderr, flush=True)


class JsonLogHandler(logging.Handler):
    """Writes log records as lines of JSON, so that all lines on stderr are JSON."""

    def emit(self, record: logging.LogRecord) -> None:
        print_event(event="log", level=record.levelname, logger=record.name, text=record.getMessage())


@contextmanager
def log_as_json() -> Iterator[None]:
    """Inside the block, log records are written as JSON, unless the program configures logging itself."""
    before = logging.lastResort
    logging.lastResort = JsonLogHandler(logging.WARNING)
    try:
        yield
    finally:
        logging.lastResort = before


class TerminalWatcher(Watcher):
    """Prints a line when a job starts and a summary when it ends. On a terminal, a board shows the progress in between."""

    def __init__(self, console: Console | None = None, line_interval: float = _LINE_INTERVAL) -> None:
        super().__init__()
        self._line_interval = line_interval
        self.console = console or Console(file=duplicate_stderr(), highlight=False)
        self.has_board = self.console.is_terminal and not self.console.is_dumb_terminal
        self._live: Live | None = None
        self._last_line: dict[str, float] = {}  # job id to the time of its last progress line
        self._lock = threading.Lock()

    def on_created(self, job: JobEntry) -> None:
        super().on_created(job)
        self.print_line(f"penstock: {job.start_message}")
        self._last_line[job.id] = time.monotonic()
        with self._lock:
            if self.has_board and self._live is None:
                # Live may redirect stdout only if it is a terminal. Otherwise the output of the program would get lost.
                self._live = Live(
                    console=self.console,
                    get_renderable=self.render,
                    transient=True,
                    refresh_per_second=4,
                    redirect_stdout=sys.stdout.isatty(),
                    redirect_stderr=False,
                )
                self._live.start()

    def render(self) -> RenderableType:
        """The board with all running jobs."""
        width = self.console.width
        return Group(*(job_board(job, progress, width) for job, progress in self.running_jobs()))

    def on_batch(self, job: JobEntry, progress: Progress, report: BatchReport) -> None:
        super().on_batch(job, progress, report)
        self._print_progress(job, progress)

    def on_stages(self, job: JobEntry, progress: Progress) -> None:
        super().on_stages(job, progress)
        self._print_progress(job, progress)

    def on_message(self, job: JobEntry, text: str) -> None:
        self.print_line(f"penstock: job {job.id[:12]}: {text}")

    def _print_progress(self, job: JobEntry, progress: Progress) -> None:
        if not self.has_board and time.monotonic() - self._last_line[job.id] >= self._line_interval:
            self._last_line[job.id] = time.monotonic()
            self.print_line(f"penstock: {progress_line(job, progress)}")

    def on_ended(self, job: JobEntry, progress: Progress) -> None:
        super().on_ended(job, progress)
        if not self.running_jobs():
            self.hide_board()
        if job.status == "finished":
            self.print_summary(job, progress)

    def hide_board(self) -> None:
        """Removes the board from the terminal."""
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def print_summary(self, job: JobEntry, progress: Progress) -> None:
        """Prints the totals of a finished job."""
        self.print_line(f"penstock: {summary_line(job, progress)}")
        if self.has_board:
            self.console.print(operators_table(progress, self.console.width, max(job.seconds, 0.001)), style="dim")
        else:
            labels = progress.labels()
            for operator in progress.operators:
                self.print_line(f"penstock:   {operator_line(operator, labels[operator.uid])}")

    def print_line(self, text: str) -> None:
        self.console.print(text, style="dim", soft_wrap=True)
