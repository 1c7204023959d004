"""Lists, deletes and prunes savepoints. A savepoint that a running job started from is never removed."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from penstock.config import Configuration
from penstock.config.checkpoint_options import SAVEPOINT_AGE, SAVEPOINT_COUNT, SAVEPOINT_DIR, SAVEPOINT_SIZE
from penstock.errors import CheckpointError
from penstock.folders import savepoints_folder
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.savepoint_requests import list_savepoint_progress
from penstock.savepoints.catalogue import Retention, find_savepoints, remove_savepoint
from penstock.savepoints.savepoint import Savepoint, open_savepoint


def list_savepoints(registry: Registry, folder: str | None = None) -> list[Savepoint]:
    """Returns the savepoints in a folder, oldest first.

    Without a folder, those that jobs of the registry took and that still exist, and those in the default savepoint folder.
    """
    if folder is not None:
        return find_savepoints(folder)
    taken = {
        progress.path
        for entry in registry.entries()
        for progress in list_savepoint_progress(registry, entry.id)
        if progress.status == "done"
    }
    savepoints = []
    for path in taken:
        try:
            savepoints.append(open_savepoint(path))
        except (CheckpointError, OSError):  # removed since it was taken
            continue
    default = Configuration().get(SAVEPOINT_DIR) or str(savepoints_folder())
    savepoints += [savepoint for savepoint in find_savepoints(default) if savepoint.path not in taken]
    return sorted(savepoints, key=lambda savepoint: savepoint.manifest.created)


def savepoint_users(registry: Registry, path: str) -> list[JobEntry]:
    """The running jobs that started from a savepoint."""
    return [entry for entry in registry.entries() if not entry.is_over and entry.from_savepoint.rstrip("/") == path]


def savepoint_as_dict(registry: Registry, savepoint: Savepoint) -> dict[str, Any]:
    """A savepoint as JSON values, as `penstock savepoints show --json` prints it."""
    encoded = msgspec.json.encode(savepoint.manifest)  # the manifest contains raw JSON, which only the encoder resolves
    manifest: dict[str, Any] = msgspec.json.decode(encoded)
    users = [entry.id for entry in savepoint_users(registry, savepoint.path)]
    return {"path": savepoint.path, "size": savepoint.size, "used_by": users, **manifest}


def delete_savepoint(registry: Registry, savepoint: Savepoint) -> None:
    """Deletes a savepoint. Raises CheckpointError if a running job started from it."""
    users = savepoint_users(registry, savepoint.path)
    if users:
        raise CheckpointError(
            "SAVEPOINT_IN_USE",
            f"Job {users[0].id} ('{users[0].name}') is running and started from the savepoint {savepoint.path}. Its first batch "
            "reads the savepoint, and it would be needed again if the checkpoint were lost. Stop the job first, or keep the "
            "savepoint.",
        )
    remove_savepoint(savepoint)


def configured_retention(configuration: Configuration) -> Retention:
    """The retention that the options of savepoint-retention define."""
    return Retention(
        configuration.get(SAVEPOINT_COUNT), configuration.get(SAVEPOINT_AGE), configuration.get(SAVEPOINT_SIZE)
    )


def prune_savepoints(
    registry: Registry, directory: str, retention: Retention, *, job: str | None = None, dry_run: bool = False
) -> list[tuple[Savepoint, str]]:
    """Removes the savepoints in a folder that the retention of each job does not allow. Returns them with the reason.

    With `job`, only savepoints of the job with this name are considered. With `dry_run`, nothing is removed. Symbolic links are
    not followed, and files that are not part of a savepoint stay.
    """
    by_job: dict[str, list[Savepoint]] = {}
    for savepoint in find_savepoints(directory, follow_links=False):
        by_job.setdefault(savepoint.manifest.job_name, []).append(savepoint)
    used = {e.from_savepoint.rstrip("/") for e in registry.entries() if e.from_savepoint and not e.is_over}
    now = int(time.time() * 1000)
    expired = []
    for name, savepoints in by_job.items():
        if job is None or job == name:
            expired += retention.select_removable(savepoints, now, used)
    if not dry_run:
        for savepoint, _ in expired:
            remove_savepoint(savepoint)
    return expired
