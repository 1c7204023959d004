"""Who is told how a job goes: a line at the bottom of the terminal, JSON lines, or nobody."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from penstock.cli.quiet import terminal

Report = dict[str, Any]  # what the router says of a batch


@dataclass(slots=True)
class JobFacts:
    """What identifies a running job, and what its batches have amounted to so far."""

    name: str
    job_id: str
    checkpoint: str
    began: float = field(default_factory=time.monotonic)
    batches: int = 0
    read: int = 0
    written: int = 0
    late: int = 0
    state_bytes: int = 0
    watermark: int | None = None
    _rates: list[tuple[float, int]] = field(default_factory=list)

    def add(self, report: Report) -> None:
        """Takes in the report of one more batch."""
        self.batches += 1
        self.read += sum(report["read"].values())
        self.written += sum(report["outputs"].values())
        self.late += sum(report["late"].values())
        self.state_bytes = report["state_bytes"]
        self.watermark = min(report["watermarks"].values(), default=None)
        self._rates.append((time.monotonic(), self.read))
        while len(self._rates) > 2 and self._rates[-1][0] - self._rates[0][0] > 5:
            del self._rates[0]

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def rate(self) -> float:
        """Records read per second, over the last five seconds."""
        if len(self._rates) < 2:
            return self.read / max(self.seconds, 0.001)
        (first, before), (last, after) = self._rates[0], self._rates[-1]
        return (after - before) / max(last - first, 0.001)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "job_id": self.job_id,
            "checkpoint": self.checkpoint,
            "seconds": round(self.seconds, 3),
            "batches": self.batches,
            "read": self.read,
            "written": self.written,
            "late": self.late,
            "state_bytes": self.state_bytes,
        }


class Watcher:
    """Told of each job of a program. This one keeps the facts and says nothing."""

    def __init__(self) -> None:
        self.jobs: list[JobFacts] = []

    def started(self, job: JobFacts) -> None:
        self.jobs.append(job)

    def batch(self, job: JobFacts, report: Report) -> None:
        job.add(report)

    def ended(self, job: JobFacts, failed: bool) -> None:
        """The job runs no more."""


class JsonWatcher(Watcher):
    """One line of JSON on stderr for each thing that happens."""

    def started(self, job: JobFacts) -> None:
        super().started(job)
        tell(event="started", name=job.name, job_id=job.job_id, checkpoint=job.checkpoint)

    def batch(self, job: JobFacts, report: Report) -> None:
        super().batch(job, report)
        tell(event="batch", job_id=job.job_id, **report)

    def ended(self, job: JobFacts, failed: bool) -> None:
        if not failed:
            tell(event="finished", **job.to_dict())


def tell(**facts: Any) -> None:
    print(json.dumps(facts), file=sys.stderr, flush=True)


class TerminalWatcher(Watcher):
    """A line when a job starts and one when it ends; between them, in a terminal, one that moves."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(file=terminal(), highlight=False, soft_wrap=True)
        self._live: Live | None = None

    def started(self, job: JobFacts) -> None:
        super().started(job)
        self.console.print(f"penstock: job {job.job_id}, checkpoint {job.checkpoint}", style="dim")
        if self.console.is_terminal:
            # What the program prints must stay on its own stdout: Live may only take hold of a terminal.
            taken = sys.stdout.isatty()
            self._live = Live(console=self.console, transient=True, redirect_stdout=taken, redirect_stderr=False)
            self._live.start()

    def batch(self, job: JobFacts, report: Report) -> None:
        super().batch(job, report)
        if self._live is not None:
            self._live.update(Text(progress_line(job), style="cyan"))

    def ended(self, job: JobFacts, failed: bool) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if not failed:
            self.console.print(f"penstock: {summary_line(job)}", style="dim")


def progress_line(job: JobFacts) -> str:
    """Where a job stands, in one line."""
    parts = [job.name, f"batch {job.batches}", f"{job.read:,} in", f"{job.written:,} out", f"{job.rate:,.0f}/s"]
    if job.late:
        parts.append(f"{job.late:,} late")
    parts.append(f"state {size_of(job.state_bytes)}")
    return " · ".join(parts)


def summary_line(job: JobFacts) -> str:
    """What a job came to, in one line."""
    rate = job.read / max(job.seconds, 0.001)
    return (
        f"'{job.name}' finished in {job.seconds:.1f} s: {job.read:,} records in, {job.written:,} out, "
        f"{counted(job.batches, 'batch', 'batches')}, {rate:,.0f} records/s"
    )


def counted(n: int, one: str, more: str) -> str:
    """A number with its noun.

    >>> counted(1, "batch", "batches"), counted(2, "batch", "batches")
    ('1 batch', '2 batches')
    """
    return f"{n:,} {one if n == 1 else more}"


def size_of(size: float) -> str:
    """Bytes as people read them.

    >>> size_of(512), size_of(3_500_000)
    ('512 B', '3.5 MB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
