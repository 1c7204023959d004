"""Redirects the output of Spark from the terminal to a log file.

A child process inherits the file descriptors 1 and 2. They point to the log while the Spark session is created, and to the
terminal afterwards. The JVM and its Python workers write to the log until they end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def redirect_output(log: Path | None) -> Iterator[None]:
    """Processes started inside this context write to the log. With None nothing changes."""
    if log is None:
        yield
        return
    flush()
    terminals = {number: os.dup(number) for number in (1, 2)}
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        for number in terminals:
            os.dup2(file, number)
        yield
    finally:
        flush()
        for number, terminal in terminals.items():
            os.dup2(terminal, number)
            os.close(terminal)
        os.close(file)


def flush() -> None:
    """Flushes stdout and stderr, so that earlier output goes to the earlier target."""
    sys.stdout.flush()
    sys.stderr.flush()
