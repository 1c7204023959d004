"""Opens what a job starts from: a savepoint, or the checkpoint of a stopped job of the local engine."""

from __future__ import annotations

from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.savepoints.savepoint import Savepoint, is_checkpoint, open_savepoint


def open_saved_state(path: str, program: Program) -> Savepoint:
    """Opens a savepoint."""
    if is_checkpoint(path):
        raise CheckpointError(
            "CHECKPOINT_ENGINE",
            f"{path} is a checkpoint. The local engine starts from savepoints: resume the job with the engine that wrote the "
            "checkpoint, take a savepoint (penstock savepoint JOB), and start this job from it.",
        )
    return open_savepoint(path)
