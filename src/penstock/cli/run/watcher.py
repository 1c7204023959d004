"""Who is told how a job goes: a board at the bottom of the terminal, plain lines, or JSON lines."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live

from penstock.cli.board import board, operator_line, operators, progress_line, summary_line
from penstock.cli.quiet import terminal
from penstock.jobs.entry import JobEntry
from penstock.jobs.listener import Listener
from penstock.jobs.progress import Progress
from penstock.jobs.tally import Report

_PACE = 5.0  # seconds between two lines where there is no terminal


class Watcher(Listener):
    """Keeps what it is told of each job of the program, and says nothing."""

    def __init__(self) -> None:
        self.jobs: dict[str, tuple[JobEntry, Progress]] = {}

    def created(self, job: JobEntry) -> None:
        self.jobs[job.id] = job, Progress()

    def batch(self, job: JobEntry, progress: Progress, report: Report) -> None:
        self.jobs[job.id] = job, progress

    def moved(self, job: JobEntry, progress: Progress) -> None:
        self.jobs[job.id] = job, progress

    def ended(self, job: JobEntry, progress: Progress) -> None:
        self.jobs[job.id] = job, progress

    def say(self, text: str) -> None:
        """Something that the command has to tell beside the figures."""

    def running(self) -> list[tuple[JobEntry, Progress]]:
        return [(job, progress) for job, progress in list(self.jobs.values()) if job.ended is None]

    def last(self) -> tuple[JobEntry, Progress] | None:
        """The job that was started last, if there was one."""
        return list(self.jobs.values())[-1] if self.jobs else None


class JsonWatcher(Watcher):
    """One line of JSON on stderr for each thing that happens."""

    def created(self, job: JobEntry) -> None:
        super().created(job)
        tell(event="started", name=job.name, job_id=job.id, checkpoint=job.checkpoint, log=job.log)

    def batch(self, job: JobEntry, progress: Progress, report: Report) -> None:
        super().batch(job, progress, report)
        tell(event="batch", job_id=job.id, **report)

    def told(self, job: JobEntry, text: str) -> None:
        tell(event="told", job_id=job.id, text=text)

    def ended(self, job: JobEntry, progress: Progress) -> None:
        super().ended(job, progress)
        if job.status == "finished":
            tell(event="finished", **figures(job, progress))


def figures(job: JobEntry, progress: Progress) -> dict[str, Any]:
    """What a job came to, for programs."""
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
        "operators": msgspec.to_builtins(progress.operators),
        "metrics": progress.metrics,
    }


def tell(**facts: Any) -> None:
    print(json.dumps(facts), file=sys.stderr, flush=True)


class JsonLog(logging.Handler):
    """What is logged as a line of JSON too: whoever reads them need not expect anything else."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(event="log", level=record.levelname, logger=record.name, text=record.getMessage())


@contextmanager
def logged_as_json() -> Iterator[None]:
    """For programs that do not say where their log goes."""
    before = logging.lastResort
    logging.lastResort = JsonLog(logging.WARNING)
    try:
        yield
    finally:
        logging.lastResort = before


class TerminalWatcher(Watcher):
    """A line when a job starts and a summary when it ends; between them, in a terminal, a board that moves."""

    def __init__(self, console: Console | None = None, pace: float = _PACE) -> None:
        super().__init__()
        self._pace = pace
        self.console = console or Console(file=terminal(), highlight=False)
        self.moves = self.console.is_terminal and not self.console.is_dumb_terminal
        self._live: Live | None = None
        self._said: dict[str, float] = {}
        self._lock = threading.Lock()

    def created(self, job: JobEntry) -> None:
        super().created(job)
        self.say(f"penstock: {job.introduction}")
        self._said[job.id] = time.monotonic()
        with self._lock:
            if self.moves and self._live is None:
                # What the program prints must stay on its own stdout: Live may only take hold of a terminal.
                self._live = Live(
                    console=self.console,
                    get_renderable=self.drawn,
                    transient=True,
                    refresh_per_second=4,
                    redirect_stdout=sys.stdout.isatty(),
                    redirect_stderr=False,
                )
                self._live.start()

    def drawn(self) -> RenderableType:
        """All jobs that run now."""
        width = self.console.width
        return Group(*(board(job, progress, width) for job, progress in self.running()))

    def batch(self, job: JobEntry, progress: Progress, report: Report) -> None:
        super().batch(job, progress, report)
        self._say_progress(job, progress)

    def moved(self, job: JobEntry, progress: Progress) -> None:
        super().moved(job, progress)
        self._say_progress(job, progress)

    def told(self, job: JobEntry, text: str) -> None:
        self.say(f"penstock: job {job.id[:12]}: {text}")

    def _say_progress(self, job: JobEntry, progress: Progress) -> None:
        if not self.moves and time.monotonic() - self._said[job.id] >= self._pace:
            self._said[job.id] = time.monotonic()
            self.say(f"penstock: {progress_line(job, progress)}")

    def ended(self, job: JobEntry, progress: Progress) -> None:
        super().ended(job, progress)
        if not self.running():
            self.still()
        if job.status == "finished":
            self.sum_up(job, progress)

    def still(self) -> None:
        """Takes the board away."""
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def sum_up(self, job: JobEntry, progress: Progress) -> None:
        """What is told of a job that finished."""
        self.say(f"penstock: {summary_line(job, progress)}")
        if self.moves:
            self.console.print(operators(progress, self.console.width, max(job.seconds, 0.001)), style="dim")
        else:
            called = progress.labels()
            for operator in progress.operators:
                self.say(f"penstock:   {operator_line(operator, called[operator.uid])}")

    def say(self, text: str) -> None:
        self.console.print(text, style="dim", soft_wrap=True)
