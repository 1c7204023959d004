"""The plan for a job that starts from a savepoint. It is made before any file is written."""

from __future__ import annotations

import logging
from collections.abc import Callable

from penstock.config import Configuration
from penstock.config.checkpoint_options import ALLOW_DROPPED, FROM_SAVEPOINT, LATEST, REBUILD, RESUME
from penstock.connectors.file.system.file_system import absolute_path
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.savepoints.matching import RestoreMatch, match_savepoint
from penstock.savepoints.savepoint import Savepoint

_log = logging.getLogger("penstock.job")


class RestorePlan:
    """A savepoint, and how its parts are assigned to a job."""

    def __init__(self, savepoint: Savepoint, program: Program, matched: RestoreMatch) -> None:
        self.savepoint = savepoint
        self.matched = matched
        self.program = program

    @property
    def path(self) -> str:
        """The path of the savepoint."""
        return self.savepoint.path

    def messages(self) -> list[str]:
        """Messages for the log of the job."""
        manifest, matched = self.savepoint.manifest, self.matched
        messages = [
            f"starts from {self.savepoint.path}: batch {manifest.batch} of job {manifest.job_id} ('{manifest.job_name}'), "
            f"{len(matched.restored)} operators are restored, {len(matched.added)} start empty"
        ]
        if manifest.parallelism != self.program.parallelism:
            messages.append(f"its parallelism changes from {manifest.parallelism} to {self.program.parallelism}")
        messages += [f"rewrites the keys of '{operator}'" for operator in matched.key_changes]
        messages += [f"rewrites state '{state}' of '{operator}'" for operator, state in matched.state_changes]
        messages += [str(verdict) for verdict in matched.verdicts if verdict.reasons]
        return messages + [f"drops {dropped}" for dropped in matched.dropped]

    def warn_dropped(self) -> None:
        """Logs a warning for each part of the savepoint that the job drops."""
        for dropped in self.matched.dropped:
            _log.warning("Job '%s' starts from %s and drops %s", self.program.name, self.savepoint.path, dropped)


def plan_restore(
    program: Program,
    configuration: Configuration,
    open_path: Callable[[str], Savepoint],
    is_used: Callable[[str], bool],
) -> RestorePlan | None:
    """The restore plan of a job; None if it starts with empty state or resumes its own checkpoint.

    `open_path` opens a savepoint, or a checkpoint as a savepoint. `is_used` returns whether a job that always resumes itself was
    started from the path before.
    """
    path = configuration.get(FROM_SAVEPOINT)
    if not path:
        return None
    path = absolute_path(path)
    if configuration.get(RESUME) == LATEST and not program.batch_mode:
        if is_used(path):
            return None  # an earlier start has used the savepoint, and this one resumes the job
    elif configuration.get(RESUME):
        raise CheckpointError(
            "RESUME_AND_SAVEPOINT",
            f"The job is configured to resume {configuration.get(RESUME)} and to start from {path}. Omit one of them.",
        )
    if program.batch_mode:
        raise CheckpointError(
            "BATCH_RESUME",
            f"Job '{program.name}' runs in batch mode and cannot start from {path}, because a batch job reads its complete input "
            "and keeps no state. Run it in STREAMING mode, or omit the savepoint.",
        )
    savepoint = open_path(path)
    matched = match_savepoint(savepoint, program, configuration.get(ALLOW_DROPPED), configuration.get(REBUILD))
    program.changed_states = {at: description.descriptor for at, (_, description) in matched.state_changes.items()}
    return RestorePlan(savepoint, program, matched)
