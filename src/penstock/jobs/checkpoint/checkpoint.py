"""The checkpoint folder of a job: a new one, or an existing one that the job resumes."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHECKPOINT_DIR, LATEST, RESUME
from penstock.engine.program.declared_state import key_types
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError, StateError
from penstock.folders import create_private, default_checkpoint_folder, is_default_checkpoint
from penstock.jobs.checkpoint.job_description import (
    JobDescription,
    describe_program,
    find_differences,
    has_job_description,
    read_job_description,
    write_job_description,
)
from penstock.jobs.checkpoint.lock import CheckpointLock
from penstock.jobs.registry.latest_checkpoint import LatestCheckpoint, named_folder
from penstock.plan.graph import DEFAULT_NAME
from penstock.runtime.state.evolution.shape import read_shape
from penstock.savepoints.evolution import KeyChange

_SHARED_NAME = " If another program has the same name by mistake, start this one with another --name."


class Checkpoint:
    """The folder of a job: Spark's checkpoint in `spark/`, Penstock's files in `penstock/`."""

    def __init__(
        self,
        folder: str,
        job_id: str,
        resumed: bool,
        persistent: bool = True,
        lineage: str = "",
        from_savepoint: str = "",
    ) -> None:
        self.folder = folder
        self.job_id = job_id
        self.resumed = resumed
        self.persistent = persistent  # False: it is deleted when the job ends (batch mode)
        self.lineage = lineage or job_id  # identifies a sequence of batch numbers; new when they start at 0 again
        self.from_savepoint = from_savepoint  # path of the savepoint that the job started from
        self.lock = CheckpointLock(folder)  # held while the job runs

    @property
    def settings(self) -> dict[str, str]:
        """The options with which a new job has its checkpoint in the same place, also if the program does not set them."""
        latest = LatestCheckpoint.containing(self.folder)
        folder = self.folder if latest is None else str(latest.folder)
        settings = {CHECKPOINT_DIR.key: os.path.dirname(folder)}
        return settings if latest is None else {**settings, RESUME.key: LATEST}

    @property
    def resumable_path(self) -> str:
        """The path for `--resume`; empty for a batch job."""
        return self.folder if self.persistent else ""

    @property
    def spark(self) -> str:
        """Spark's checkpoint folder."""
        return os.path.join(self.folder, "spark")

    @property
    def sources_folder(self) -> str:
        """The folder for files of sources."""
        return os.path.join(self.folder, "penstock", "sources")

    @property
    def initial(self) -> str:
        """The folder for the initial state of a job that starts from a savepoint."""
        return os.path.join(self.folder, "penstock", "initial")

    @property
    def materialized(self) -> str:
        """The folder for the elements of `materialize()`."""
        return os.path.join(self.folder, "penstock", "materialized")

    def require_present(self) -> None:
        """Checks that the folder still exists while the job runs. Without it, a new attempt would begin with empty state.

        Raises:
            CheckpointError: the folder was removed, or its storage is no longer mounted.
        """
        if self.persistent and not has_job_description(self.folder):
            raise CheckpointError(
                "NO_CHECKPOINT",
                f"The checkpoint {self.folder} has disappeared while the job was running, so the job cannot continue from its last "
                "batch. If its storage was unmounted, mount it and resume the job. If the folder was deleted, restore it, or start "
                "the job from a savepoint or with empty state.",
            )

    def create_sink_folder(self, uid: str) -> str:
        """Creates the folder for files of a sink and returns its path."""
        folder = sink_folder(self.folder, uid)
        os.makedirs(folder, exist_ok=True)
        return folder


def sink_folder(checkpoint: str, uid: str) -> str:
    """The folder for files of a sink."""
    return os.path.join(checkpoint, "penstock", "sinks", quote(uid, safe=""))


class InitialContents(Protocol):
    """State that a new checkpoint starts with."""

    @property
    def path(self) -> str:
        """Where the state comes from."""
        ...

    def write_to(self, checkpoint: Checkpoint) -> None:
        """Writes the state into a new checkpoint."""
        ...


def open_checkpoint(
    program: Program,
    configuration: Configuration,
    contents: InitialContents | None = None,
    *,
    engine: str = "spark",
    from_savepoint: str = "",
) -> Checkpoint:
    """Opens the checkpoint to resume, or creates a new one with the given contents.

    `from_savepoint` is the path of the savepoint that a new job starts from, if it has no contents.
    """
    resume = configuration.get(RESUME)
    if resume == LATEST:
        return (
            _create(program, configuration, None, engine, from_savepoint)
            if program.batch_mode
            else _latest(program, configuration, contents, engine, from_savepoint)
        )
    if resume and program.batch_mode:
        raise CheckpointError(
            "BATCH_RESUME",
            f"Job '{program.name}' runs in batch mode and cannot resume {resume}, because a batch job keeps no checkpoint and "
            "reads its complete input again. Omit --resume, or run the job in STREAMING mode.",
        )
    if resume:
        return _resume(os.path.abspath(resume), program, engine)
    return _create(program, configuration, contents, engine, from_savepoint)


def _latest(
    program: Program, configuration: Configuration, contents: InitialContents | None, engine: str, from_savepoint: str
) -> Checkpoint:
    """The current checkpoint of the job with this name; a new one for its first start, or if it starts from a savepoint."""
    if program.name == DEFAULT_NAME:
        raise CheckpointError(
            "RESUME_NAME",
            f"{RESUME.key} is '{LATEST}', which finds the checkpoint by the name of the job, but the job has no name. Set one with "
            "--name, with the option pipeline.name, or in execute(...).",
        )
    latest = LatestCheckpoint(named_folder(configuration, program.name))
    try:
        with latest.exclusive():
            current = latest.find()
            if current is not None and contents is None and not from_savepoint:
                return _resume(current, program, engine)
            if current is not None:
                CheckpointLock(current).require_free()
            checkpoint = _create(program, configuration, contents, engine, from_savepoint, str(latest.folder))
            latest.replace(checkpoint.folder, checkpoint.from_savepoint)
    except OSError as error:
        raise CheckpointError(
            "CHECKPOINT_UNWRITABLE", f"The folder {latest.folder} cannot be written: {error}. Choose another one."
        ) from error
    return checkpoint


def _create(
    program: Program,
    configuration: Configuration,
    contents: InitialContents | None,
    engine: str,
    from_savepoint: str,
    parent: str = "",
) -> Checkpoint:
    job_id, lineage = uuid.uuid4().hex, uuid.uuid4().hex
    folder = os.path.join(parent, job_id) if parent else default_checkpoint_folder(configuration, job_id)
    from_savepoint = from_savepoint if contents is None else contents.path
    checkpoint = Checkpoint(folder, job_id, False, not program.batch_mode, lineage, from_savepoint)
    try:
        if is_default_checkpoint(folder):
            create_private(Path(folder))
        Path(folder, "penstock").mkdir(parents=True)
        if contents is not None:
            contents.write_to(checkpoint)
        write_job_description(folder, describe_program(program, job_id, lineage, from_savepoint, engine))
    except OSError as error:
        raise CheckpointError(
            "CHECKPOINT_UNWRITABLE", f"The checkpoint folder {folder} cannot be written: {error}. Choose another one."
        ) from error
    return checkpoint


def _resume(folder: str, program: Program, engine: str) -> Checkpoint:
    saved = read_job_description(folder)
    check_engine(folder, saved, engine)
    if differences := find_differences(saved, describe_program(program, saved.job_id)):
        raise CheckpointError(
            "CHECKPOINT_OF_ANOTHER_JOB",
            f"The program no longer fits the checkpoint {folder}: {'; '.join(differences)}. "
            "Change the program back, or start a new job with this one's state: --from-savepoint instead of --resume."
            + (_SHARED_NAME if LatestCheckpoint.containing(folder) is not None else ""),
        )
    if saved.key_types is not None:
        _check_keys(folder, saved.key_types, program)
    program.undeclared_keys = frozenset(o.uid for o in saved.operators if o.keyed) - (saved.key_types or {}).keys()
    return Checkpoint(folder, saved.job_id, True, lineage=saved.lineage, from_savepoint=saved.from_savepoint)


def check_engine(folder: str, saved: JobDescription, engine: str) -> None:
    """Raises an error if another engine has written a checkpoint."""
    if saved.engine != engine:
        raise CheckpointError(
            "CHECKPOINT_ENGINE",
            f"The {saved.engine} engine has written the checkpoint {folder}, and the {engine} engine cannot read it. Resume the "
            f"job with execution.engine: {saved.engine}, stop it with a savepoint (penstock stop JOB --savepoint), and start it "
            "with the other engine from the savepoint (--from-savepoint).",
        )


def _check_keys(folder: str, saved: dict[str, Any], program: Program) -> None:
    """Checks that the encoding of keys is unchanged, because state is looked up by the bytes of its key."""
    types = key_types(program)
    for uid in sorted(saved.keys() & {o.uid for o in program.operators} - types.keys()):
        raise StateError(
            "STATE_CHANGED",
            f"The keys of operator '{uid}' had the declared type {read_shape(saved[uid]).text()} in the checkpoint {folder} and "
            "have none now, so it is not known whether elements find their state. Declare it in key_by (key_type=...).",
        )
    for uid, declared in types.items():
        comparison = KeyChange(saved.get(uid), declared).compare()
        if comparison.convert is not None or comparison.obstacles:
            raise StateError(
                "STATE_CHANGED",
                f"The keys of operator '{uid}' have another type than in the checkpoint {folder}: "
                f"{'; '.join(comparison.obstacles or comparison.differences)}. Change the program back, or start it with "
                "--from-savepoint and the path of the checkpoint, which rewrites keys where possible. 'penstock savepoints check' "
                "checks whether it is possible.",
            )
