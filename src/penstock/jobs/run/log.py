"""The log of this process: Spark's own output, and what its jobs have to say."""

from __future__ import annotations

import os
import time
from pathlib import Path

from penstock.redaction import redacted

_logs: dict[int, Path] = {}


def use_log(log: Path) -> None:
    """This process writes to a file that somebody else chose."""
    _logs[os.getpid()] = log


def process_log(folder: Path) -> Path:
    """The one log file of this process; in the folder, if none was chosen before."""
    log = _logs.get(os.getpid())
    if log is None:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(exist_ok=True)
        log = _logs[os.getpid()] = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    return log


def append(log: Path, text: str) -> None:
    """Adds lines, each with the time."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    with open(log, "a", encoding="utf-8") as file:
        file.write("".join(f"{stamp} {line}\n" for line in redacted(text).splitlines()))
