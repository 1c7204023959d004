"""Whether a job that is resumed had already ended."""

from __future__ import annotations

from typing import Any

from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.spark.checkpoint.spark_log import last_committed_batch, read_offsets


def has_ended(checkpoint: Checkpoint) -> bool:
    """Whether a job that is resumed had already processed all of its input."""
    batch = last_committed_batch(checkpoint.folder) if checkpoint.resumed else -1
    if batch < 0:
        return False
    try:
        control: dict[str, Any] | None = read_offsets(checkpoint.folder, batch)[0]
    except (OSError, ValueError, IndexError):
        return False  # a damaged checkpoint is reported when it is repaired
    return bool(control and control.get("end"))
