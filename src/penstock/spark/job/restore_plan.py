"""A job that starts from a savepoint: what it takes up, decided before anything is written."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from penstock.config import ALLOW_DROPPED, FROM_SAVEPOINT, RESUME, Configuration
from penstock.connectors.file.system import absolute
from penstock.engine.program import Program
from penstock.errors import CheckpointError
from penstock.jobs.whole_file import write_whole
from penstock.savepoints.check import fit
from penstock.savepoints.checkpoint_folder import is_checkpoint
from penstock.savepoints.matching import Matched, match
from penstock.savepoints.savepoint import Savepoint, open_savepoint
from penstock.spark.bridge import take_tables_over
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.restore import write_initial
from penstock.spark.retained import savepoint_of

_log = logging.getLogger("penstock.job")


class Restoring:
    """A savepoint that was matched with a job."""

    def __init__(self, savepoint: Savepoint, program: Program, matched: Matched) -> None:
        self.savepoint = savepoint
        self.matched = matched
        self._program = program

    @property
    def path(self) -> str:
        return self.savepoint.path

    def begin(self, checkpoint: Checkpoint) -> None:
        """Writes into the fresh checkpoint what the job starts with."""
        write_initial(checkpoint.initial, self.savepoint, self._program, self.matched)
        take_tables_over(self._program, checkpoint, self.matched.offsets)
        write_whole(_offsets_file(checkpoint), json.dumps(self.matched.offsets).encode())

    def words(self) -> list[str]:
        """What people are told of it."""
        manifest, matched = self.savepoint.manifest, self.matched
        told = [
            f"starts from {self.savepoint.path}: batch {manifest.batch} of job {manifest.job_id} ('{manifest.job_name}'), "
            f"{len(matched.taken)} operators go on, {len(matched.added)} start empty"
        ]
        if manifest.parallelism != self._program.parallelism:
            told.append(f"its parallelism changes from {manifest.parallelism} to {self._program.parallelism}")
        told += [f"rewrites the keys of '{operator}'" for operator in matched.keys]
        told += [f"rewrites state '{state}' of '{operator}'" for operator, state in matched.changes]
        return told + [f"drops {dropped}" for dropped in matched.dropped]

    def tell(self) -> None:
        """Dropped state is never dropped silently."""
        for dropped in self.matched.dropped:
            _log.warning("Job '%s' starts from %s and drops %s", self._program.name, self.savepoint.path, dropped)


def restoring(program: Program, configuration: Configuration) -> Restoring | None:
    """What the job is to start from; None: it starts with empty state, or resumes its own checkpoint."""
    path = configuration.get(FROM_SAVEPOINT)
    if not path:
        return None
    path = absolute(path)
    if configuration.get(RESUME):
        raise CheckpointError(
            "RESUME_AND_SAVEPOINT",
            f"The job was asked to resume {configuration.get(RESUME)} and to start from {path}. A job has one beginning: leave "
            "one of them out.",
        )
    if program.batch:
        raise CheckpointError(
            "BATCH_RESUME",
            f"Job '{program.name}' runs in batch mode and was asked to start from {path}. A batch job reads everything again and "
            "keeps no state. Run it in STREAMING mode, or leave the savepoint out.",
        )
    savepoint = savepoint_of(path, program, configuration) if is_checkpoint(path) else open_savepoint(path)
    matched = match(savepoint.manifest, program, savepoint.path, configuration.get(ALLOW_DROPPED))
    fit(savepoint.manifest, program, matched, savepoint.path)
    return Restoring(savepoint, program, matched)


def initial_offsets(checkpoint: Checkpoint) -> dict[str, Any]:
    """Where sources start that this checkpoint knows no offset of yet: asked again if the first batch has to run again."""
    try:
        found: dict[str, Any] = json.loads(_offsets_file(checkpoint).read_text())
    except FileNotFoundError:
        return {}
    return found


def _offsets_file(checkpoint: Checkpoint) -> Path:
    return Path(checkpoint.initial, "offsets.json")
