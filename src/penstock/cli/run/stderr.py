"""Access to stderr while the output of Spark goes to a log file."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from penstock.jobs.run.output import flush


class LossyWriter(io.TextIOWrapper):
    """Drops text that cannot be written, because a job must not fail when its terminal is closed or its reader has ended."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()

    def close(self) -> None:
        with suppress(OSError):
            super().close()


def duplicate_stderr() -> TextIO:
    """A copy of stderr. It reaches the terminal also while a Spark session starts and stderr itself goes to the log."""
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # a test has replaced stderr by an object without a file descriptor
        return sys.stderr
    stream = io.BufferedWriter(io.FileIO(descriptor, "w"))
    return LossyWriter(stream, encoding=sys.stderr.encoding, errors="replace", line_buffering=True)


def discard_stdout() -> None:
    """Discards what is written to stdout from now on. Otherwise Python reports at its end that it cannot flush a closed stdout."""
    with suppress(OSError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)


def redirect_stderr(log: str) -> None:
    """Sends stderr to the log from now on. When the JVM ends first, threads of pyspark print errors that mean nothing."""
    if log and Path(log).exists():
        flush()
        file = os.open(log, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, 2)
        os.close(file)
