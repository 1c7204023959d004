"""The file in which a task stores its rows of a batch, until the program passes the batch to Spark."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.connectors.sink import SinkWriter, WriteTask


class TaskFileWriter(SinkWriter):
    """Stores rows in a Parquet file that is created when it is needed. `folder` is that of the sink."""

    def __init__(self, schema: Any, folder: str, task: WriteTask) -> None:
        self._schema = schema
        self._folder = handed_over(folder) / f"{task.batch:09d}"
        self._file = self._folder / f"part-{task.partition:05d}-{task.attempt}.parquet"
        self._writer: Any = None

    def opened(self) -> Any:
        """Returns the writer of the file."""
        if self._writer is None:
            import pyarrow.parquet as pq  # needed by few programs

            self._folder.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")
        return self._writer

    def prepare(self) -> Any:
        if self._writer is None:
            return None
        self._writer.close()
        return str(self._file)

    def abort(self) -> None:
        if self._writer is not None:
            with suppress(Exception):  # flushing fails on a full disk; the file is deleted anyway
                self._writer.close()
            with suppress(FileNotFoundError):
                os.remove(self._file)


def handed_over(folder: str) -> Path:
    """Returns the folder with a folder per batch."""
    return Path(folder, "handed-over")
