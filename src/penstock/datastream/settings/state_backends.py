"""How state is kept while a job runs."""

from __future__ import annotations

from enum import Enum
from typing import Any

from penstock.config import BACKEND, INCREMENTAL, LOCAL_DIR, ROCKSDB_OPTIONS, ROCKSDB_THREADS, Configuration
from penstock.errors import UnsupportedOperation


class StateBackend:
    """How state is kept while a job runs. What is durable is the same for all: the checkpoint."""

    def write_to(self, configuration: Configuration) -> None:
        """Makes it the backend of a job."""
        raise NotImplementedError


class HashMapStateBackend(StateBackend):
    """State on local disk, with decoded values cached in the worker: fastest while the keys in use fit into memory."""

    def write_to(self, configuration: Configuration) -> None:
        configuration.set(BACKEND.key, "hashmap")

    def __str__(self) -> str:
        return "HashMapStateBackend"


class PredefinedOptions(Enum):
    """Flink's settings of RocksDB for kinds of disks. Kept, and not used."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """State on local disk: for state larger than memory. The working copy is kept by LMDB, not by RocksDB.

    >>> backend = EmbeddedRocksDBStateBackend()
    >>> backend.set_db_storage_paths("/fast/disk")
    >>> backend.get_db_storage_paths()
    ['/fast/disk']
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise TypeError(
                f"enable_incremental_checkpointing is {enable_incremental_checkpointing!r}; True, False or None is expected."
            )
        self._incremental = enable_incremental_checkpointing
        self._paths: list[str] = []
        self._options = PredefinedOptions.DEFAULT
        self._threads = int(ROCKSDB_THREADS.default)

    def set_db_storage_paths(self, *paths: str) -> None:
        """The folder of working copies on executors; without one, the temporary folder."""
        if len(paths) > 1:
            raise UnsupportedOperation(
                "STORAGE_PATHS",
                f"{len(paths)} storage paths were given; a working copy lives in one folder. Give that of the fastest disk.",
            )
        self._paths = [LOCAL_DIR.read(p) for p in paths]

    def get_db_storage_paths(self) -> list[str]:
        """The folders that were set."""
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Kept: checkpoints always hold changes only."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Kept: the working copy is not in RocksDB."""
        self._options = options

    def get_predefined_options(self) -> PredefinedOptions:
        """What was set; it changes nothing."""
        return self._options

    def set_options(self, options_factory_class_name: str) -> None:
        """Kept, and changes nothing."""
        raise UnsupportedOperation(
            "ROCKSDB_FACTORY",
            f"The options factory {options_factory_class_name} is a Java class that sets up RocksDB, and the working copy is "
            "not in RocksDB. Leave it out.",
        )

    def get_options(self) -> str | None:
        """None: there is no options factory."""
        return None

    def get_number_of_transfer_threads(self) -> int:
        """What was set; it changes nothing."""
        return self._threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Kept: changes travel with their batch."""
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
    """Refused: Flink's own backends are Java classes."""

    def __init__(self, j_custom_state_backend: Any) -> None:
        raise UnsupportedOperation(
            "CUSTOM_BACKEND",
            "A CustomStateBackend is a Java class of Flink's, and state lives in Python here. Use HashMapStateBackend or "
            "EmbeddedRocksDBStateBackend.",
        )


def backend_in(configuration: Configuration) -> StateBackend | None:
    """The backend that a configuration asks for; None: it says nothing."""
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
