"""The log file of this process: output of Spark and messages of jobs."""

from __future__ import annotations

import os
import time
from pathlib import Path

from penstock.redaction import redact

_logs: dict[int, Path] = {}


def set_process_log(log: Path) -> None:
    """Sets the log file of this process."""
    _logs[os.getpid()] = log


def process_log(folder: Path) -> Path:
    """Returns the log file of this process. If none was set, it is created in the folder."""
    log = _logs.get(os.getpid())
    if log is None:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        log = _logs[os.getpid()] = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    return log


def append_lines(log: Path, text: str) -> None:
    """Appends lines, each with the time. Secrets are redacted. The folder is created again if somebody has deleted it."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(log, "a", encoding="utf-8") as file:
        file.write("".join(f"{stamp} {line}\n" for line in redact(text).splitlines()))
