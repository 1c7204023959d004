"""The kinds of folders: what is inside, where, when it may be deleted, and which options limit its size and age.

docs/reference/folders.md shows this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.config import Configuration, Option
from penstock.config.checkpoint_options import SAVEPOINT_AGE, SAVEPOINT_SIZE
from penstock.config.deployment_options import REGISTRY_KEEP, REGISTRY_KEEP_DAYS
from penstock.config.folder_options import (
    CACHE_KEEP_DAYS,
    CACHE_MAX_SIZE,
    CHECKPOINTS_KEEP_DAYS,
    CHECKPOINTS_MAX_SIZE,
    COPIES_MAX_SIZE,
    LOGS_MAX_SIZE,
)
from penstock.config.state_options import LOCAL_DIR, LOCAL_KEEP
from penstock.folders.locations import (
    cache_folder,
    checkpoints_folder,
    registry_folder,
    runs_folder,
    savepoints_folder,
    state_folder,
    working_copies_folder,
)


@dataclass(frozen=True, slots=True)
class FolderKind:
    """One kind of folder."""

    name: str
    contents: str
    folder: Callable[[Configuration], Path]
    deletable: str  # when a user may delete it, and what is lost
    budget: Option | None = None  # limits its size
    age: Option | None = None  # limits how long unused contents are kept


def _copies(configuration: Configuration) -> Path:
    chosen: str = configuration.get(LOCAL_DIR)
    return Path(chosen) if chosen else working_copies_folder()


KINDS = (
    FolderKind(
        "checkpoints",
        "checkpoints of jobs without a configured checkpoint folder",
        lambda _: checkpoints_folder(),
        "when you will not resume the job",
        CHECKPOINTS_MAX_SIZE,
        CHECKPOINTS_KEEP_DAYS,
    ),
    FolderKind(
        "savepoints",
        "savepoints of such jobs that were taken without a folder",
        lambda _: savepoints_folder(),
        "when you no longer need the savepoint",
        SAVEPOINT_SIZE,
        SAVEPOINT_AGE,
    ),
    FolderKind(
        "working-copies",
        "the state of jobs on local disk",
        _copies,
        "at any time while the job does not run; the next start reads the checkpoint and takes longer",
        COPIES_MAX_SIZE,
        LOCAL_KEEP,
    ),
    FolderKind(
        "runs",
        "messages between the processes of a job, and Spark's local files",
        lambda _: runs_folder(),
        "at any time while no job runs",
    ),
    FolderKind(
        "jobs",
        "the job registry",
        lambda configuration: registry_folder(configuration) / "jobs",
        "at any time while no job runs; commands no longer know the jobs",
        REGISTRY_KEEP,
        REGISTRY_KEEP_DAYS,
    ),
    FolderKind(
        "logs",
        "output of Spark and messages of jobs",
        lambda configuration: registry_folder(configuration) / "logs",
        "at any time",
        LOGS_MAX_SIZE,
        REGISTRY_KEEP_DAYS,
    ),
    FolderKind(
        "servers",
        "development servers of `penstock dev`, with their data",
        lambda _: state_folder() / "servers",
        "when the servers are down; `penstock dev down --delete-data` does it",
    ),
    FolderKind(
        "cache",
        "jars, packages of requirements, links to Spark",
        lambda _: cache_folder(),
        "at any time while no job runs; what is needed is downloaded again",
        CACHE_MAX_SIZE,
        CACHE_KEEP_DAYS,
    ),
)
