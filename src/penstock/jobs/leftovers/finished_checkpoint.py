"""The mark of a checkpoint whose job has read all its input, so that nothing is left to resume."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from penstock.atomic_file import write_atomic
from penstock.jobs.registry.process import ProcessId

_FILE = "finished"


def mark_checkpoint_finished(checkpoint: str) -> None:
    """Marks a checkpoint when its job has read all its input. If that fails, the checkpoint is kept for longer."""
    with suppress(OSError):
        write_atomic(Path(checkpoint, "penstock", _FILE), b"", durable=False)


def unmark_checkpoint_finished(checkpoint: str) -> None:
    """Removes the mark when the job continues."""
    with suppress(OSError):
        Path(checkpoint, "penstock", _FILE).unlink(missing_ok=True)


def finished_at(checkpoint: Path) -> float | None:
    """When the job of a checkpoint has read all its input; None if it has not."""
    try:
        file = checkpoint / "penstock" / _FILE
        return file.lstat().st_mtime if file.is_file() else None
    except OSError:
        return None


def is_locked(checkpoint: Path) -> bool:
    """Whether a job may be running on a checkpoint. The lock of another machine counts."""
    try:
        owner = json.loads(Path(checkpoint, "penstock", "lock").read_bytes())
        process = ProcessId(str(owner["host"]), int(owner["pid"]), str(owner["started"]))
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return False  # damaged by a process that died
    return process.is_alive() if process.is_here else True
