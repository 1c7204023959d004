"""Options of checkpoints: where they are, and what Flink lets be set of them."""

from __future__ import annotations

from penstock.config.kinds import DURATION, FLAG, FOLDER, FRACTION, MEMORY, PLACE, TEXT, choice, whole
from penstock.config.registry import define

_KEPT = "Kept and given back; it changes nothing:"

CHECKPOINT_DIR = define(
    "execution.checkpointing.dir",
    FOLDER,
    "",
    "Folder for checkpoints; each job makes one of its own in it. Not set: in the system's temporary folder.",
    "state.checkpoints.dir",
    "state.backend.fs.checkpointdir",
)
RESUME = define(
    "execution.resume",
    FOLDER,
    "",
    "Checkpoint folder to continue, by the same program with the same parallelism; not set: start with empty state.",
)
FROM_SAVEPOINT = define(
    "execution.state-recovery.path",
    TEXT,
    "",
    "Savepoint, or checkpoint of a job that does not run, whose state a new job starts with; the program and its parallelism "
    "may have changed. Not set: start with empty state.",
    "execution.savepoint.path",
)
ALLOW_DROPPED = define(
    "execution.state-recovery.ignore-unclaimed-state",
    FLAG,
    False,
    "Whether a savepoint's state that no operator of the job takes is dropped; else the job is refused.",
    "execution.savepoint.ignore-unclaimed-state",
)
CHECKPOINT_INTERVAL = define(
    "execution.checkpointing.interval",
    DURATION,
    None,
    "Asked-for checkpoint interval. Every batch is a checkpoint, so it delays nothing; but a job that sets it is restarted "
    "when it fails, as in Flink.",
)
STORE_PATIENCE = define(
    "execution.checkpointing.store.patience",
    DURATION,
    None,
    "How long a running job waits for a checkpoint store that is full, read-only or not to be reached, before it fails. Not set: "
    "as long as it takes. Restart strategies are not asked.",
)
STORE_MOST_PAUSE = define(
    "execution.checkpointing.store.max-pause",
    DURATION,
    30_000,
    "Most time between two looks at a checkpoint store that a job waits for; the first is after a second.",
)
STORE_SLOW = define(
    "execution.checkpointing.store.slow-after",
    DURATION,
    30_000,
    "A job whose batch waits for the checkpoint store longer than this says so.",
)
CHECKPOINTING_MODE = define(
    "execution.checkpointing.mode",
    choice("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    "EXACTLY_ONCE",
    "Kept and given back: jobs run exactly once in either mode.",
)
CHECKPOINT_RETENTION = define(
    "execution.checkpointing.externalized-checkpoint-retention",
    choice("DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"),
    None,
    "What becomes of the checkpoint folder: not set or RETAIN_ON_CANCELLATION: it stays; DELETE_ON_CANCELLATION: it is removed "
    "when the job is cancelled; NO_EXTERNALIZED_CHECKPOINTS: it is removed when the job ends.",
)
SAVEPOINT_DIR = define(
    "execution.checkpointing.savepoint-dir",
    PLACE,
    "",
    "Folder for savepoints; each is a new folder in it. Not set: the folder `savepoints` beside the checkpoints.",
    "state.savepoints.dir",
)
SAVEPOINT_COUNT = define(
    "execution.checkpointing.savepoint-retention.count",
    whole(1),
    None,
    "How many savepoints of a job are kept in their folder; older ones are removed after each new one. Not set: all.",
)
SAVEPOINT_AGE = define(
    "execution.checkpointing.savepoint-retention.age",
    DURATION,
    None,
    "Savepoints of a job that are older are removed after each new one. Not set: none.",
)
SAVEPOINT_SIZE = define(
    "execution.checkpointing.savepoint-retention.size",
    MEMORY,
    None,
    "Most bytes of a job's savepoints in their folder: the oldest are removed after each new one. The newest, and one that a "
    "running job came from, stay in any case. Not set: no limit.",
)
CHECKPOINT_TIMEOUT = define(
    "execution.checkpointing.timeout",
    DURATION,
    600_000,
    "How long a savepoint may take; a batch takes as long as it takes.",
)
CHECKPOINT_PAUSE = define(
    "execution.checkpointing.min-pause",
    DURATION,
    0,
    "Least time from the end of a checkpoint to the next one's beginning. Every batch is a checkpoint: elements wait meanwhile. "
    "Streaming DataFrames of Spark's do not.",
)
CHECKPOINT_SHARE = define(
    "execution.checkpointing.max-share",
    FRACTION,
    None,
    "The most that checkpoints may take of the time, such as 0.2: a job whose batches cost more beside the work on their elements "
    "rests between them, as long as it takes. Not set: as often as possible.",
)
CHECKPOINTS_AT_ONCE = define(
    "execution.checkpointing.max-concurrent-checkpoints", whole(1), 1, f"{_KEPT} there is one at a time."
)
CHECKPOINT_FAILURES = define(
    "execution.checkpointing.tolerable-failed-checkpoints",
    whole(0),
    0,
    "How many checkpoints in a row may fail because of their store before that is a failure of the job, for its restart strategy "
    "to decide on. Not set: any number; the job waits for the store.",
)
UNALIGNED = define(
    "execution.checkpointing.unaligned.enabled",
    FLAG,
    False,
    f"{_KEPT} there are no barriers to align.",
    "execution.checkpointing.unaligned",
)
UNALIGNED_FORCED = define(
    "execution.checkpointing.unaligned.forced", FLAG, False, f"{_KEPT} there are no barriers to align."
)
ALIGNMENT_TIMEOUT = define(
    "execution.checkpointing.aligned-checkpoint-timeout",
    DURATION,
    0,
    f"{_KEPT} there are no barriers to align.",
    "execution.checkpointing.alignment-timeout",
)
INCREMENTAL = define(
    "execution.checkpointing.incremental",
    FLAG,
    True,
    f"{_KEPT} a checkpoint always holds the changes of its batch.",
    "state.backend.incremental",
)
CHECKPOINT_STORAGE = define(
    "execution.checkpointing.storage",
    choice("filesystem", "jobmanager"),
    "filesystem",
    "filesystem; jobmanager means a checkpoint in the temporary folder, unless a folder is set.",
    "state.checkpoint-storage",
)
SNAPSHOT_COMPRESSION = define(
    "execution.checkpointing.snapshot-compression",
    FLAG,
    False,
    f"{_KEPT} Spark compresses its checkpoints by its own rules.",
)
CHANGELOG = define(
    "state.changelog.enabled",
    FLAG,
    None,
    f"{_KEPT} state is always kept as a log of changes.",
    "state.backend.changelog.enabled",
)
