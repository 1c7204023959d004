"""The folder of a new savepoint: its path, whether it can be written, and the removal of older savepoints of the job."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from penstock.config import Configuration
from penstock.config.checkpoint_options import SAVEPOINT_DIR
from penstock.connectors.file.system.file_system import FileSystem, absolute_path, file_system
from penstock.connectors.sink import SINK_FILE
from penstock.errors import CheckpointError
from penstock.folders import create_private, default_savepoint_folder, savepoints_folder
from penstock.jobs.actions.savepoint_files import configured_retention, prune_savepoints
from penstock.jobs.registry.registry import registry_of
from penstock.jobs.registry.savepoint_requests import SavepointRequest
from penstock.savepoints.manifest import SinkFile

_log = logging.getLogger("penstock.savepoints")


def savepoint_path(request: SavepointRequest, configuration: Configuration, checkpoint: str, job_id: str) -> str:
    """The path of a new savepoint: in the requested folder, the configured one, or next to the checkpoints."""
    directory = request.directory or default_savepoint_folder(configuration, checkpoint)
    return f"{absolute_path(directory).rstrip('/')}/savepoint-{job_id[:6]}-{request.id}"


def create_savepoint_folder(path: str) -> FileSystem:
    """Checks that the folder of a savepoint can be written, before the savepoint is taken."""
    try:
        if Path(path).parent == savepoints_folder():
            create_private(Path(path))
        system = file_system(path)
        probe = system.create(f"{path}/_probe")
        probe.write(b"penstock")
        system.close(probe)
        system.remove(f"{path}/_probe")
    except OSError as error:
        raise CheckpointError(
            "SAVEPOINT_UNWRITABLE",
            f"The savepoint {path} cannot be written: {error}. The job continues. Use another path, or set {SAVEPOINT_DIR.key}.",
        ) from error
    return system


def find_sink_files(system: FileSystem, path: str) -> list[SinkFile]:
    """The files that sinks have added to a savepoint."""
    names = [name for name in system.list_names(path) if name.startswith(SINK_FILE)]
    statuses = [(name, system.get_status(f"{path}/{name}")) for name in sorted(names)]
    return [SinkFile(name, status.size) for name, status in statuses if status is not None]


def prune_older(path: str, job_name: str, configuration: Configuration) -> None:
    """Removes old savepoints of the job in the folder of a new one, according to the retention options."""
    retention = configured_retention(configuration)
    if retention.unbounded:
        return
    try:
        removed = prune_savepoints(registry_of(configuration), os.path.dirname(path), retention, job=job_name)
    except Exception as error:  # the new savepoint is complete, and the old ones are removed after the next one
        _log.warning("Old savepoints in the folder of %s cannot be removed: %s", path, error)
        return
    for savepoint, reason in removed:
        _log.info("Savepoint %s was removed: %s", savepoint.path, reason)
