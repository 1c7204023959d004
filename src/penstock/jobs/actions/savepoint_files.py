"""Which savepoints are needed by jobs that run, and which of a job's savepoints are to go."""

from __future__ import annotations

import time

from penstock.config import SAVEPOINT_AGE, SAVEPOINT_COUNT, SAVEPOINT_SIZE, Configuration
from penstock.errors import CheckpointError
from penstock.jobs.entry import JobEntry
from penstock.jobs.registry import Registry
from penstock.savepoints.catalogue import Retention, found_in, remove
from penstock.savepoints.savepoint import Savepoint


def retention_of(configuration: Configuration) -> Retention:
    return Retention(
        configuration.get(SAVEPOINT_COUNT), configuration.get(SAVEPOINT_AGE), configuration.get(SAVEPOINT_SIZE)
    )


def users_of(registry: Registry, path: str) -> list[JobEntry]:
    """The running jobs that came from a savepoint."""
    return [entry for entry in registry.entries() if not entry.is_over and entry.from_savepoint.rstrip("/") == path]


def delete(registry: Registry, savepoint: Savepoint) -> None:
    """Removes a savepoint; refuses one that a running job came from."""
    users = users_of(registry, savepoint.path)
    if users:
        raise CheckpointError(
            "SAVEPOINT_IN_USE",
            f"Job {users[0].id} ('{users[0].name}') runs and came from the savepoint {savepoint.path}: its first batch reads it, "
            "and if its checkpoint were lost it would be needed again. Stop the job first, or keep the savepoint.",
        )
    remove(savepoint)


def prune(
    registry: Registry, directory: str, retention: Retention, *, job: str | None = None, dry_run: bool = False
) -> list[tuple[Savepoint, str]]:
    """Removes what is too much of each job's savepoints in a folder (of one job's: by its name); gives what went, and why."""
    by_job: dict[str, list[Savepoint]] = {}
    for savepoint in found_in(directory):
        by_job.setdefault(savepoint.manifest.job_name, []).append(savepoint)
    used = {e.from_savepoint.rstrip("/") for e in registry.entries() if e.from_savepoint and not e.is_over}
    now = int(time.time() * 1000)
    gone = []
    for name, savepoints in by_job.items():
        if job is None or job == name:
            gone += retention.unwanted(savepoints, now, used)
    if not dry_run:
        for savepoint, _ in gone:
            remove(savepoint)
    return gone
