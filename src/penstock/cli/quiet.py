"""Keeps Spark's chatter out of the terminal: the JVM writes to a log file.

A child process inherits file descriptors 1 and 2 when it starts. They point to the log while the session is made, and
back to the terminal afterwards; the JVM and its Python workers keep the log for as long as they live.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


def new_log() -> Path:
    """A log file of this process, in the system's temporary folder."""
    folder = Path(tempfile.gettempdir(), "penstock-logs")
    folder.mkdir(exist_ok=True)
    return folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"


@contextmanager
def output_to(log: Path | None) -> Iterator[None]:
    """Inside, processes that start write to the log; None: to the terminal, as ever."""
    if log is None:
        yield
        return
    _flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        for number in kept:
            os.dup2(file, number)
        yield
    finally:
        _flush()
        for number, terminal in kept.items():
            os.dup2(terminal, number)
            os.close(terminal)
        os.close(file)


def terminal() -> TextIO:
    """Stderr as it is now: what is written to it reaches the terminal also while a session starts."""
    try:
        kept = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # stderr is no file: a test has replaced it
        return sys.stderr
    return open(kept, "w", encoding=sys.stderr.encoding, errors="replace")


def rest_to(log: Path | None) -> None:
    """From here on errors go to the log: pyspark's threads complain when the JVM dies before them."""
    if log is not None:
        _flush()
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, 2)
        os.close(file)


def _flush() -> None:
    """What was printed before a switch belongs where it was printed to."""
    sys.stdout.flush()
    sys.stderr.flush()
