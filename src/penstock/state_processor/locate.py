"""Finds state by what people call it: a savepoint's path, a checkpoint's folder, or a job of the registry."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from penstock.config import LOCAL_LIMIT, Configuration
from penstock.errors import CheckpointError
from penstock.jobs.registry import Registry
from penstock.savepoints import SavedOperator, open_savepoint
from penstock.savepoints.checkpoint_folder import is_checkpoint
from penstock.savepoints.manifest import NAME
from penstock.state_processor.kept import Kept, SavepointKept, SlotsKept


@contextmanager
def opened(word: str, registry: Registry, configuration: Configuration | None = None) -> Iterator[tuple[Kept, str]]:
    """The state that a word stands for, and in words where it was read.

    Of a job it is that of the last committed batch. The job's working copies are read if they are on this machine, which
    disturbs it in no way; else Spark reads its checkpoint.
    """
    if _is_savepoint(word):
        savepoint = open_savepoint(word)
        yield SavepointKept(savepoint), f"savepoint {savepoint.path}"
        return
    local = ""
    if is_checkpoint(word):
        folder = word
    else:
        entry = registry.find(word)
        folder, local = entry.checkpoint, entry.local
    if not folder:
        raise CheckpointError("NO_STATE", f"Job '{word}' runs in batch mode: it keeps no checkpoint to be read.")
    with ExitStack() as stack:
        yield _checkpoint(os.path.abspath(folder), configuration or Configuration(), stack, local)


def _is_savepoint(word: str) -> bool:
    return "://" in word or Path(word, NAME).exists()


def _checkpoint(folder: str, configuration: Configuration, stack: ExitStack, local: str) -> tuple[Kept, str]:
    from penstock.spark.checkpoint import job_memory  # not before it is needed: it looks for PySpark
    from penstock.spark.local_state import NotLocal, local_slot
    from penstock.spark.working_copy import copies_of

    memory = job_memory(folder)
    slots: dict[tuple[int, int], Any] = {}
    copies = local or copies_of(configuration, memory["job_id"])
    try:
        for level in range(1, memory["levels"] + 1):
            for slot in range(memory["parallelism"]):
                found = local_slot(copies, folder, level, slot, configuration.get(LOCAL_LIMIT))
                stack.callback(found.close)
                slots[level, slot] = found
    except NotLocal as error:
        return _by_spark(folder, configuration, stack, str(error))
    operators = [
        SavedOperator(o["uid"], o["name"], o["kind"], o["keyed"], memory["parallelism"]) for o in memory["operators"]
    ]
    batch = min((slot.batch for slot in slots.values()), default=-1)
    kept = SlotsKept(slots, operators, memory["max_parallelism"], batch)
    return kept, f"batch {batch}, from the job's working copies"


def _by_spark(folder: str, configuration: Configuration, stack: ExitStack, why: str) -> tuple[Kept, str]:
    from penstock.spark.state_reader import checkpoint_as_savepoint

    target = stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-read-"))
    savepoint = checkpoint_as_savepoint(folder, os.path.join(target, "savepoint"), configuration)
    return SavepointKept(savepoint), f"batch {savepoint.manifest.batch}, read by Spark ({why})"
