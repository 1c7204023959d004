"""A program as one Structured Streaming query."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import current_timestamp, unix_millis
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import (
    FOLD_RATIO,
    LOCAL_KEEP,
    LOCAL_LIMIT,
    LOG_FRACTION,
    LOG_LEAST,
    TRIGGER_INTERVAL,
    Configuration,
)
from penstock.connectors.dataframe import DataFrameStream
from penstock.engine.program import Program, SourceProgram
from penstock.spark.batch_query import BatchQuery
from penstock.spark.bridge import bridged
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.control import PenstockControl
from penstock.spark.processor import ROW_SCHEMA, HostSettings, SlotProcessor
from penstock.spark.router import PenstockRouter
from penstock.spark.run_folder import RunFolder
from penstock.spark.session import interpreted, make_active, prepare
from penstock.spark.sources import PenstockSource
from penstock.spark.statelog import FoldPolicy
from penstock.spark.working_copy import copies_of, remove_unused

_POLL = 0.02
_starting = threading.Lock()
_LAST_JOBS = 4  # only the last batch's can have tasks left


def start_query(
    session: SparkSession,
    program: Program,
    checkpoint: Checkpoint,
    folder: RunFolder,
    configuration: Configuration,
    one_batch: bool = False,
) -> StreamingQuery:
    """Starts the query of a program whose run folder is written; gives at once. `one_batch`: it ends after its first one."""
    with _starting:  # a query takes its settings from the session, which other jobs set too
        return _started(session, program, checkpoint, folder, configuration, one_batch)


def _started(
    session: SparkSession,
    program: Program,
    checkpoint: Checkpoint,
    folder: RunFolder,
    configuration: Configuration,
    one_batch: bool,
) -> StreamingQuery:
    make_active(session)  # a job that is started again is started in a thread of its own
    prepare(session, configuration, program.parallelism)
    for kind in (PenstockSource, PenstockControl, PenstockRouter):
        session.dataSource.register(kind)
    run, data = folder.program()
    settings = _host_settings(checkpoint, folder, configuration)
    rows = _read(session, folder, "penstock_control")
    for source in program.sources:
        rows = rows.unionByName(_source(session, folder, source, program.parallelism))
    levels = [SlotProcessor(run, data, n, program.parallelism, settings) for n in range(1, program.depth + 1)]
    rows = reduce(_processed, levels, rows)
    writer = rows.writeStream.format("penstock_router").option("folder", str(folder.path)).outputMode("append")
    writer = writer.option("checkpointLocation", checkpoint.spark).queryName(f"penstock-{run}")
    if one_batch:
        writer = writer.trigger(once=True)
    elif interval := configuration.get(TRIGGER_INTERVAL):
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    native = any(isinstance(source.source, DataFrameStream) for source in program.sources)
    with nullcontext() if native else interpreted(session, configuration):
        return writer.start()


def _source(session: SparkSession, folder: RunFolder, source: SourceProgram, parallelism: int) -> DataFrame:
    if isinstance(source.source, DataFrameStream):
        return bridged(session, folder, source, parallelism)
    return _read(session, folder, "penstock_source", source=str(source.number))


def _read(session: SparkSession, folder: RunFolder, name: str, **options: str) -> DataFrame:
    return session.readStream.format(name).options(folder=str(folder.path), **options).load()


def _processed(rows: DataFrame, processor: SlotProcessor) -> DataFrame:
    timed = rows.withColumn("t", unix_millis(current_timestamp()))
    return timed.groupBy("slot").transformWithState(processor, ROW_SCHEMA, "Append", "None")


def _host_settings(checkpoint: Checkpoint, run: RunFolder, configuration: Configuration) -> HostSettings:
    folder, limit = copies_of(configuration, checkpoint.job_id), configuration.get(LOCAL_LIMIT)
    remove_unused(str(Path(folder).parent), configuration.get(LOCAL_KEEP))
    policy = FoldPolicy(configuration.get(LOG_FRACTION), configuration.get(LOG_LEAST), configuration.get(FOLD_RATIO))
    return HostSettings(folder, limit, policy, checkpoint.materialized, checkpoint.initial, str(run.path))


def stop_query(session: SparkSession, query: StreamingQuery | BatchQuery, patience: float) -> bool:
    """Stops a query and waits until no task of it writes any more; other queries of the session go on.

    False: tasks still run after so many seconds; with 0 it waits as long as they do.
    """
    query.stop()
    deadline = time.monotonic() + patience
    while running_tasks(session, query):
        if patience and time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def running_tasks(session: SparkSession, query: StreamingQuery | BatchQuery) -> int:
    """Tasks of a query that executors still work on: after its end cancelled ones may go on writing for a while."""
    tracker = session.sparkContext.statusTracker()  # a query's jobs are a job group with the name of its run
    last = sorted(tracker.getJobIdsForGroup(str(query.runId)))[-_LAST_JOBS:]
    jobs = [tracker.getJobInfo(job) for job in last]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return sum(stage.numActiveTasks for stage in stages if stage is not None)
