"""Spark's DataFrames as sources of a job: streaming ones run in its query, batch ones are put aside before it starts."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from penstock.connectors.dataframe import DataFrameStream, DataFrameTable
from penstock.connectors.dataframe.stream import DataFrameTask
from penstock.connectors.dataframe.table import ROW_GROUP, rows_folder
from penstock.engine.program import Program, SourceProgram
from penstock.errors import CheckpointError, ConfigError
from penstock.runtime.call_site import CallSite
from penstock.spark import worker
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.failure import carrying
from penstock.spark.processor import ROW_SCHEMA
from penstock.spark.run_folder import RunFolder
from penstock.spark.sources import running_batch, to_arrow


class BridgeMapper:
    """The mapper of a streaming DataFrame: called once per task with the rows that Spark has read."""

    def __init__(self, folder: RunFolder, number: int, parallelism: int) -> None:
        self._key, self._data = folder.program()
        self._run_folder = str(folder.path)
        self._number = number
        self._parallelism = parallelism

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carrying(), worker.heard_logs(self._run_folder), worker.no_garbage_collection():
            context = TaskContext.get()
            assert context is not None
            # The same in a replay: a batch's sources are planned from the same offsets.
            task = context.partitionId()
            mapper = worker.mapper_of(self._key, self._data, self._number, task % self._parallelism)
            mapper.batch = running_batch()
            yield from to_arrow(mapper.run(DataFrameTask(task, batches), []), self._parallelism)


def bridged(session: SparkSession, folder: RunFolder, source: SourceProgram, parallelism: int) -> DataFrame:
    """The rows of a streaming DataFrame as those that all sources make."""
    assert isinstance(source.source, DataFrameStream)
    frame: DataFrame = source.source.frame
    check_session(session, frame, source.name)
    return frame.mapInArrow(BridgeMapper(folder, source.number, parallelism), ROW_SCHEMA)


def check_session(session: SparkSession, frame: DataFrame, name: str) -> None:
    """A job runs in one Spark: that of its DataFrames."""
    if frame.sparkSession.sparkContext is not session.sparkContext:
        raise ConfigError(
            "DATAFRAME_SESSION",
            f"The DataFrame of source '{name}' belongs to a Spark session that is not the running one; it was stopped, perhaps. "
            "Make the DataFrame in the session that runs the job.",
        )


def put_tables_aside(session: SparkSession, program: Program, checkpoint: Checkpoint) -> None:
    """Evaluates batch DataFrames, once in the life of a checkpoint, and keeps their rows in it."""
    for source in program.sources:
        if isinstance(source.source, DataFrameTable):
            folder = os.path.join(checkpoint.lasting, source.uid)
            if not os.path.isdir(rows_folder(folder)):
                check_session(session, source.source.frame, source.name)
                _put_aside(source, folder)
            source.source.attach(folder)  # from now on it knows its splits, wherever it is asked


def take_tables_over(program: Program, checkpoint: Checkpoint, positions: dict[str, Any]) -> None:
    """Batch DataFrames of a job that starts from a savepoint: it reads the rows that the first job put aside."""
    for source in program.sources:
        position = positions.get(str(source.number))
        if not isinstance(source.source, DataFrameTable) or position is None or not position.get("aside"):
            continue
        aside, own = position["aside"], rows_folder(os.path.join(checkpoint.lasting, source.uid))
        try:
            shutil.copytree(aside, own, copy_function=_linked)
        except OSError as error:
            raise CheckpointError(
                "SAVEPOINT_ROWS_GONE",
                f"Source '{source.name}' is a DataFrame whose rows were put aside in {aside} when its job first ran, and they "
                f"cannot be read any more: {error}. A DataFrame that is evaluated again may give other rows in another order. "
                "Keep the checkpoint of the first job; or give the source another uid and restore with --allow-dropped-state: "
                "it is then read from its beginning.",
            ) from error


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)
    return target


def _put_aside(source: SourceProgram, folder: str) -> None:
    """All rows or none: a half-written folder has another name."""
    beside = f"{rows_folder(folder)}-{uuid.uuid4().hex}"
    writer: Any = source.source.frame.write
    try:
        os.makedirs(folder, exist_ok=True)
        writer.option("parquet.block.size", ROW_GROUP).parquet(Path(beside).as_uri())
        os.rename(beside, rows_folder(folder))
    except Exception as error:
        raise CallSite(source.name, source.uid, None, "Source").error(error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
