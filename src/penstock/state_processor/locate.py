"""Opens state for reading, from a savepoint, a checkpoint folder, or a job in the registry."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from penstock.config import Configuration
from penstock.config.deployment_options import MASTER
from penstock.config.state_options import LOCAL_LIMIT
from penstock.errors import CheckpointError
from penstock.folders import private_folder, remove_private_folder
from penstock.jobs.checkpoint.job_description import read_job_description
from penstock.jobs.checkpoint.retained_log import log_as_savepoint
from penstock.jobs.registry.registry import Registry
from penstock.savepoints import SavedOperator, open_savepoint
from penstock.savepoints.manifest import MANIFEST_FILE
from penstock.savepoints.savepoint import is_checkpoint
from penstock.state_processor.state_view import SavepointView, SlotsView, StateView


@contextmanager
def open_state(
    name: str, registry: Registry, configuration: Configuration | None = None
) -> Iterator[tuple[StateView, str]]:
    """The state of a savepoint path, a checkpoint folder or a job, and a description of where it was read.

    The state of a job is that of its last committed batch. Working copies on this machine are read without affecting the
    job. Otherwise Spark reads the checkpoint.
    """
    if _is_savepoint(name):
        savepoint = open_savepoint(name)
        yield SavepointView(savepoint), f"savepoint {savepoint.path}"
        return
    local = ""
    if is_checkpoint(name):
        folder = name
    else:
        entry = registry.find(name)
        folder, local = entry.checkpoint, entry.local
    if not folder:
        raise CheckpointError("NO_STATE", f"Job '{name}' runs in batch mode and keeps no checkpoint.")
    with ExitStack() as stack:
        yield _checkpoint(os.path.abspath(folder), configuration or Configuration(), stack, local)


def _is_savepoint(name: str) -> bool:
    return "://" in name or Path(name, MANIFEST_FILE).exists()


def _checkpoint(folder: str, configuration: Configuration, stack: ExitStack, local: str) -> tuple[StateView, str]:
    job = read_job_description(folder)
    if job.engine == "local":
        target = private_folder("read")
        stack.callback(remove_private_folder, target)
        savepoint = log_as_savepoint(folder, str(target / "savepoint"))
        return SavepointView(savepoint), f"batch {savepoint.manifest.batch}, from the checkpoint {folder}"
    from penstock.spark.state.local_folders import working_copy_folder  # imported here: it needs PySpark
    from penstock.spark.state.local_state import LocalStateUnavailable, open_local_slot

    slots: dict[tuple[int, int], Any] = {}
    copies = local or working_copy_folder(configuration, job.job_id, configuration.get(MASTER))
    try:
        for level in range(1, job.levels + 1):
            for slot in range(job.parallelism):
                slot_view = open_local_slot(copies, folder, level, slot, configuration.get(LOCAL_LIMIT))
                stack.callback(slot_view.close)
                slots[level, slot] = slot_view
    except LocalStateUnavailable as error:
        return _read_by_spark(folder, configuration, stack, str(error))
    operators = [SavedOperator(o.uid, o.name, o.kind, o.keyed, job.parallelism) for o in job.operators]
    batch = min((slot.batch for slot in slots.values()), default=-1)
    view = SlotsView(slots, operators, job.max_parallelism, batch)
    return view, f"batch {batch}, from the working copies of the job"


def _read_by_spark(folder: str, configuration: Configuration, stack: ExitStack, reason: str) -> tuple[StateView, str]:
    from penstock.spark.savepoint.state_reader import checkpoint_as_savepoint

    target = private_folder("read")
    stack.callback(remove_private_folder, target)
    savepoint = checkpoint_as_savepoint(folder, os.path.join(target, "savepoint"), configuration)
    return SavepointView(savepoint), f"batch {savepoint.manifest.batch}, read by Spark ({reason})"
