"""Access to stderr while the output of Spark goes to a log file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from penstock.jobs.run.output import flush


def duplicate_stderr() -> TextIO:
    """A copy of stderr. It reaches the terminal also while a Spark session starts and stderr itself goes to the log."""
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # a test has replaced stderr by an object without a file descriptor
        return sys.stderr
    return open(descriptor, "w", encoding=sys.stderr.encoding, errors="replace")


def redirect_stderr(log: str) -> None:
    """Sends stderr to the log from now on. When the JVM ends first, threads of pyspark print errors that mean nothing."""
    if log and Path(log).exists():
        flush()
        file = os.open(log, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, 2)
        os.close(file)
