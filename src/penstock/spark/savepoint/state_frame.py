"""Reads and writes tables of state in Spark tasks, without passing them through the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.spark.session.error_transport import translate_error, wrap_errors
from penstock.spark.session.pickling import TaskFunction

Read = Callable[[bytes], Iterator[pa.RecordBatch]]
Write = Callable[[Iterator[pa.RecordBatch], str], bytes]


def read_in_tasks(session: SparkSession, tasks: list[bytes], read: Read, schema: pa.Schema) -> DataFrame:
    """Returns a DataFrame of which each partition is read in a task, from a description of what to read."""

    read = TaskFunction(read)

    def partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                with wrap_errors():
                    yield from read(task)

    rows = session.createDataFrame([(task,) for task in tasks], "task binary")
    spread = rows.repartitionByRange(max(1, len(tasks)), "task")
    return spread.mapInArrow(partition, from_arrow_schema(schema, prefer_timestamp_ntz=True))


def write_in_tasks(frame: DataFrame, key: Iterable[str], write: Write) -> list[bytes]:
    """Calls a function with the rows of a DataFrame, in tasks, and returns the results of all calls.

    All rows of a key go to the same task. The second argument of the function is a name that is unique for the task attempt.
    """

    write = TaskFunction(write)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context: Any = TaskContext.get()
        name = f"{context.partitionId()}-{context.taskAttemptId()}"
        with wrap_errors():
            written = write(batches, name)
        yield pa.RecordBatch.from_pydict({"written": pa.array([written], pa.binary())})

    columns = list(key)
    tasks = max(
        2, frame.sparkSession.sparkContext.defaultParallelism
    )  # an explicit number, so that Spark does not choose a smaller one
    spread = frame.repartition(tasks, *columns) if columns else frame.coalesce(1)
    try:
        rows = spread.mapInArrow(task, "written binary").collect()
    except PySparkException as error:
        raise translate_error(error) from error
    return [bytes(row.written) for row in rows]
