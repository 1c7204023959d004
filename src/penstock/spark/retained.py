"""The checkpoint of a job that does not run, turned into a savepoint: as Flink starts jobs from retained checkpoints."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
from pyspark.sql import SparkSession

from penstock.connectors.secret import secrets_may_travel
from penstock.connectors.sink import Sink
from penstock.connectors.source import Source
from penstock.engine.program import Program
from penstock.errors import CheckpointError
from penstock.savepoints.manifest import NAME, SavedOperator, SavedSink, SavedSource
from penstock.savepoints.savepoint import Savepoint, open_savepoint
from penstock.savepoints.whole import JobFacts, SavedJob, SlotSnapshot, write_savepoint
from penstock.spark.checkpoint import job_memory, sink_folder
from penstock.spark.lock import CheckpointLock
from penstock.spark.state_reader import read_state
from penstock.spark.unfinished import last_entry, unfinished_batch

_log = logging.getLogger("penstock.job")


def is_checkpoint(path: str) -> bool:
    """Whether a path is that of a job's checkpoint."""
    return Path(path, "penstock", "job.json").is_file()


def savepoint_of(session: SparkSession, folder: str, program: Program) -> Savepoint:
    """The last committed batch of a checkpoint as a savepoint, which is kept in it.

    The program that is to start from it is asked what its sources make of the offsets in Spark's log.
    """
    lock = CheckpointLock(folder)
    lock.acquire()
    try:
        return _savepoint_of(session, folder, program)
    finally:
        lock.release()


def _savepoint_of(session: SparkSession, folder: str, program: Program) -> Savepoint:
    memory = job_memory(folder)
    spark = os.path.join(folder, "spark")
    batch = last_entry(os.path.join(spark, "commits"))
    if batch is None:
        raise CheckpointError(
            "CHECKPOINT_EMPTY",
            f"The checkpoint {folder} holds no committed batch: there is no state to start from. Start without it.",
        )
    if unfinished_batch(spark) is not None:
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
    control, offsets = _offsets(spark, batch)
    sources = [
        SavedSource(
            told["uid"],
            told.get("name", told["uid"]),
            told["kind"],
            number,
            _position(folder, program, told["uid"], offsets[number]),
        )
        for number, told in enumerate(memory["sources"])
    ]
    operators = [
        SavedOperator(
            o["uid"],
            o["name"],
            o["kind"],
            o["keyed"],
            o.get("parallelism", memory["parallelism"]),
            key_type=memory.get("key_types", {}).get(o["uid"]),
        )
        for o in memory["operators"]
    ]
    job = SavedJob(
        memory["name"], memory["parallelism"], memory["max_parallelism"], operators, sources, _sinks(folder, program)
    )
    facts = JobFacts(
        memory["job_id"],
        batch,
        control,
        lineage=memory.get("lineage", ""),
        checkpoint=folder,
        from_savepoint=memory.get("from_savepoint", ""),
        spark=session.version,
    )
    return write_savepoint(path, job, _slots(session, spark, memory, batch), facts)


def _slots(session: SparkSession, spark: str, memory: dict[str, Any], batch: int) -> Iterator[SlotSnapshot]:
    found = read_state(session, spark, memory["parallelism"], memory["levels"], batch)
    for (level, slot), (meta, entries) in sorted(found.items()):
        yield SlotSnapshot(level, slot, meta, sorted(entries.items()))


def _offsets(spark: str, batch: int) -> tuple[Any, list[Any]]:
    """The control source's word and the offsets of sources, in the order in which the query reads them."""
    lines = Path(spark, "offsets", str(batch)).read_text(encoding="utf-8").splitlines()[2:]
    told = [None if line in ("-", "") else json.loads(line) for line in lines]
    return told[0], told[1:]


def _sinks(folder: str, program: Program) -> list[SavedSink]:
    """What sinks keep in a checkpoint, told by the sinks that are to go on."""
    found = []
    for uid, name, sink in zip(program.sink_uids, program.sink_names, program.sinks, strict=True):
        own = sink_folder(folder, uid)
        if not os.path.isdir(own):
            continue
        with secrets_may_travel():
            copy: Sink = cloudpickle.loads(cloudpickle.dumps(sink))
        copy.attach(own)
        found.append(SavedSink(uid, name, type(sink).__name__, copy.memory()))
    return found


def _position(folder: str, program: Program, uid: str, offset: Any) -> Any:
    """What another checkpoint needs to go on from an offset: the source itself knows, with what it keeps in the old one."""
    if offset is None:
        return None
    found = next((s.source for s in program.sources if s.uid == uid), None)
    if found is None or found.native:
        return offset
    with secrets_may_travel():
        source: Source = cloudpickle.loads(cloudpickle.dumps(found))
    source.attach(os.path.join(folder, "penstock", "sources", uid))
    return source.position(offset)
