"""Reads the log of a job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import JobError
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry

_POLL = 0.2


def read_log(registry: Registry, entry: JobEntry, *, lines: int = 0, follow: bool = False) -> Iterator[str]:
    """Yields the text of a log. Raises JobError if the log is not on this machine.

    With `lines`, only the last lines of the log. With `follow`, also the lines that are written until the job ends.
    """
    log = _find_log(entry)
    data = log.read_bytes()
    yield b"".join(data.splitlines(keepends=True)[-lines:] if lines > 0 else [data]).decode(errors="replace")
    if follow:
        yield from _follow(registry, entry, log, len(data))


def _find_log(entry: JobEntry) -> Path:
    log = Path(entry.log)
    if not entry.log or not log.is_file():
        expected = f"{log} on {entry.process.host} was expected" if entry.log else "the job has no log file"
        raise JobError(
            "NO_LOG",
            f"The log of job {entry.id} was not found ({expected}). The file was removed, or it is on another machine.",
        )
    return log


def _follow(registry: Registry, entry: JobEntry, log: Path, position: int) -> Iterator[str]:
    while True:
        current = registry.entry(entry.id)
        ended = current is None or current.is_over  # checked before reading, so that the last lines are not missed
        with open(log, "rb") as file:
            file.seek(position)
            data = file.read()
        position += len(data)
        yield data.decode(errors="replace")
        if ended:
            return
        time.sleep(_POLL)
