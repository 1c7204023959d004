"""Options of jobs and of how their batches run. Keys are Flink's where the meaning is the same."""

from __future__ import annotations

from penstock.config.registry import NO_EFFECT, define
from penstock.config.value_kinds import BOOLEAN, DURATION, DURATION_OR_NEVER, MAP, PATH, STRING, choice, integer

# -- the job

ENGINE = define(
    "execution.engine",
    STRING,
    "spark",
    "The engine that runs jobs. spark: on Spark. local: in the process of the program, without Java, as with `penstock run "
    "--local`. Or module:class.",
)
JOB_NAME = define("pipeline.name", STRING, "", "The name of the job, unless `execute` is called with a name.")
PARALLELISM = define(
    "parallelism.default", integer(1), None, "Default parallelism of jobs. Not set: the number of cores that Spark has."
)
MAX_PARALLELISM = define(
    "pipeline.max-parallelism",
    integer(1, 32768),
    128,
    "The number of key groups, which is the upper limit of the parallelism of a job.",
)
RUNTIME_MODE = define(
    "execution.runtime-mode",
    choice("STREAMING", "BATCH", "AUTOMATIC"),
    "STREAMING",
    "STREAMING runs the job as a streaming query. BATCH runs it as one Spark batch job and requires bounded sources. AUTOMATIC "
    "selects BATCH if all sources are bounded.",
)
PARAMETERS = define(
    "pipeline.global-job-parameters", MAP, {}, "Parameters that functions read with `get_job_parameter`."
)
AUTO_UIDS = define(
    "pipeline.auto-generate-uids",
    BOOLEAN,
    True,
    "Whether operators without a uid get one generated. If false, a job with such an operator is rejected.",
)
PRINT_STYLE = define(
    "print.style",
    choice("python", "flink"),
    "python",
    "How `print` formats elements of a declared type: as in Python, or as in Flink, for example (a,1) for a tuple and +I[a,1] "
    "for a row. `penstock run --pyflink` sets it to flink.",
)
LOG_LEVEL = define(
    "python.logging.default.level",
    choice("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", warn="WARNING", fatal="CRITICAL"),
    "INFO",
    "Level of the loggers that functions use.",
)
LOG_OVERRIDES = define(
    "python.logging.level.overrides",
    MAP,
    {},
    "Levels of single loggers that functions use, such as `my.module: DEBUG`.",
)

# -- batches

TRIGGER_INTERVAL = define(
    "execution.trigger.interval",
    DURATION,
    0,
    "Minimum time between the starts of two batches. 0 starts each batch as soon as possible.",
)
REAL_TIME = define(
    "execution.real-time-mode",
    DURATION,
    0,
    "Checkpoint interval of Spark's real-time mode, at least 5 s. 0 runs the job in batches. Only for jobs that consist of a "
    "streaming DataFrame and a SparkSink and contain no Python functions.",
)
BATCH_RECORDS = define(
    "source.batch.records",
    integer(0),
    0,
    "Maximum number of records per source and batch. 0 uses the source's default.",
)
HEARTBEAT = define(
    "execution.heartbeat",
    DURATION,
    0,
    "Maximum time between two batches, even without new records. 0 runs a batch only when needed.",
)
BUFFER_TIMEOUT = define(
    "execution.buffer-timeout.interval",
    DURATION_OR_NEVER,
    0,
    "How long the records of an unbounded source may wait for a batch to fill. 0 starts a batch as soon as the previous one has "
    "ended, -1 only when the batch is full. A longer time means fewer and fuller batches, which cost less per record. A batch is "
    "full when it has `source.batch.records` records or the bytes that the source allows.",
    "execution.buffer-timeout",
)
BUFFER_TIMEOUT_ENABLED = define(
    "execution.buffer-timeout.enabled",
    BOOLEAN,
    True,
    "If false, a batch starts only when it is full, like with the interval -1.",
)
WATERMARK_EMISSION = define(
    "pipeline.watermark-emission",
    choice("per-record", "per-batch"),
    "per-record",
    "When the watermark of `for_monotonous_timestamps` and `for_bounded_out_of_orderness` advances. per-record: after every "
    "record, so that results do not depend on batch boundaries. per-batch: at the end of each batch, like Flink's periodic "
    "watermarks, so that no record is late because of another one of its batch. `penstock run --pyflink` sets it to per-batch.",
)
WATERMARK_INTERVAL = define(
    "pipeline.auto-watermark-interval",
    DURATION,
    200,
    f"{NO_EFFECT} see pipeline.watermark-emission.",
)
CHAINING = define(
    "pipeline.operator-chaining.enabled",
    BOOLEAN,
    True,
    f"{NO_EFFECT} operators without a shuffle between them are always chained.",
    "pipeline.operator-chaining",
)
CHAINING_MIXED = define(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    BOOLEAN,
    True,
    f"{NO_EFFECT} a job has one max parallelism.",
)
OBJECT_REUSE = define(
    "pipeline.object-reuse",
    BOOLEAN,
    False,
    "Whether functions of one task share their elements. If false, an element that can be changed in place is copied when it is "
    "emitted and when several branches read it. Elements of immutable types are never copied.",
)
CLOSURE_CLEANER = define(
    "pipeline.closure-cleaner-level",
    choice("NONE", "TOP_LEVEL", "RECURSIVE"),
    "RECURSIVE",
    f"{NO_EFFECT} a Python function captures only what it uses.",
)
FORCE_KRYO = define("pipeline.force-kryo", BOOLEAN, False, f"{NO_EFFECT} elements are not serialized by Java.")
FORCE_AVRO = define("pipeline.force-avro", BOOLEAN, False, f"{NO_EFFECT} elements are not serialized by Java.")
GENERIC_TYPES = define("pipeline.generic-types", BOOLEAN, True, f"{NO_EFFECT} elements are not serialized by Java.")
LATENCY_INTERVAL = define(
    "metrics.latency.interval",
    DURATION,
    0,
    f"{NO_EFFECT} there are no latency markers. The duration of batches is measured instead.",
)
CANCEL_INTERVAL = define(
    "task.cancellation.interval",
    DURATION,
    30_000,
    f"{NO_EFFECT} Spark cancels tasks by its own rules.",
    "task.cancellation-interval",
)
CANCEL_TIMEOUT = define(
    "task.cancellation.timeout",
    DURATION,
    180_000,
    "How long a job that ends waits for tasks that are still running. 0 waits without a limit.",
)

# -- `penstock fork` and `penstock replay`

FORK_PLAN = define(
    "execution.fork.plan",
    PATH,
    "",
    "Set by `penstock fork` and `penstock replay`: the file that describes what their runs read and write.",
)
FORK_RUN = define(
    "execution.fork.run", STRING, "run", "Set by `penstock fork` and `penstock replay`: the name of one of their runs."
)
