"""The terminal while Spark writes to a log."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from penstock.jobs.output import flush


def terminal() -> TextIO:
    """Stderr as it is now: what is written to it reaches the terminal also while a session starts."""
    try:
        kept = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # stderr is no file: a test has replaced it
        return sys.stderr
    return open(kept, "w", encoding=sys.stderr.encoding, errors="replace")


def rest_to(log: str) -> None:
    """From here on errors go to the log: pyspark's threads complain when the JVM dies before them."""
    if log and Path(log).exists():
        flush()
        file = os.open(log, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, 2)
        os.close(file)
