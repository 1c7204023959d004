"""State backends, which determine how state is stored while a job runs."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any

from penstock.config import Configuration
from penstock.config.checkpoint_options import INCREMENTAL
from penstock.config.state_options import BACKEND, LOCAL_DIR, ROCKSDB_OPTIONS, ROCKSDB_THREADS
from penstock.errors import UnsupportedOperation, check_enum, warn_ignored


class StateBackend:
    """Base class of state backends. The checkpoint is the same for all of them."""

    def write_to(self, configuration: Configuration) -> None:
        """Writes the backend to the configuration of a job."""
        raise NotImplementedError


class HashMapStateBackend(StateBackend):
    """Stores state on local disk and caches decoded values in the worker. Fastest if the active keys fit in memory."""

    def write_to(self, configuration: Configuration) -> None:
        configuration.set(BACKEND.key, "hashmap")

    def __str__(self) -> str:
        return "HashMapStateBackend"


class PredefinedOptions(Enum):
    """Flink's predefined settings of RocksDB. They have no effect."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """Stores state on local disk, for state larger than memory. Uses LMDB instead of RocksDB.

    >>> backend = EmbeddedRocksDBStateBackend()
    >>> backend.set_db_storage_paths("/fast/disk")
    >>> backend.get_db_storage_paths()
    ['/fast/disk']
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise TypeError(
                f"enable_incremental_checkpointing is {enable_incremental_checkpointing!r}, but must be True, False or None."
            )
        self._incremental = enable_incremental_checkpointing
        self._paths: list[str] = []
        self._options = PredefinedOptions.DEFAULT
        self._threads = int(ROCKSDB_THREADS.default)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Sets the folder of the working copies on executors: the first path.

        Without a path, it is in the state folder of the user.
        """
        if len(paths) > 1:
            warn_ignored(f"set_db_storage_paths: only {paths[0]} is used. All working copies are in one folder.")
        self._paths = [os.path.normpath(LOCAL_DIR.read(p)) for p in paths]

    def get_db_storage_paths(self) -> list[str]:
        """Returns the configured folders."""
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Returns the configured value, which has no effect. Checkpoints are always incremental."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Accepted for compatibility, has no effect. The working copy is not in RocksDB."""
        check_enum("set_predefined_options", options, PredefinedOptions)
        self._options = options

    def get_predefined_options(self) -> PredefinedOptions:
        """Returns the configured value, which has no effect."""
        return self._options

    def set_options(self, options_factory_class_name: str) -> None:
        """Not supported, because the working copy is not in RocksDB."""
        raise UnsupportedOperation(
            "ROCKSDB_FACTORY",
            f"The options factory {options_factory_class_name} is a Java class that configures RocksDB, but the working copy is "
            "not in RocksDB. Remove the call.",
        )

    def get_options(self) -> str | None:
        """Returns None, because there is no options factory."""
        return None

    def get_number_of_transfer_threads(self) -> int:
        """Returns the configured value, which has no effect."""
        return self._threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Accepted for compatibility, has no effect. State changes are written with their batch."""
        self._threads = ROCKSDB_THREADS.read(number_of_transfering_threads)

    def write_to(self, configuration: Configuration) -> None:
        configuration.set(BACKEND.key, "rocksdb")
        configuration.set(ROCKSDB_OPTIONS.key, self._options)
        configuration.set(ROCKSDB_THREADS.key, self._threads)
        if self._incremental is not None:
            configuration.set(INCREMENTAL.key, self._incremental)
        if self._paths:
            configuration.set(LOCAL_DIR.key, self._paths[0])

    def __str__(self) -> str:
        return "EmbeddedRocksDBStateBackend"


class CustomStateBackend(StateBackend):
    """Not supported, because it is a Java class of Flink."""

    def __init__(self, j_custom_state_backend: Any) -> None:
        raise UnsupportedOperation(
            "CUSTOM_BACKEND",
            "A CustomStateBackend is a Java class of Flink and is not supported. Use HashMapStateBackend or "
            "EmbeddedRocksDBStateBackend.",
        )


def configured_backend(configuration: Configuration) -> StateBackend | None:
    """Returns the state backend of a configuration, or None if it is not set."""
    if not configuration.is_set(BACKEND):
        return None
    if configuration.get(BACKEND) == "hashmap":
        return HashMapStateBackend()
    incremental = configuration.get(INCREMENTAL) if configuration.is_set(INCREMENTAL) else None
    backend = EmbeddedRocksDBStateBackend(incremental)
    backend.set_predefined_options(PredefinedOptions[configuration.get(ROCKSDB_OPTIONS)])
    backend.set_number_of_transfer_threads(configuration.get(ROCKSDB_THREADS))
    if path := configuration.get(LOCAL_DIR):
        backend.set_db_storage_paths(path)
    return backend
