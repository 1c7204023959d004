"""Checkpoint storage, which is always a folder."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHECKPOINT_DIR, CHECKPOINT_STORAGE
from penstock.errors import UnsupportedOperation, warn_ignored


class CheckpointStorage:
    """Base class of checkpoint storage."""

    def write_to(self, configuration: Configuration) -> None:
        """Writes the storage to the configuration of a job."""
        raise NotImplementedError


class JobManagerCheckpointStorage(CheckpointStorage):
    """Stores checkpoints in the state folder of the user, or in `checkpoint_path`. Flink uses the memory of the JobManager."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        if max_state_size is not None:
            warn_ignored("JobManagerCheckpointStorage: max_state_size has no effect. Checkpoints are in a folder.")
        self._path = checkpoint_path
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size

    def get_checkpoint_path(self) -> str | None:
        """Returns the folder for checkpoints, or None if it is not set."""
        return self._path

    def get_max_state_size(self) -> int:
        """Returns the configured value, which has no effect."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Returns None. Set the folder for savepoints with `set_default_savepoint_directory`."""
        return None

    def write_to(self, configuration: Configuration) -> None:
        configuration.set(CHECKPOINT_STORAGE.key, "jobmanager")
        configuration.set(CHECKPOINT_DIR.key, self._path or "")

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage({self._path or 'state folder'})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Stores checkpoints in a folder that the driver and all executors can access.

    >>> FileSystemCheckpointStorage("file:///data/checkpoints").get_checkpoint_path()
    '/data/checkpoints'
    """

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024

    def __init__(
        self, checkpoint_path: str, file_state_size_threshold: int | None = None, write_buffer_size: int = -1
    ) -> None:
        if checkpoint_path is None:
            raise ValueError("checkpoint_path must not be None")
        if file_state_size_threshold not in (None, -1) or write_buffer_size >= 0:
            warn_ignored(
                "FileSystemCheckpointStorage: file_state_size_threshold and write_buffer_size have no effect. Spark writes "
                "checkpoints."
            )
        self._path: str = CHECKPOINT_DIR.read(checkpoint_path)
        self._configured = checkpoint_path.rstrip("/") if urlsplit(checkpoint_path).netloc else self._path
        self._threshold = 20 * 1024 if file_state_size_threshold in (None, -1) else int(file_state_size_threshold or 0)
        self._buffer = 4 * 1024 if write_buffer_size < 0 else write_buffer_size

    def get_checkpoint_path(self) -> str:
        """Returns the folder for checkpoints. A URI with a host is returned unchanged."""
        return self._configured

    def get_savepoint_path(self) -> str | None:
        """Returns None. Set the folder for savepoints with `set_default_savepoint_directory`."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Returns the configured value, which has no effect."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """Returns the configured value, which has no effect."""
        return max(self._buffer, self._threshold)

    def write_to(self, configuration: Configuration) -> None:
        configuration.set(CHECKPOINT_STORAGE.key, "filesystem")
        configuration.set(CHECKPOINT_DIR.key, self._path)

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage({self._path})"


class CustomCheckpointStorage(CheckpointStorage):
    """Not supported, because it is a Java class of Flink."""

    def __init__(self, j_custom_checkpoint_storage: Any) -> None:
        raise UnsupportedOperation(
            "CUSTOM_STORAGE",
            "A CustomCheckpointStorage is a Java class of Flink and is not supported. Use FileSystemCheckpointStorage.",
        )


def configured_storage(configuration: Configuration) -> CheckpointStorage | None:
    """Returns the checkpoint storage of a configuration, or None if it is not set."""
    path = configuration.get(CHECKPOINT_DIR)
    if configuration.get(CHECKPOINT_STORAGE) == "jobmanager":
        return JobManagerCheckpointStorage(path or None)
    return FileSystemCheckpointStorage(path) if path else None
