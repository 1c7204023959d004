"""Opens what a job starts from: a savepoint, or the checkpoint of a stopped job of the local engine."""

from __future__ import annotations

from penstock.engine.program.program import Program
from penstock.jobs.checkpoint.checkpoint import check_engine
from penstock.jobs.checkpoint.job_description import read_job_description
from penstock.jobs.checkpoint.retained_log import savepoint_from_log
from penstock.savepoints.savepoint import Savepoint, is_checkpoint, open_savepoint


def open_saved_state(path: str, program: Program) -> Savepoint:
    """Opens a savepoint, or a checkpoint as a savepoint. Only Spark can read a checkpoint of Spark."""
    if not is_checkpoint(path):
        return open_savepoint(path)
    check_engine(path, read_job_description(path), "local")
    return savepoint_from_log(path, program)
