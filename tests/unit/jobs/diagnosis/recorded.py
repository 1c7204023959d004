"""Recorded checkpoint histories of real jobs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from penstock.jobs.registry.checkpoint_stats import CheckpointStats

HISTORIES = Path(__file__).parent / "histories"
_MAX_CHECKPOINTS = 16


class Recorded(msgspec.Struct):
    """A history, and the time at which it was read."""

    now: float
    checkpoints: list[CheckpointStats]


def record(file: Path, checkpoints: list[CheckpointStats], now: float) -> None:
    """Writes the last part of a history to a file, without host names."""
    last = checkpoints[-_MAX_CHECKPOINTS:]
    for checkpoint in last:
        for task in checkpoint.tasks:
            task.worker = f"laptop:{task.worker.rpartition(':')[2]}" if task.worker else ""
        for waiting in checkpoint.waits_for:
            waiting.host = "laptop"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(msgspec.json.encode(Recorded(now, last)) + b"\n")


def read_recorded(file: Path) -> Recorded:
    return msgspec.json.decode(file.read_bytes(), type=Recorded)
