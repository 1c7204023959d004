"""`penstock logs`: the log of a job's process."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.failure import told
from penstock.cli.info import Job
from penstock.errors import JobError
from penstock.jobs.entry import JobEntry
from penstock.jobs.registry import Registry, registry_of

_POLL = 0.2


def logs(
    job: Job,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job is over.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", metavar="N", help="Only the last N lines; 0: all.")] = 0,
) -> None:
    """Show the log of a job: what it logged, Spark's own output, and all output of a detached program."""
    registry = registry_of()
    with told():
        entry = registry.find(job)
        log = _log_of(entry)
    position = _show(log, lines)
    if follow:
        try:
            _follow(registry, entry, log, position)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


def _log_of(entry: JobEntry) -> Path:
    log = Path(entry.log)
    if not entry.log or not log.is_file():
        where = f"{log} on {entry.process.host}" if entry.log else "no file"
        raise JobError(
            "NO_LOG", f"Job {entry.id} has no log here: {where}. It was removed, or lies on another machine."
        )
    return log


def _show(log: Path, lines: int) -> int:
    """Prints the end of a log; gives how far it went."""
    data = log.read_bytes()
    shown = data.splitlines(keepends=True)[-lines:] if lines > 0 else [data]
    _put(b"".join(shown))
    return len(data)


def _follow(registry: Registry, entry: JobEntry, log: Path, position: int) -> None:
    while True:
        now = registry.entry(entry.id)
        over = now is None or now.is_over  # asked first: what was written before the end is shown
        with open(log, "rb") as file:
            file.seek(position)
            data = file.read()
        _put(data)
        position += len(data)
        if over:
            return
        time.sleep(_POLL)


def _put(data: bytes) -> None:
    sys.stdout.write(data.decode(errors="replace"))
    sys.stdout.flush()
