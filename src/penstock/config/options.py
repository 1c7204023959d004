"""Options of jobs, state, batches, shipped files, Spark and the registry: key, type, default, and what each does.

Keys of Flink's are used where the meaning is the same. Options of checkpoints and restarts are beside this file.
"""

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
    "STREAMING runs as a stream; BATCH as one Spark batch job, whose sources must be bounded; AUTOMATIC as BATCH when they are.",
)
PARAMETERS = define("pipeline.global-job-parameters", MAP, {}, "Parameters that functions read by `get_job_parameter`.")
AUTO_UIDS = define(
    "pipeline.auto-generate-uids", FLAG, True, "false: every operator must be given a uid, or the job is refused."
)
PRINT_STYLE = define(
    "print.style",
    choice("python", "flink"),
    "python",
    "How `print` writes elements of a declared type: as Python does, or as Flink does, such as (a,1) for a tuple and +I[a,1] "
    "for a row. `penstock run --pyflink` sets it to flink.",
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
REAL_TIME = define(
    "execution.real-time-mode",
    DURATION,
    0,
    "Run in Spark's real-time mode, with a checkpoint so often (at least 5 s); 0: in batches. For jobs of a streaming DataFrame "
    "and a SparkSink alone, which have no Python in them.",
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
JAR_BUNDLES = define(
    "spark.jar-bundles",
    COMMAS,
    [],
    "Jars that a new Spark session gets, by the names of `penstock jars`, such as spark-kafka; fetched when they are not there.",
)
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
