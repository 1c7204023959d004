"""Where checkpoints are kept: always in a folder."""

from __future__ import annotations

from typing import Any

from penstock.config import CHECKPOINT_DIR, CHECKPOINT_STORAGE, Configuration
from penstock.errors import UnsupportedOperation


class CheckpointStorage:
    """Where checkpoints are kept."""

    def write_to(self, configuration: Configuration) -> None:
        """Makes it the storage of a job."""
        raise NotImplementedError


class JobManagerCheckpointStorage(CheckpointStorage):
    """Flink's storage in the memory of its master. Here checkpoints go to the temporary folder, or to the path if one is given."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        self._path = checkpoint_path
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size

    def get_checkpoint_path(self) -> str | None:
        """The folder of the checkpoints; None: none was set."""
        return self._path

    def get_max_state_size(self) -> int:
        """Kept: a folder has no such limit."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """The folder of the savepoints; None: none was set."""
        return None

    def write_to(self, configuration: Configuration) -> None:
        configuration.set(CHECKPOINT_STORAGE.key, "jobmanager")
        configuration.set(CHECKPOINT_DIR.key, self._path or "")

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage({self._path or 'temporary folder'})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in a folder that driver and executors can reach.

    >>> FileSystemCheckpointStorage("file:///data/checkpoints").get_checkpoint_path()
    '/data/checkpoints'
    """

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024

    def __init__(
        self, checkpoint_path: str, file_state_size_threshold: int | None = None, write_buffer_size: int = -1
    ) -> None:
        if checkpoint_path is None:
            raise ValueError("checkpoint_path must not be None")
        self._path: str = CHECKPOINT_DIR.read(checkpoint_path)
        self._threshold = 20 * 1024 if file_state_size_threshold in (None, -1) else int(file_state_size_threshold or 0)
        self._buffer = 4 * 1024 if write_buffer_size < 0 else write_buffer_size

    def get_checkpoint_path(self) -> str:
        """The folder of the checkpoints."""
        return self._path

    def get_savepoint_path(self) -> str | None:
        """The folder of the savepoints; None: none was set."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Kept: Spark decides which files there are."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """Kept: Spark decides how files are written."""
        return max(self._buffer, self._threshold)

    def write_to(self, configuration: Configuration) -> None:
        configuration.set(CHECKPOINT_STORAGE.key, "filesystem")
        configuration.set(CHECKPOINT_DIR.key, self._path)

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage({self._path})"


class CustomCheckpointStorage(CheckpointStorage):
    """Refused: Flink's own storages are Java classes."""

    def __init__(self, j_custom_checkpoint_storage: Any) -> None:
        raise UnsupportedOperation(
            "CUSTOM_STORAGE",
            "A CustomCheckpointStorage is a Java class of Flink's, and Spark writes the checkpoints here. Use "
            "FileSystemCheckpointStorage.",
        )


def storage_in(configuration: Configuration) -> CheckpointStorage | None:
    """The storage that a configuration asks for; None: it says nothing."""
    path = configuration.get(CHECKPOINT_DIR)
    if configuration.get(CHECKPOINT_STORAGE) == "jobmanager":
        return JobManagerCheckpointStorage(path or None)
    return FileSystemCheckpointStorage(path) if path else None
