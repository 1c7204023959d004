"""The checkpoint of a job that does not run, turned into a savepoint: as Flink starts jobs from retained checkpoints."""

from __future__ import annotations

import logging
import os
from typing import Any, TypeVar

import cloudpickle

from penstock.config import Configuration
from penstock.connectors.secret import secrets_may_travel
from penstock.connectors.sink import Sink
from penstock.connectors.source import Source
from penstock.engine.program import Program
from penstock.errors import CheckpointError
from penstock.savepoints.manifest import NAME, SavedSink
from penstock.savepoints.savepoint import Savepoint, open_savepoint
from penstock.spark.checkpoint import sink_folder
from penstock.spark.lock import CheckpointLock
from penstock.spark.spark_log import last_commit
from penstock.spark.state_reader import checkpoint_as_savepoint
from penstock.spark.unfinished import unfinished_batch

_log = logging.getLogger("penstock.job")
T = TypeVar("T")


def savepoint_of(folder: str, program: Program, configuration: Configuration) -> Savepoint:
    """The last committed batch of a checkpoint as a savepoint, whose files are kept in it.

    The program that is to start from it is asked what its sources make of the offsets in Spark's log, and what its sinks keep
    in the checkpoint.
    """
    lock = CheckpointLock(folder)
    lock.acquire()
    try:
        savepoint = _savepoint_of(folder, configuration)
        for source in savepoint.manifest.sources:
            source.position = _position(folder, program, source.uid, source.position)
        savepoint.manifest.sinks = _sinks(folder, program)
        return savepoint
    finally:
        lock.release()


def _savepoint_of(folder: str, configuration: Configuration) -> Savepoint:
    batch = last_commit(folder)
    if batch < 0:
        raise CheckpointError(
            "CHECKPOINT_EMPTY",
            f"The checkpoint {folder} holds no committed batch: there is no state to start from. Start without it.",
        )
    if unfinished_batch(os.path.join(folder, "spark")) is not None:
        _log.warning(
            "The checkpoint %s was left in the middle of batch %d. The new job starts behind batch %d; what the unfinished one "
            "has already made visible in sinks that commit task by task (Kafka's) will come again. To finish it first, run the "
            "old program once more with --resume.",
            folder,
            batch + 1,
            batch,
        )
    path = os.path.join(folder, "penstock", "savepoints", f"batch-{batch}")
    if os.path.exists(os.path.join(path, NAME)):
        return open_savepoint(path)
    return checkpoint_as_savepoint(folder, path, configuration, batch)


def _sinks(folder: str, program: Program) -> list[SavedSink]:
    found = []
    for uid, name, sink in zip(program.sink_uids, program.sink_names, program.sinks, strict=True):
        own = sink_folder(folder, uid)
        if os.path.isdir(own):
            copy: Sink = _copied(sink)
            copy.attach(own)
            found.append(SavedSink(uid, name, type(sink).__name__, copy.memory()))
    return found


def _position(folder: str, program: Program, uid: str, offset: Any) -> Any:
    """What another checkpoint needs to go on from an offset: the source itself knows, with what it keeps in the old one."""
    found = next((s.source for s in program.sources if s.uid == uid), None)
    if offset is None or found is None or found.native:
        return offset
    source: Source = _copied(found)
    source.attach(os.path.join(folder, "penstock", "sources", uid))
    return source.position(offset)


def _copied(of: T) -> T:
    """What is attached to the old checkpoint is not the job's own."""
    with secrets_may_travel():
        copy: T = cloudpickle.loads(cloudpickle.dumps(of))
    return copy
