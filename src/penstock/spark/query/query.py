"""Starts and stops a program as one Structured Streaming query."""

from __future__ import annotations

import os
import threading
import time
from contextlib import nullcontext
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import current_timestamp, unix_millis
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import Configuration
from penstock.config.execution_options import TRIGGER_INTERVAL
from penstock.config.state_options import FOLD_RATIO, LOCAL_LIMIT, LOG_FRACTION, LOG_LEAST
from penstock.connectors.dataframe import DataFrameStream
from penstock.engine.program.program import Program, SourceProgram
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.spark.query.batch_query import BatchQuery
from penstock.spark.query.control import PenstockControl
from penstock.spark.query.dataframe_sources import map_dataframe
from penstock.spark.query.processor import ROW_SCHEMA, HostSettings, SlotProcessor
from penstock.spark.query.router import PenstockRouter
from penstock.spark.query.sources import PenstockSource
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.session import activate_session, configure_session, without_codegen
from penstock.spark.state.compaction import CompactionPolicy
from penstock.spark.state.local_folders import create_copies_folder, working_copy_folder

_POLL = 0.02
_starting = threading.Lock()
_LAST_JOBS = 4  # only jobs of the last batch can have running tasks


def start_query(
    session: SparkSession,
    program: Program,
    checkpoint: Checkpoint,
    folder: RunFolder,
    configuration: Configuration,
    one_batch: bool = False,
) -> StreamingQuery:
    """Starts the query of a program. Returns immediately. With `one_batch` the query ends after its first batch."""
    with _starting:  # the settings of a query are those of the session, which other jobs change too
        return _start(session, program, checkpoint, folder, configuration, one_batch)


def _start(
    session: SparkSession,
    program: Program,
    checkpoint: Checkpoint,
    folder: RunFolder,
    configuration: Configuration,
    one_batch: bool,
) -> StreamingQuery:
    activate_session(session)  # restarts happen in another thread
    configure_session(session, configuration, program.parallelism)
    for kind in (PenstockSource, PenstockControl, PenstockRouter):
        session.dataSource.register(kind)
    run, data = folder.read_program()
    settings = _host_settings(session, checkpoint, folder, configuration)
    rows = _read(session, folder, "penstock_control")
    for source in program.sources:
        rows = rows.unionByName(_read_source(session, folder, source, program.parallelism))
    levels = [SlotProcessor(run, data, n, program.parallelism, settings) for n in range(1, program.depth + 1)]
    rows = reduce(_add_level, levels, rows)
    writer = rows.writeStream.format("penstock_router").option("folder", str(folder.path)).outputMode("append")
    writer = writer.option("checkpointLocation", checkpoint.spark).queryName(f"penstock-{run}")
    if one_batch:
        writer = writer.trigger(once=True)
    elif interval := configuration.get(TRIGGER_INTERVAL):
        writer = writer.trigger(processingTime=f"{interval} milliseconds")
    native = any(isinstance(source.source, DataFrameStream) for source in program.sources)
    with nullcontext() if native else without_codegen(session, configuration):
        return writer.start()


def _read_source(session: SparkSession, folder: RunFolder, source: SourceProgram, parallelism: int) -> DataFrame:
    if isinstance(source.source, DataFrameStream):
        return map_dataframe(session, folder, source, parallelism)
    return _read(session, folder, "penstock_source", source=str(source.number))


def _read(session: SparkSession, folder: RunFolder, name: str, **options: str) -> DataFrame:
    return session.readStream.format(name).options(folder=str(folder.path), **options).load()


def _add_level(rows: DataFrame, processor: SlotProcessor) -> DataFrame:
    timed = rows.withColumn("t", unix_millis(current_timestamp()))
    return timed.groupBy("slot").transformWithState(processor, ROW_SCHEMA, "Append", "None")


def _host_settings(
    session: SparkSession, checkpoint: Checkpoint, run: RunFolder, configuration: Configuration
) -> HostSettings:
    folder = working_copy_folder(configuration, checkpoint.job_id, session.sparkContext.master or "")
    if os.path.isabs(folder):
        create_copies_folder(configuration)
    policy = CompactionPolicy(
        configuration.get(LOG_FRACTION), configuration.get(LOG_LEAST), configuration.get(FOLD_RATIO)
    )
    return HostSettings(
        folder, configuration.get(LOCAL_LIMIT), policy, checkpoint.materialized, checkpoint.initial, str(run.path)
    )


def stop_query(session: SparkSession, query: StreamingQuery | BatchQuery, patience: float) -> bool:
    """Stops a query and waits until none of its tasks writes any more. Other queries of the session continue.

    Returns False if tasks still run after `patience` seconds. With 0 there is no limit.
    """
    query.stop()
    deadline = time.monotonic() + patience
    while running_tasks(session, query):
        if patience and time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def running_tasks(session: SparkSession, query: StreamingQuery | BatchQuery) -> int:
    """Returns how many tasks of a query are running. Cancelled tasks may still write for a while."""
    tracker = session.sparkContext.statusTracker()  # the job group of a query has the id of its run as name
    last = sorted(tracker.getJobIdsForGroup(str(query.runId)))[-_LAST_JOBS:]
    jobs = [tracker.getJobInfo(job) for job in last]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return sum(stage.numActiveTasks for stage in stages if stage is not None)
