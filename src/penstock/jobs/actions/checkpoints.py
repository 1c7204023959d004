"""Reads the checkpoint history of a job."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.errors import JobError
from penstock.jobs.registry.checkpoint_stats import CheckpointStats
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.registry import Registry


def list_checkpoints(registry: Registry, entry: JobEntry, limit: int | None = None) -> list[CheckpointStats]:
    """Returns the last checkpoints of a job, oldest first, with the one in progress at the end."""
    return CheckpointHistory(registry.job_folder(entry.id)).latest(limit)


def find_checkpoint(registry: Registry, entry: JobEntry, number: int) -> CheckpointStats:
    """Returns the checkpoint with this id. Raises JobError if the history does not contain it."""
    history = list_checkpoints(registry, entry)
    found = [checkpoint for checkpoint in history if checkpoint.id == number]
    if not found:
        known = f"It contains checkpoints {history[0].id} to {history[-1].id}." if history else "It is empty."
        raise JobError(
            "CHECKPOINT_UNKNOWN",
            f"The history of job {entry.id} does not contain checkpoint {number}. {known} Only the last checkpoints are retained. "
            "'penstock checkpoints JOB' lists them.",
        )
    return found[-1]


def checkpoint_as_dict(checkpoint: CheckpointStats) -> dict[str, Any]:
    """A checkpoint as JSON values, with the totals that `penstock checkpoints` shows."""
    fields: dict[str, Any] = msgspec.to_builtins(checkpoint)
    return {
        "id": checkpoint.id,
        "status": checkpoint.status,
        "triggered": checkpoint.triggered,
        "latest_acknowledged": checkpoint.latest_acknowledged,
        "seconds": round(checkpoint.seconds, 4),
        "work": round(checkpoint.work, 4),
        "storing": round(checkpoint.storing, 4),
        "overhead": round(checkpoint.overhead, 4),
        "state_bytes": checkpoint.state_bytes,
        "state_log_bytes": checkpoint.state_log_bytes,
        "written_bytes": checkpoint.written_bytes,
        "files": checkpoint.measured.files,
        "records": checkpoint.records,
        **{name: value for name, value in fields.items() if name not in ("id", "status")},
    }
