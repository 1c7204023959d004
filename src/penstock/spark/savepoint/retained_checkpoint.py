"""Converts the checkpoint of a stopped job to a savepoint, as Flink starts jobs from retained checkpoints."""

from __future__ import annotations

import logging
import os

from penstock.config import Configuration
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.jobs.checkpoint.job_description import read_job_description
from penstock.jobs.checkpoint.lock import CheckpointLock
from penstock.jobs.checkpoint.retained_log import savepoint_from_log
from penstock.jobs.checkpoint.retained_parts import add_retained_parts
from penstock.savepoints.manifest import MANIFEST_FILE
from penstock.savepoints.savepoint import Savepoint, open_savepoint
from penstock.spark.checkpoint.spark_log import last_committed_batch, unfinished_batch
from penstock.spark.savepoint.state_reader import checkpoint_as_savepoint

_log = logging.getLogger("penstock.job")


def savepoint_from_checkpoint(folder: str, program: Program, configuration: Configuration) -> Savepoint:
    """Returns the state after the last committed batch of a checkpoint as a savepoint. Its files are stored in the checkpoint."""
    if read_job_description(folder).engine == "local":
        return savepoint_from_log(folder, program)
    lock = CheckpointLock(folder)
    lock.acquire()
    try:
        savepoint = _write_savepoint(folder, configuration)
        add_retained_parts(savepoint, folder, program)
        return savepoint
    finally:
        lock.release()


def _write_savepoint(folder: str, configuration: Configuration) -> Savepoint:
    batch = last_committed_batch(folder)
    if batch < 0:
        raise CheckpointError(
            "CHECKPOINT_EMPTY",
            f"The checkpoint {folder} has no committed batch, so it has no state to start from. Start the job without it.",
        )
    if unfinished_batch(os.path.join(folder, "spark")) is not None:
        _log.warning(
            "The last job of checkpoint %s stopped in batch %d, before it was committed. The new job starts after batch %d. Output "
            "of the unfinished batch that is already visible, in sinks that commit task by task such as Kafka, will be written "
            "again. To finish the batch first, run the old program with --resume.",
            folder,
            batch + 1,
            batch,
        )
    path = os.path.join(folder, "penstock", "savepoints", f"batch-{batch}")
    if os.path.exists(os.path.join(path, MANIFEST_FILE)):
        return open_savepoint(path)
    return checkpoint_as_savepoint(folder, path, configuration, batch)
