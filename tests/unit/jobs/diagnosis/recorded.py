"""Histories of real jobs in the situations, as they were when somebody asked."""

from __future__ import annotations

from pathlib import Path

import msgspec

from penstock.jobs.checkpoints import Checkpoint

HISTORIES = Path(__file__).parent / "histories"
_MOST = 16


class Recorded(msgspec.Struct):
    """A history, and the time at which it was read."""

    now: float
    checkpoints: list[Checkpoint]


def record(file: Path, checkpoints: list[Checkpoint], now: float) -> None:
    """Keeps the last part of a history; names of machines are left out."""
    kept = checkpoints[-_MOST:]
    for checkpoint in kept:
        for task in checkpoint.tasks:
            task.worker = f"laptop:{task.worker.rpartition(':')[2]}" if task.worker else ""
        for waiting in checkpoint.waits_for:
            waiting.host = "laptop"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(msgspec.json.encode(Recorded(now, kept)) + b"\n")


def recorded(file: Path) -> Recorded:
    return msgspec.json.decode(file.read_bytes(), type=Recorded)
