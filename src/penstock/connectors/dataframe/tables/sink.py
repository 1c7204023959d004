"""Writes the changes of a query to a table of Spark, a batch at a time."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from penstock.atomic_file import write_atomic
from penstock.connectors.dataframe.foreach_batch import ForeachBatchSink
from penstock.connectors.dataframe.task_file import TaskFileWriter
from penstock.connectors.sink import SinkWriter, WriteTask
from penstock.errors import UnsupportedOperation
from penstock.runtime.loop.records import Tags
from penstock.types import TypeInformation
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import Field
from penstock.types.logical.spark import spark_columns

DELETED, ORDER = "__deleted", "__order"  # columns of an upsert: whether a row is gone, and the order of changes
_TASK_SHIFT = 40


@dataclass(frozen=True)
class TableWrite:
    """What is written: a table by its name in SQL, its columns, and how. `key`: the columns by which rows are replaced."""

    name: str
    fields: tuple[Field, ...]
    mode: Literal["append", "overwrite", "merge"] = "append"
    key: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


class SparkTableSink(ForeachBatchSink):
    """Appends, overwrites or merges the batches of a query into a table of Spark.

    A batch that is repeated does not change the table again if it is merged or overwritten, or if the format of the table detects
    which batches it has: Delta, Iceberg, and tables of files. In other tables, rows of such a batch may be there twice.
    """

    takes_inferred_type = False

    def __init__(self, write: TableWrite) -> None:
        super().__init__(self._write_batch)
        self.write = write
        self.upserts = write.mode == "merge"

    def __repr__(self) -> str:
        return f"SparkTableSink({self.write.name})"

    def of_type(self, kind: TypeInformation | None) -> SparkTableSink:
        return self

    @property
    def schema(self) -> Any:
        return batch_schema(self.write)

    @property
    def spark_schema(self) -> str:
        columns = spark_columns(self.write.fields, lengths=False)
        return f"{columns}, {DELETED} BOOLEAN, {ORDER} BIGINT" if self.write.mode == "merge" else columns

    def attach(self, folder: str) -> None:
        """Writes a name for the checkpoint, under which tables remember its batches."""
        super().attach(folder)
        name = Path(folder, "writer")
        if not name.exists():
            os.makedirs(folder, exist_ok=True)
            write_atomic(name, uuid.uuid4().hex.encode(), durable=True)

    def writer(self, task: WriteTask) -> SinkWriter:
        return _BatchWriter(self.write, self.schema, self._folder, task)

    def commit(self, batch: int, prepared: list[Any]) -> list[Any] | None:
        raise UnsupportedOperation(
            "DATAFRAME_WITHOUT_SPARK",
            f"Table {self.write.name} belongs to Spark, so this job cannot run in a test harness.",
        )

    def _write_batch(self, frame: Any, batch: int) -> None:
        from penstock.connectors.dataframe.tables.writing import write_batch  # only the driver needs it

        write_batch(frame, self.write, Path(self._folder), batch)


def batch_schema(write: TableWrite) -> Any:
    """Returns the Arrow schema of the files of a batch."""
    fields = [(f.name, _stored_type(f)) for f in write.fields]
    if write.mode == "merge":
        fields += [(DELETED, pa.bool_()), (ORDER, pa.int64())]
    return pa.schema(fields)


def _stored_type(field: Field) -> pa.DataType:
    """Spark's timestamps have microseconds."""
    return _in_microseconds(arrow_type(field.type))


def _in_microseconds(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", type_.tz)
    if pa.types.is_time(type_):
        return pa.time64("us")
    if pa.types.is_list(type_):
        return pa.list_(_in_microseconds(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(_in_microseconds(type_.key_type), _in_microseconds(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, _in_microseconds(f.type)) for f in type_])
    return type_


class _BatchWriter(TaskFileWriter):
    """Stores record batches. Elements are pairs: a record batch, and which of its rows are gone or None."""

    def __init__(self, write: TableWrite, schema: Any, folder: str, task: WriteTask) -> None:
        super().__init__(schema, folder, task)
        self._write = write
        self._next = task.partition << _TASK_SHIFT

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        for batch, deleted in values:
            columns = [c.cast(t) for c, t in zip(batch.columns, self._schema.types, strict=False)]
            if self._write.mode == "merge":
                gone = np.zeros(batch.num_rows, bool) if deleted is None else deleted
                columns += [pa.array(gone), pa.array(np.arange(self._next, self._next + batch.num_rows))]
                self._next += batch.num_rows
            self.opened().write_batch(pa.record_batch(columns, schema=self._schema))

    def prepare(self) -> Any:
        if self._write.mode == "overwrite":
            self.opened()  # no rows replace the rows of a table, too
        return super().prepare()
