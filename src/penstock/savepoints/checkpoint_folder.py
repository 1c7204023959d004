"""How a job's checkpoint is told from a savepoint."""

from __future__ import annotations

from pathlib import Path


def is_checkpoint(path: str) -> bool:
    """Whether a path is that of a job's checkpoint."""
    return Path(path, "penstock", "job.json").is_file()
