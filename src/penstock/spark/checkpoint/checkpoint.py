"""The folder of a job's checkpoint, and what it remembers of the job."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from penstock.config import CHECKPOINT_DIR, RESUME, Configuration
from penstock.engine.program import Program
from penstock.engine.wanted import key_types
from penstock.errors import CheckpointError, StateError
from penstock.jobs.whole_file import write_whole
from penstock.savepoints.evolution import saved_key_types
from penstock.savepoints.key_change import KeyChange
from penstock.spark.lock import CheckpointLock

FORMAT = 1


class Checkpoint:
    """A job's folder: Spark's checkpoint in `spark/`, ours in `penstock/`. That of a batch job dies with the job."""

    def __init__(
        self, folder: str, job_id: str, resumed: bool, kept: bool = True, lineage: str = "", from_savepoint: str = ""
    ) -> None:
        self.folder = folder
        self.job_id = job_id
        self.resumed = resumed
        self.kept = kept
        self.lineage = lineage or job_id  # of Spark's batch numbers: new when they begin at 0 again
        self.from_savepoint = from_savepoint  # what the job started from
        self.lock = CheckpointLock(folder)  # held while the job runs

    @property
    def shown(self) -> str:
        """What people can resume; nothing of a batch job."""
        return self.folder if self.kept else ""

    @property
    def spark(self) -> str:
        return os.path.join(self.folder, "spark")

    @property
    def lasting(self) -> str:
        return os.path.join(self.folder, "penstock", "sources")

    def memory_of_sink(self, uid: str) -> str:
        """A folder of a sink's own."""
        folder = sink_folder(self.folder, uid)
        os.makedirs(folder, exist_ok=True)
        return folder

    @property
    def initial(self) -> str:
        return os.path.join(self.folder, "penstock", "initial")

    @property
    def materialized(self) -> str:
        return os.path.join(self.folder, "penstock", "materialized")


def sink_folder(checkpoint: str, uid: str) -> str:
    """Where a sink keeps things."""
    return os.path.join(checkpoint, "penstock", "sinks", quote(uid, safe=""))


class Beginning(Protocol):
    """What a fresh checkpoint begins with."""

    @property
    def path(self) -> str: ...
    def begin(self, checkpoint: Checkpoint) -> None: ...


def open_checkpoint(program: Program, configuration: Configuration, beginning: Beginning | None = None) -> Checkpoint:
    """The checkpoint to continue, checked against the program; or a new one, empty or with another job's state."""
    resume = configuration.get(RESUME)
    if resume and program.batch:
        raise CheckpointError(
            "BATCH_RESUME",
            f"Job '{program.name}' runs in batch mode and was asked to resume {resume}. A batch job keeps no checkpoint: it reads "
            "everything again. Leave --resume out, or run it in STREAMING mode.",
        )
    if resume:
        return _resumed(os.path.abspath(resume), program)
    job_id, lineage = uuid.uuid4().hex, uuid.uuid4().hex
    root = configuration.get(CHECKPOINT_DIR) or os.path.join(tempfile.gettempdir(), "penstock-checkpoints")
    folder = os.path.join(os.path.abspath(root), job_id)
    came_from = "" if beginning is None else beginning.path
    checkpoint = Checkpoint(folder, job_id, False, not program.batch, lineage, came_from)
    try:
        Path(folder, "penstock").mkdir(parents=True)
        if beginning is not None:
            beginning.begin(checkpoint)
        told = {**_memory(program, job_id), "lineage": lineage, "from_savepoint": came_from}
        memory = json.dumps(told, indent=1)
        write_whole(_file(folder), memory.encode())  # a job that is killed here, or has no room, leaves no half of it
    except OSError as error:
        raise CheckpointError(
            "CHECKPOINT_UNWRITABLE", f"The checkpoint folder {folder} cannot be written: {error}. Choose another one."
        ) from error
    return checkpoint


def _file(folder: str) -> Path:
    return Path(folder, "penstock", "job.json")


def _memory(program: Program, job_id: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "job_id": job_id,
        "name": program.name,
        "parallelism": program.parallelism,
        "max_parallelism": program.max_parallelism,
        "levels": program.depth,
        "operators": program.describe(),
        "key_types": saved_key_types(program),
        "sources": [{"uid": s.uid, "name": s.name, "kind": type(s.source).__name__} for s in program.sources],
    }


def _resumed(folder: str, program: Program) -> Checkpoint:
    saved = job_memory(folder)
    differences = _differences(saved, _memory(program, saved["job_id"]))
    if differences:
        raise CheckpointError(
            "CHECKPOINT_OF_ANOTHER_JOB",
            f"The program no longer fits the checkpoint {folder}: {'; '.join(differences)}. "
            "Change the program back, or start a new job with this one's state: --from-savepoint instead of --resume.",
        )
    if (before := saved.get("key_types")) is not None:  # None: written before they were kept
        _check_keys(folder, before, program)
    lineage, came_from = saved.get("lineage", ""), saved.get("from_savepoint", "")
    return Checkpoint(folder, saved["job_id"], True, lineage=lineage, from_savepoint=came_from)


def _check_keys(folder: str, before: dict[str, Any], program: Program) -> None:
    """State is found by the bytes of its keys: a checkpoint goes on only where they stay."""
    for uid, wanted in key_types(program).items():
        compared = KeyChange(before.get(uid), wanted).compared()
        if compared.make is not None or compared.obstacles:
            raise StateError(
                "STATE_CHANGED",
                f"The keys of operator '{uid}' have another type than in the checkpoint {folder}: "
                f"{'; '.join(compared.obstacles or compared.differences)}. Change the program back; or start with --from-savepoint "
                "and the checkpoint's path, which rewrites keys where it can ('penstock savepoints check' says whether).",
            )


def job_memory(folder: str) -> dict[str, Any]:
    """What a checkpoint remembers of its job."""
    try:
        saved: dict[str, Any] = json.loads(_file(folder).read_text())
        for field in ("format", "job_id", "name", "parallelism", "max_parallelism", "operators", "sources"):
            saved[field]
        return saved
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CheckpointError(
            "NO_CHECKPOINT",
            f"{folder} holds no checkpoint of a Penstock job (penstock/job.json cannot be read). "
            "Give the folder that the job printed.",
        ) from error
    except OSError as error:
        raise CheckpointError(
            "CHECKPOINT_UNREADABLE",
            f"The checkpoint {folder} is there and cannot be read: {error}. Run the job as the user who owns it, or give "
            "this one the right to read and write it.",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            "CHECKPOINT_DAMAGED",
            f"{_file(folder)} cannot be understood ({type(error).__name__}: {error}). Resume from another one.",
        ) from error


def _differences(saved: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What changed since the checkpoint, in words."""
    found = []
    if saved["format"] > FORMAT:
        found.append(f"it has format {saved['format']}, and this Penstock reads formats up to {FORMAT}")
    for name in ("parallelism", "max_parallelism"):
        if saved[name] != now[name]:
            found.append(f"{name} was {saved[name]} and is now {now[name]}")
    for what in ("operators", "sources"):
        before = {o["uid"]: o for o in saved[what]}
        after = {o["uid"]: o for o in now[what]}
        found += [f"{what[:-1]} '{uid}' is gone" for uid in before if uid not in after]
        found += [f"{what[:-1]} '{uid}' is new" for uid in after if uid not in before]
        for uid in before.keys() & after.keys():
            for field in ("kind", "keyed", "level"):
                if before[uid].get(field) != after[uid].get(field):
                    found.append(
                        f"{what[:-1]} '{uid}' had {field} {before[uid].get(field)} and now has {after[uid].get(field)}"
                    )
    return found
