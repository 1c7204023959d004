"""Converts the checkpoint of a stopped job to a savepoint, as Flink starts jobs from retained checkpoints."""

from __future__ import annotations

import logging
import os
from typing import Any

from penstock.config import Configuration
from penstock.connectors.sink import Sink
from penstock.connectors.source import Source
from penstock.engine.program.pickling import copy_by_value
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.jobs.checkpoint.checkpoint import sink_folder
from penstock.jobs.checkpoint.lock import CheckpointLock
from penstock.savepoints.manifest import MANIFEST_FILE, SavedSink
from penstock.savepoints.savepoint import Savepoint, open_savepoint
from penstock.spark.checkpoint.spark_log import last_committed_batch, unfinished_batch
from penstock.spark.savepoint.state_reader import checkpoint_as_savepoint

_log = logging.getLogger("penstock.job")


def savepoint_from_checkpoint(folder: str, program: Program, configuration: Configuration) -> Savepoint:
    """Returns the state after the last committed batch of a checkpoint as a savepoint. Its files are stored in the checkpoint.

    The sources of the program that starts from it convert the stored offsets to positions. Its sinks read their files in the
    checkpoint.
    """
    lock = CheckpointLock(folder)
    lock.acquire()
    try:
        savepoint = _write_savepoint(folder, configuration)
        for source in savepoint.manifest.sources:
            source.position = _position(folder, program, source.uid, source.position)
        savepoint.manifest.sinks = _sinks(folder, program)
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


def _sinks(folder: str, program: Program) -> list[SavedSink]:
    found = []
    for uid, name, sink in zip(program.sink_uids, program.sink_names, program.sinks, strict=True):
        own = sink_folder(folder, uid)
        if os.path.isdir(own):
            copy: Sink = copy_by_value(sink)  # the original will be attached to the new checkpoint
            copy.attach(own)
            found.append(SavedSink(uid, name, type(sink).__name__, copy.memory()))
    return found


def _position(folder: str, program: Program, uid: str, offset: Any) -> Any:
    """Converts an offset to a position that is valid in another checkpoint. The source may need its files in the old one."""
    found = next((s.source for s in program.sources if s.uid == uid), None)
    if offset is None or found is None or found.native:
        return offset
    source: Source = copy_by_value(found)  # the original will be attached to the new checkpoint
    source.attach(os.path.join(folder, "penstock", "sources", uid))
    return source.position(offset)
