"""Options of state backends."""

from __future__ import annotations

from penstock.config.registry import NO_EFFECT, define
from penstock.config.value_kinds import DOUBLE, MEMORY, PATH, choice, integer

BACKEND = define(
    "state.backend.type",
    choice("lmdb", "hashmap", "rocksdb"),
    "lmdb",
    "The working copy of state: lmdb keeps it on local disk, hashmap also caches decoded values in the worker. rocksdb is "
    "accepted for Flink programs and means lmdb.",
    "state.backend",
)
LOCAL_DIR = define(
    "state.local.dir",
    PATH,
    "",
    "Folder of the working copies on executors. Not set: the folder `working-copies` in the state folder "
    "of the user; on a cluster, the local directories of Spark.",
    "state.backend.rocksdb.localdir",
)
LOCAL_LIMIT = define("state.local.size-limit", MEMORY, 64 << 30, "Maximum size of the working copy of one slot.")
LOCAL_KEEP = define(
    "state.local.keep-hours",
    integer(0),
    168,
    "Working copies that were not used for this many hours are deleted when a job starts.",
)
LOG_FRACTION = define(
    "state.log.fraction",
    DOUBLE,
    0.5,
    "The state log of a slot is compacted when it is larger than this fraction of the base.",
)
LOG_LEAST = define(
    "state.log.least-bytes", MEMORY, 8 << 20, "The state log of a slot is not compacted while it is smaller than this."
)
FOLD_RATIO = define(
    "state.fold.ratio",
    DOUBLE,
    1.0,
    "How many bytes of the base are compacted per byte of changes in a batch, while a compaction is in progress.",
)
ROCKSDB_OPTIONS = define(
    "state.backend.rocksdb.predefined-options",
    choice("DEFAULT", "SPINNING_DISK_OPTIMIZED", "SPINNING_DISK_OPTIMIZED_HIGH_MEM", "FLASH_SSD_OPTIMIZED"),
    "DEFAULT",
    f"{NO_EFFECT} the working copy is not in RocksDB.",
)
ROCKSDB_THREADS = define(
    "state.backend.rocksdb.checkpoint.transfer.thread.num",
    integer(1),
    4,
    f"{NO_EFFECT} state changes are written with their batch.",
)
