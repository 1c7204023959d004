"""Keeps Spark's chatter out of the terminal: the JVM writes to a log file.

A child process inherits file descriptors 1 and 2 when it starts. They point to the log while the session is made, and
back to the terminal afterwards; the JVM and its Python workers keep the log for as long as they live.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def output_to(log: Path | None) -> Iterator[None]:
    """Inside, processes that start write to the log; None: to the terminal, as ever."""
    if log is None:
        yield
        return
    flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        for number in kept:
            os.dup2(file, number)
        yield
    finally:
        flush()
        for number, terminal in kept.items():
            os.dup2(terminal, number)
            os.close(terminal)
        os.close(file)


def flush() -> None:
    """What was printed before a switch belongs where it was printed to."""
    sys.stdout.flush()
    sys.stderr.flush()
