"""All options: key, type, default, and what each does. Keys of Flink's are used where the meaning is the same."""

from __future__ import annotations

from penstock.config.kinds import (
    COMMAS,
    DURATION,
    FLAG,
    FOLDER,
    LIST,
    MAP,
    MEMORY,
    NUMBER,
    TEXT,
    choice,
    whole,
)
from penstock.config.registry import define

_KEPT = "Kept and given back; it changes nothing:"

# -- the job

ENGINE = define("execution.engine", TEXT, "penstock.spark.engine:SparkEngine", "What runs a job: module:class.")
JOB_NAME = define("pipeline.name", TEXT, "", "The job's name, unless `execute` is given one.")
PARALLELISM = define("parallelism.default", whole(1), None, "Parallelism of jobs; not set: the cores that Spark has.")
MAX_PARALLELISM = define(
    "pipeline.max-parallelism", whole(1, 32768), 128, "Number of key groups: the most that a job can grow to."
)
RUNTIME_MODE = define(
    "execution.runtime-mode",
    choice("STREAMING", "BATCH", "AUTOMATIC"),
    "STREAMING",
    "STREAMING and AUTOMATIC run as a stream; BATCH is refused in this version.",
)
PARAMETERS = define("pipeline.global-job-parameters", MAP, {}, "Parameters that functions read by `get_job_parameter`.")
AUTO_UIDS = define(
    "pipeline.auto-generate-uids", FLAG, True, "false: every operator must be given a uid, or the job is refused."
)

# -- checkpoints

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
    "Checkpoint folder to continue; not set: start with empty state.",
    "execution.state-recovery.path",
    "execution.savepoint.path",
)
CHECKPOINT_INTERVAL = define(
    "execution.checkpointing.interval",
    DURATION,
    None,
    "Asked-for checkpoint interval. Every batch is a checkpoint, so it delays nothing; but a job that sets it is restarted "
    "when it fails, as in Flink.",
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
    FOLDER,
    "",
    "Kept and given back; savepoints come with a later version.",
    "state.savepoints.dir",
)
CHECKPOINT_TIMEOUT = define(
    "execution.checkpointing.timeout", DURATION, 600_000, f"{_KEPT} a batch takes as long as it takes."
)
CHECKPOINT_PAUSE = define(
    "execution.checkpointing.min-pause", DURATION, 0, f"{_KEPT} a checkpoint takes no time of its own."
)
CHECKPOINTS_AT_ONCE = define(
    "execution.checkpointing.max-concurrent-checkpoints", whole(1), 1, f"{_KEPT} there is one at a time."
)
CHECKPOINT_FAILURES = define(
    "execution.checkpointing.tolerable-failed-checkpoints",
    whole(0),
    0,
    f"{_KEPT} a batch whose checkpoint fails has failed.",
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

# -- restarts

RESTARTS = define(
    "restart-strategy.type",
    choice(
        "none",
        "fixed-delay",
        "failure-rate",
        "exponential-delay",
        off="none",
        disable="none",
        fixeddelay="fixed-delay",
        failurerate="failure-rate",
        exponentialdelay="exponential-delay",
    ),
    None,
    "What happens when a job fails. Not set: none; exponential-delay when a checkpoint interval is set.",
    "restart-strategy",
)
FIXED_ATTEMPTS = define("restart-strategy.fixed-delay.attempts", whole(0), 1, "How often a job is restarted.")
FIXED_DELAY = define("restart-strategy.fixed-delay.delay", DURATION, 1000, "Time before each restart.")
RATE_FAILURES = define(
    "restart-strategy.failure-rate.max-failures-per-interval", whole(1), 1, "Failures in an interval that are forgiven."
)
RATE_INTERVAL = define("restart-strategy.failure-rate.failure-rate-interval", DURATION, 60_000, "The interval.")
RATE_DELAY = define("restart-strategy.failure-rate.delay", DURATION, 1000, "Time before each restart.")
BACKOFF_INITIAL = define(
    "restart-strategy.exponential-delay.initial-backoff", DURATION, 1000, "Time before the first restart."
)
BACKOFF_MOST = define("restart-strategy.exponential-delay.max-backoff", DURATION, 60_000, "Most time before a restart.")
BACKOFF_MULTIPLIER = define(
    "restart-strategy.exponential-delay.backoff-multiplier", NUMBER, 1.5, "How the time grows from restart to restart."
)
BACKOFF_RESET = define(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    DURATION,
    3_600_000,
    "After running so long without a failure the job counts as never failed.",
)
BACKOFF_JITTER = define(
    "restart-strategy.exponential-delay.jitter-factor",
    NUMBER,
    0.1,
    "The time varies by this part of itself, at random.",
)
BACKOFF_ATTEMPTS = define(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    whole(1),
    2**31 - 1,
    "How often a job is restarted, unless it ran long enough in between.",
)

# -- state

BACKEND = define(
    "state.backend.type",
    choice("lmdb", "hashmap", "rocksdb"),
    "lmdb",
    "Working copy of state: lmdb (on disk), hashmap (on disk, and decoded values cached in the worker), or rocksdb, which means "
    "lmdb: the one that Flink's programs ask for when state is large.",
    "state.backend",
)
LOCAL_DIR = define(
    "state.local.dir",
    FOLDER,
    "",
    "Where working copies live on executors; not set: the system's temporary folder.",
    "state.backend.rocksdb.localdir",
)
LOCAL_LIMIT = define("state.local.size-limit", MEMORY, 64 << 30, "Most bytes of one slot's working copy.")
LOCAL_KEEP = define(
    "state.local.keep-hours", whole(0), 168, "Working copies unused for longer are removed when a job starts."
)
LOG_FRACTION = define(
    "state.log.fraction", NUMBER, 0.5, "The log may grow to this fraction of the base before it is folded."
)
LOG_LEAST = define(
    "state.log.least-bytes", MEMORY, 8 << 20, "The log of a slot is not folded while it is smaller than this."
)
FOLD_RATIO = define("state.fold.ratio", NUMBER, 1.0, "Bytes folded per byte of a batch's changes while folding.")
ROCKSDB_OPTIONS = define(
    "state.backend.rocksdb.predefined-options",
    choice("DEFAULT", "SPINNING_DISK_OPTIMIZED", "SPINNING_DISK_OPTIMIZED_HIGH_MEM", "FLASH_SSD_OPTIMIZED"),
    "DEFAULT",
    f"{_KEPT} the working copy is not in RocksDB.",
)
ROCKSDB_THREADS = define(
    "state.backend.rocksdb.checkpoint.transfer.thread.num", whole(1), 4, f"{_KEPT} changes travel with their batch."
)

# -- batches

TRIGGER_INTERVAL = define(
    "execution.trigger.interval", DURATION, 0, "Least time between batches; 0: as soon as possible."
)
BATCH_RECORDS = define(
    "source.batch.records", whole(0), 0, "Most records a source admits to a batch; 0: the source's own default."
)
HEARTBEAT = define("execution.heartbeat", DURATION, 0, "Run a batch at least this often; 0: only when needed.")
BUFFER_TIMEOUT = define(
    "execution.buffer-timeout.interval",
    DURATION,
    100,
    f"{_KEPT} records travel with their batch.",
    "execution.buffer-timeout",
)
BUFFER_TIMEOUT_ENABLED = define(
    "execution.buffer-timeout.enabled", FLAG, True, f"{_KEPT} records travel with their batch."
)
WATERMARK_INTERVAL = define(
    "pipeline.auto-watermark-interval", DURATION, 200, f"{_KEPT} watermarks are computed after every record."
)
CHAINING = define(
    "pipeline.operator-chaining.enabled",
    FLAG,
    True,
    f"{_KEPT} steps without a shuffle between them always run together.",
    "pipeline.operator-chaining",
)
CHAINING_MIXED = define(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    FLAG,
    True,
    f"{_KEPT} a job has one max-parallelism.",
)
OBJECT_REUSE = define("pipeline.object-reuse", FLAG, False, f"{_KEPT} steps in a chain always share their elements.")
CLOSURE_CLEANER = define(
    "pipeline.closure-cleaner-level",
    choice("NONE", "TOP_LEVEL", "RECURSIVE"),
    "RECURSIVE",
    f"{_KEPT} Python functions carry only what they use.",
)
FORCE_KRYO = define("pipeline.force-kryo", FLAG, False, f"{_KEPT} elements are not serialized by Java.")
FORCE_AVRO = define("pipeline.force-avro", FLAG, False, f"{_KEPT} elements are not serialized by Java.")
GENERIC_TYPES = define("pipeline.generic-types", FLAG, True, f"{_KEPT} elements are not serialized by Java.")
LATENCY_INTERVAL = define(
    "metrics.latency.interval", DURATION, 0, f"{_KEPT} there are no latency marks; batches are timed instead."
)
CANCEL_INTERVAL = define(
    "task.cancellation.interval",
    DURATION,
    30_000,
    f"{_KEPT} Spark ends tasks by its own rules.",
    "task.cancellation-interval",
)
CANCEL_TIMEOUT = define(
    "task.cancellation.timeout",
    DURATION,
    180_000,
    "How long the end of a job waits for tasks that still run; 0: as long as they need.",
)

# -- where functions run

PYTHON_FILES = define("python.files", COMMAS, [], "Modules, package folders and zips that are shipped to executors.")
PYTHON_REQUIREMENTS = define(
    "python.requirements",
    TEXT,
    "",
    "A requirements file whose packages are installed where functions run; `file#folder`: from a folder of downloaded packages.",
)
PYTHON_ARCHIVES = define(
    "python.archives",
    COMMAS,
    [],
    "Archives unpacked in the functions' working folder; `archive#name` names the folder.",
)
PYTHON_EXECUTABLE = define(
    "python.executable", TEXT, "", "The Python that runs functions; not set: the one that runs the program."
)
JARS = define("pipeline.jars", LIST, [], "Jars for Spark.")
CLASSPATHS = define("pipeline.classpaths", LIST, [], "Jars that every node can reach by their address.")

# -- Spark

MASTER = define("spark.master", TEXT, "local[*]", "The Spark master that jobs run on when no session is active.")
RETAIN_BATCHES = define("spark.batches-to-retain", whole(0), 100, "How many batches back a checkpoint can be read.")
JVM_OPTIONS = define("spark.jvm-options", TEXT, "", "Extra options of the driver's JVM.")
CONSOLE = define(
    "spark.console", FLAG, False, "true: Spark's own output goes to the terminal, instead of the log of the process."
)

# -- the registry of runs

REGISTRY_DIR = define(
    "jobs.registry.dir", FOLDER, "", "Where runs are registered; not set: the variable PENSTOCK_HOME, else ~/.penstock."
)
REGISTRY_KEEP = define("jobs.registry.keep", whole(0), 100, "How many jobs that are over the registry remembers.")
REGISTRY_KEEP_DAYS = define(
    "jobs.registry.keep-days", whole(0), 30, "Jobs that ended longer ago are forgotten when another one starts."
)
