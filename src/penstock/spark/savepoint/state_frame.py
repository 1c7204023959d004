"""Spark does what the state processor asks for: tables of state in tasks, never through the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.spark.failure import carrying, in_our_words

Read = Callable[[bytes], Iterator[pa.RecordBatch]]
Write = Callable[[Iterator[pa.RecordBatch], str], bytes]


def frame_of(session: SparkSession, tasks: list[bytes], read: Read, schema: pa.Schema) -> DataFrame:
    """A DataFrame whose partitions are read in tasks of their own, each from a description of what to read."""

    def partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                with carrying():
                    yield from read(task)

    rows = session.createDataFrame([(task,) for task in tasks], "task binary")
    spread = rows.repartitionByRange(max(1, len(tasks)), "task")
    return spread.mapInArrow(partition, from_arrow_schema(schema, prefer_timestamp_ntz=True))


def in_tasks(frame: DataFrame, key: Iterable[str], write: Write) -> list[bytes]:
    """Hands the rows of a frame to a function in tasks; rows of one key come to one task. What the calls return comes back.

    The function is told a name that no other attempt has.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context: Any = TaskContext.get()
        name = f"{context.partitionId()}-{context.taskAttemptId()}"
        with carrying():
            written = write(batches, name)
        yield pa.RecordBatch.from_pydict({"written": pa.array([written], pa.binary())})

    columns = list(key)
    tasks = max(
        2, frame.sparkSession.sparkContext.defaultParallelism
    )  # given as a number, so that Spark does not choose less
    spread = frame.repartition(tasks, *columns) if columns else frame.coalesce(1)
    try:
        rows = spread.mapInArrow(task, "written binary").collect()
    except PySparkException as error:
        raise in_our_words(error) from error
    return [bytes(row.written) for row in rows]
