"""Options of checkpoints and savepoints."""

from __future__ import annotations

from penstock.config.registry import NO_EFFECT, define
from penstock.config.value_kinds import (
    BOOLEAN,
    DURATION,
    FRACTION,
    MEMORY,
    PATH,
    PATH_OR_URI,
    STRING,
    choice,
    integer,
)

CHECKPOINT_DIR = define(
    "execution.checkpointing.dir",
    PATH,
    "",
    "Folder for checkpoints. Each job creates a subfolder in it. Not set: the folder `checkpoints` in the state "
    "folder of the user.",
    "state.checkpoints.dir",
    "state.backend.fs.checkpointdir",
)
LATEST = "latest"
RESUME = define(
    "execution.resume",
    PATH,
    "",
    "Checkpoint folder that the job continues. The program and its parallelism must be unchanged. `latest`: the checkpoint folder "
    "belongs to the name of the job; the first start begins with empty state, and later ones continue it. Not set: the job starts "
    "with empty state.",
)
PROGRAM_JOBS = define(
    "execution.resume.jobs",
    STRING,
    "",
    "Set by `penstock resume` for a program that runs several jobs: which of them is resumed, and the checkpoints of the others.",
)
FROM_SAVEPOINT = define(
    "execution.state-recovery.path",
    STRING,
    "",
    "Savepoint, or checkpoint of a job that is not running, from which the job restores its state. The program and its "
    "parallelism may have changed. Not set: the job starts with empty state.",
    "execution.savepoint.path",
)
ALLOW_DROPPED = define(
    "execution.state-recovery.ignore-unclaimed-state",
    BOOLEAN,
    False,
    "Whether state of the savepoint that belongs to no operator of the job is dropped. If false, the job is rejected.",
    "execution.savepoint.ignore-unclaimed-state",
)
REBUILD = define(
    "execution.state-recovery.rebuild",
    BOOLEAN,
    False,
    "Whether state of a changed query that cannot be kept is computed again: the tables that it reads are read from their start.",
)
CHECKPOINT_INTERVAL = define(
    "execution.checkpointing.interval",
    DURATION,
    None,
    "Checkpoint interval. Every batch is a checkpoint, so it does not delay anything. As in Flink, a job that sets it is "
    "restarted after a failure.",
)
STORE_TIMEOUT = define(
    "execution.checkpointing.store.timeout",
    DURATION,
    None,
    "How long a running job waits for checkpoint storage that is full, read-only or unreachable before it fails. The restart "
    "strategy does not apply meanwhile. Not set: no limit.",
    former="execution.checkpointing.store.patience",
)
STORE_MOST_PAUSE = define(
    "execution.checkpointing.store.max-pause",
    DURATION,
    30_000,
    "Maximum pause between two attempts to access checkpoint storage that failed. The first pause is one second.",
)
STORE_SLOW = define(
    "execution.checkpointing.store.slow-after",
    DURATION,
    30_000,
    "A job reports that checkpoint storage is slow when a batch waits for it longer than this.",
)
CHECKPOINTING_MODE = define(
    "execution.checkpointing.mode",
    choice("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    "EXACTLY_ONCE",
    f"{NO_EFFECT} jobs are exactly-once in both modes.",
)
CHECKPOINT_RETENTION = define(
    "execution.checkpointing.externalized-checkpoint-retention",
    choice("DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"),
    None,
    "When the checkpoint folder is deleted. RETAIN_ON_CANCELLATION, or not set: never. DELETE_ON_CANCELLATION: when the job is "
    "cancelled. NO_EXTERNALIZED_CHECKPOINTS: when the job ends.",
)
SAVEPOINT_DIR = define(
    "execution.checkpointing.savepoint-dir",
    PATH_OR_URI,
    "",
    "Folder for savepoints. Each savepoint is a new subfolder. Not set: the folder `savepoints` in the state folder of the "
    "user, or next to the checkpoints if their folder is set.",
    "state.savepoints.dir",
)
SAVEPOINT_COUNT = define(
    "execution.checkpointing.savepoint-retention.count",
    integer(1),
    None,
    "How many savepoints of a job are retained. Older ones are deleted after each new one. Not set: all.",
)
SAVEPOINT_AGE = define(
    "execution.checkpointing.savepoint-retention.age",
    DURATION,
    None,
    "How long savepoints of a job are retained. Older ones are deleted after each new one. Not set: no limit.",
)
SAVEPOINT_SIZE = define(
    "execution.checkpointing.savepoint-retention.size",
    MEMORY,
    None,
    "Maximum total size of the savepoints of a job. The oldest are deleted after each new one. The newest savepoint, and one "
    "from which a running job was restored, are always retained. Not set: no limit.",
)
CHECKPOINT_TIMEOUT = define(
    "execution.checkpointing.timeout", DURATION, 600_000, "Maximum duration of a savepoint. Batches have no timeout."
)
CHECKPOINT_PAUSE = define(
    "execution.checkpointing.min-pause",
    DURATION,
    0,
    "Minimum time between the end of a checkpoint and the start of the next one. Every batch is a checkpoint, so elements wait "
    "meanwhile. Does not apply to streaming DataFrames of Spark.",
)
CHECKPOINT_SHARE = define(
    "execution.checkpointing.max-share",
    FRACTION,
    None,
    "Maximum fraction of the time that checkpoints may take, such as 0.2. A job whose batches have a higher overhead pauses "
    "between batches until the fraction is met. Not set: no pause.",
)
CHECKPOINTS_AT_ONCE = define(
    "execution.checkpointing.max-concurrent-checkpoints",
    integer(1),
    1,
    f"{NO_EFFECT} there is always one checkpoint at a time.",
)
CHECKPOINT_FAILURES = define(
    "execution.checkpointing.tolerable-failed-checkpoints",
    integer(0),
    0,
    "How many consecutive checkpoints may fail because of checkpoint storage before the job fails and its restart strategy "
    "applies. Not set: no limit, the job waits for the storage.",
)
UNALIGNED = define(
    "execution.checkpointing.unaligned.enabled",
    BOOLEAN,
    False,
    f"{NO_EFFECT} there are no checkpoint barriers.",
    "execution.checkpointing.unaligned",
)
UNALIGNED_FORCED = define(
    "execution.checkpointing.unaligned.forced", BOOLEAN, False, f"{NO_EFFECT} there are no checkpoint barriers."
)
ALIGNMENT_TIMEOUT = define(
    "execution.checkpointing.aligned-checkpoint-timeout",
    DURATION,
    0,
    f"{NO_EFFECT} there are no checkpoint barriers.",
    "execution.checkpointing.alignment-timeout",
)
INCREMENTAL = define(
    "execution.checkpointing.incremental",
    BOOLEAN,
    True,
    f"{NO_EFFECT} checkpoints are always incremental.",
    "state.backend.incremental",
)
CHECKPOINT_STORAGE = define(
    "execution.checkpointing.storage",
    choice("filesystem", "jobmanager"),
    "filesystem",
    "The checkpoint storage. jobmanager stores checkpoints in the state folder of the user, unless a checkpoint folder is set.",
    "state.checkpoint-storage",
)
SNAPSHOT_COMPRESSION = define(
    "execution.checkpointing.snapshot-compression",
    BOOLEAN,
    False,
    f"{NO_EFFECT} Spark decides how its checkpoints are compressed.",
)
CHANGELOG = define(
    "state.changelog.enabled",
    BOOLEAN,
    None,
    f"{NO_EFFECT} state is always stored as a log of changes.",
    "state.backend.changelog.enabled",
    always=True,
)
