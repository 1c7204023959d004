"""Reads the files that sources and sinks keep in the checkpoint. Without such a file a job could lose or repeat data."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.errors import CheckpointError


def read_checkpoint_file(path: str | os.PathLike[str]) -> bytes | None:
    """Returns the contents of a file, or None if it does not exist.

    Raises:
        CheckpointError: the file cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise damaged_file_error(path, error.strerror or str(error)) from error


def damaged_file_error(path: str | os.PathLike[str], reason: object) -> CheckpointError:
    """The error for a file whose contents cannot be used."""
    return CheckpointError(
        "CHECKPOINT_DAMAGED",
        f"The file {path} of the checkpoint is damaged: {reason}. Without it the job could lose or repeat data. Restore the file "
        "from a backup, or start the job from a savepoint with --from-savepoint.",
    )


def newer_file_error(path: str | os.PathLike[str], found: int, known: int) -> CheckpointError:
    """The error for a file that a newer version of Penstock wrote."""
    return CheckpointError(
        "CHECKPOINT_FORMAT",
        f"The file {path} of the checkpoint has format {found}, and this version of Penstock reads formats up to {known}. A newer "
        "version wrote it. Resume the job with that version.",
    )
