"""A batch DataFrame as a bounded source. Its rows are stored in the checkpoint when the job starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.connectors.dataframe.columns import Columns
from penstock.connectors.source import DEFAULT_RECORDS_PER_BATCH, Chunk, Offset, Source
from penstock.errors import UnsupportedOperation
from penstock.types import TypeInformation

ROWS = "rows"  # the folder with the rows of a DataFrame
ROW_GROUP = 8 << 20  # bytes of a Parquet row group
_CHUNK_SIZE = 10_000  # rows
_Task = tuple[int, str, int, int]  # split, file, first row, end row (exclusive)


class DataFrameTable(Source):
    """Reads the rows of a batch DataFrame. Each partition is a split, and all splits are read in parallel.

    The DataFrame is evaluated once, when the job starts for the first time. Its rows are stored in the checkpoint, so a resumed
    job reads the same rows even if the underlying tables have changed.
    """

    output_is_exact = True
    records_per_batch: int | None = DEFAULT_RECORDS_PER_BATCH

    def __init__(self, frame: Any, columns: Columns) -> None:
        self.frame = frame
        self.columns = columns
        self._files: list[str] = []
        self._rows: list[int] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "frame": None}

    @property
    def output_type(self) -> TypeInformation:
        return self.columns.rows

    def frame_in(self, session: Any) -> Any:
        """Returns the DataFrame. Called in the driver when the job starts, with the session that runs it."""
        return self.frame

    def attach(self, folder: str) -> None:
        rows = Path(folder, ROWS)
        if not rows.is_dir():
            raise UnsupportedOperation(
                "DATAFRAME_WITHOUT_SPARK",
                "Only Spark can read a DataFrame, so this job cannot run in a test harness. Pass the elements to the harness "
                "instead.",
            )
        import pyarrow.parquet as pq  # needed by few programs

        self._files = sorted(str(file) for file in rows.glob("*.parquet"))
        self._rows = [pq.read_metadata(file).num_rows for file in self._files]

    def position(self, offset: Offset) -> Offset:
        """Adds the folder of the rows, because another job has to read the same rows in the same order."""
        return {**offset, "aside": os.path.dirname(self._files[0]) if self._files else ""}

    def restored(self, position: Offset) -> Offset:
        return {"rows": position["rows"]}

    def initial(self) -> Offset:
        return {"rows": []}

    def splits(self, offset: Offset) -> list[str]:
        return [_name(i) for i in range(len(self._files))]

    def _rows_read(self, offset: Offset) -> list[int]:
        return offset["rows"] or [0] * len(self._files)

    def latest(self, start: Offset) -> Offset:
        """Reads the same number of rows of each partition that has unread rows and is not paused."""
        read = self._rows_read(start)
        active = [i for i, n in enumerate(read) if n < self._rows[i] and _name(i) not in self.paused]
        if not active:
            return start
        count = max(1, (self.records_per_batch or DEFAULT_RECORDS_PER_BATCH) // len(active))
        return {"rows": [min(n + count, self._rows[i]) if i in active else n for i, n in enumerate(read)]}

    def ended(self, offset: Offset) -> list[str]:
        return [_name(i) for i, n in enumerate(self._rows_read(offset)) if n >= self._rows[i]]

    def waiting(self, end: Offset) -> list[str]:
        return [_name(i) for i, n in enumerate(self._rows_read(end)) if n < self._rows[i]]

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[list[_Task]]:
        """Assigns partitions to tasks in turn."""
        ranges = zip(self._rows_read(start), self._rows_read(end), strict=True)
        parts = [(i, self._files[i], a, b) for i, (a, b) in enumerate(ranges) if a < b]
        return [tasks for n in range(parallelism) if (tasks := parts[n::parallelism])]

    def read(self, task: list[_Task]) -> Iterator[Chunk]:
        for number, file, first, last in task:
            yield from self._range(_name(number), file, first, last)

    def _range(self, split: str, file: str, first: int, last: int) -> Iterator[Chunk]:
        with self._open(file) as opened:
            at = 0
            for group in range(opened.metadata.num_row_groups):
                size = opened.metadata.row_group(group).num_rows
                if at + size > first and at < last:
                    here = at
                    for batch in opened.iter_batches(_CHUNK_SIZE, [group]):
                        a, b = max(first, here), min(last, here + batch.num_rows)
                        if a < b:
                            rows = batch.slice(a - here, b - a)
                            yield self._chunk(split, a, rows)
                        here += batch.num_rows
                at += size

    def _open(self, file: str) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(file)

    def _chunk(self, split: str, start: int, rows: Any) -> Chunk:
        return Chunk(split, start, self.columns.elements(rows), self.columns.timestamps(rows))


def _name(partition: int) -> str:
    return f"{partition:05d}"


def rows_folder(folder: str) -> str:
    """Returns the folder for the rows of a DataFrame in the folder of its source."""
    return os.path.join(folder, ROWS)
