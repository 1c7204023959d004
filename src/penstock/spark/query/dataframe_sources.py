"""DataFrames as sources of a job. Streaming DataFrames run in its query; batch DataFrames are materialized before it starts."""

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
from penstock.connectors.dataframe.batch_source import ROW_GROUP, rows_folder
from penstock.connectors.dataframe.streaming_source import DataFrameTask
from penstock.engine.program.program import Program, SourceProgram
from penstock.errors import CheckpointError, ConfigError
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.runtime.loop.call_site import CallSite
from penstock.spark.query import worker
from penstock.spark.query.processor import ROW_SCHEMA
from penstock.spark.query.sources import current_batch, to_arrow
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.error_transport import wrap_errors


class BridgeMapper:
    """The mapper of a streaming DataFrame. Spark calls it once per task with the rows that it has read."""

    def __init__(self, folder: RunFolder, number: int, parallelism: int) -> None:
        self._key, self._data = folder.read_program()
        self._run_folder = str(folder.path)
        self._number = number
        self._parallelism = parallelism

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with wrap_errors(), worker.forward_logs(self._run_folder), worker.pause_garbage_collection():
            context = TaskContext.get()
            assert context is not None
            # The number is the same in a replay, because a batch is planned again from the same offsets.
            task = context.partitionId()
            mapper = worker.get_mapper(self._key, self._data, self._number, task % self._parallelism)
            mapper.batch = current_batch()
            yield from to_arrow(mapper.run(DataFrameTask(task, batches), []), self._parallelism)


def map_dataframe(session: SparkSession, folder: RunFolder, source: SourceProgram, parallelism: int) -> DataFrame:
    """Maps the rows of a streaming DataFrame to the rows that all sources produce."""
    assert isinstance(source.source, DataFrameStream)
    frame = _frame(session, source)
    return frame.mapInArrow(BridgeMapper(folder, source.number, parallelism), ROW_SCHEMA)


def _frame(session: SparkSession, source: SourceProgram) -> DataFrame:
    try:
        frame: DataFrame = source.source.frame_in(session)
    except Exception as error:  # a table that is gone
        raise CallSite(source.name, source.uid, None, "Source").error(error) from error
    check_session(session, frame, source.name)
    return frame


def check_session(session: SparkSession, frame: DataFrame, name: str) -> None:
    """Raises ConfigError if a DataFrame belongs to another Spark session than the one that runs the job."""
    if frame.sparkSession.sparkContext is not session.sparkContext:
        raise ConfigError(
            "DATAFRAME_SESSION",
            f"The DataFrame of source '{name}' belongs to a Spark session that does not run the job. It may have been stopped. "
            "Create the DataFrame in the session that runs the job.",
        )


def materialize_tables(session: SparkSession, program: Program, checkpoint: Checkpoint) -> None:
    """Evaluates batch DataFrames and stores their rows in the checkpoint, unless they are there already."""
    for source in program.sources:
        if isinstance(source.source, DataFrameTable):
            folder = os.path.join(checkpoint.sources_folder, source.uid)
            if not os.path.isdir(rows_folder(folder)):
                _materialize(session, source, folder)
            source.source.attach(folder)  # from now on the source knows its splits


def copy_tables(program: Program, checkpoint: Checkpoint, positions: dict[str, Any]) -> None:
    """Copies the stored rows of batch DataFrames from the checkpoint of the first job to that of a restored one."""
    for source in program.sources:
        position = positions.get(str(source.number))
        if not isinstance(source.source, DataFrameTable) or position is None or not position.get("aside"):
            continue
        stored, own = position["aside"], rows_folder(os.path.join(checkpoint.sources_folder, source.uid))
        try:
            shutil.copytree(stored, own, copy_function=_link_or_copy)
        except OSError as error:
            raise CheckpointError(
                "SAVEPOINT_ROWS_GONE",
                f"The rows of source '{source.name}', a DataFrame, were stored in {stored} when the job first ran. They cannot be "
                f"read any more: {error}. If the DataFrame were evaluated again, its rows might differ. Keep the checkpoint of the "
                "first job. Or give the source another uid and restore with --allow-dropped-state; it is then read from the start.",
            ) from error


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)
    return target


def _materialize(session: SparkSession, source: SourceProgram, folder: str) -> None:
    """Writes all rows or none. The folder gets its name when it is complete."""
    temporary = f"{rows_folder(folder)}-{uuid.uuid4().hex}"
    writer: Any = _frame(session, source).write
    try:
        os.makedirs(folder, exist_ok=True)
        writer.option("parquet.block.size", ROW_GROUP).parquet(Path(temporary).as_uri())
        os.rename(temporary, rows_folder(folder))
    except Exception as error:
        raise CallSite(source.name, source.uid, None, "Source").error(error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
