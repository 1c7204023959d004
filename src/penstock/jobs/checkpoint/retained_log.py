"""Converts the checkpoint of a stopped job of the local engine to a savepoint. Any engine can start a job from it."""

from __future__ import annotations

import os

from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.jobs.checkpoint.batch_log import BatchLog, decode_offsets
from penstock.jobs.checkpoint.job_description import read_job_description, saved_job
from penstock.jobs.checkpoint.lock import CheckpointLock
from penstock.jobs.checkpoint.retained_parts import add_retained_parts
from penstock.runtime.state.store import MemoryView
from penstock.savepoints.manifest import MANIFEST_FILE
from penstock.savepoints.saved_job import SavepointInfo
from penstock.savepoints.savepoint import Savepoint, open_savepoint
from penstock.savepoints.slot_part import chunked_scan
from penstock.savepoints.writing import SlotContents, write_savepoint


def savepoint_from_log(folder: str, program: Program) -> Savepoint:
    """Returns the state after the last committed batch of a checkpoint as a savepoint. Its files are stored in the checkpoint."""
    lock = CheckpointLock(folder)
    lock.acquire()
    try:
        savepoint = log_as_savepoint(folder)
        add_retained_parts(savepoint, folder, program)
        return savepoint
    finally:
        lock.release()


def log_as_savepoint(folder: str, target: str = "") -> Savepoint:
    """Writes the state of a checkpoint as a savepoint into `target`, by default into the checkpoint.

    The positions of sources are the offsets in the checkpoint.
    """
    description = read_job_description(folder)
    logged, _ = BatchLog(folder).read()
    batch = logged.next_batch - 1
    if batch < 0 or logged.input is None:
        raise CheckpointError(
            "CHECKPOINT_EMPTY",
            f"The checkpoint {folder} has no committed batch, so it has no state to start from. Start the job without it.",
        )
    path = target or os.path.join(folder, "penstock", "savepoints", f"batch-{batch}")
    if os.path.exists(os.path.join(path, MANIFEST_FILE)):
        return open_savepoint(path)
    slots = []
    for (level, slot), state in logged.slots.items():
        view = MemoryView()
        view.entries.update(state.entries)
        slots.append(SlotContents(level, slot, state.meta, chunked_scan(view.scan)))
    info = SavepointInfo(
        description.job_id,
        batch,
        logged.input.control,
        lineage=description.lineage,
        checkpoint=folder,
        notes={"made from": f"the checkpoint {folder}"},
    )
    return write_savepoint(path, saved_job(description, decode_offsets(logged.input.offsets)), slots, info)
