"""Reads tables of Spark by columns: each element is a record batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.connectors.dataframe.batch_source import DataFrameTable
from penstock.connectors.dataframe.columns import Columns
from penstock.connectors.dataframe.streaming_source import DataFrameStream, DataFrameTask
from penstock.connectors.dataframe.tables.reference import TableReference
from penstock.connectors.source import Chunk

_TASK_SHIFT = 40
_NO_COLUMNS = Columns({"fields": []})


class SparkTableRows(DataFrameTable):
    """The rows of a table when the job starts for the first time. They are stored in the checkpoint, as those of a DataFrame."""

    output_type = None  # type: ignore[assignment]
    output_is_exact = False

    def __init__(self, table: TableReference) -> None:
        super().__init__(None, _NO_COLUMNS)
        self.table = table

    def __repr__(self) -> str:
        return f"SparkTableRows({self.table.name})"

    def frame_in(self, session: Any) -> Any:
        return self.table.frame(session)

    def _open(self, file: str) -> Any:
        import pyarrow.parquet as pq  # needed by few programs

        # Spark stores instants as INT96, which Arrow reads as nanoseconds: years after 2262 would not fit.
        return pq.ParquetFile(file, coerce_int96_timestamp_unit="us")

    def _chunk(self, split: str, start: int, rows: Any) -> Chunk:
        return Chunk(split, start, [rows])


class SparkTableStream(DataFrameStream):
    """The rows of a table, and those that are added to it later. Spark stores the position in the checkpoint."""

    output_type = None  # type: ignore[assignment]
    output_is_exact = False

    def __init__(self, table: TableReference) -> None:
        super().__init__(None, _NO_COLUMNS)
        self.table = table

    def __repr__(self) -> str:
        return f"SparkTableStream({self.table.name})"

    def frame_in(self, session: Any) -> Any:
        return self.table.stream(session)

    def read(self, task: DataFrameTask) -> Iterator[Chunk]:
        at = task.number << _TASK_SHIFT
        for batch in task.batches:
            if batch.num_rows:
                yield Chunk(f"{task.number:06d}", at, [batch], transient=True)
                at += batch.num_rows
