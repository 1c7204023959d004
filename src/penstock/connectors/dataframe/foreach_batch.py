"""A sink that gives each batch to a function as a Spark DataFrame: so any sink of Spark's can be used."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.connectors.dataframe.arrow_values import ArrowForm
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.errors import PlanError, UnsupportedOperation
from penstock.runtime.records import Tags
from penstock.types import TypeInformation

BatchFunction = Callable[[Any, int], Any]


class ForeachBatchSink(Sink):
    """Calls `function(dataframe, batch_id)` in the program itself for each batch that has elements.

    A batch counts as committed only when the function has returned, so no element is lost. It is called again with the same
    batch and the same id when it is not known whether the first call ended: at least once, and exactly once where the
    function writes a batch id only once. The DataFrame can be read during the call.

    >>> ForeachBatchSink(lambda frame, batch: frame.write.mode("append").parquet("out")).commits_in_program
    True
    """

    commits_in_program = True
    takes_inferred_type = True

    def __init__(self, function: BatchFunction, kind: TypeInformation | None = None) -> None:
        if not callable(function):
            raise PlanError(
                "FOREACH_BATCH_FUNCTION",
                f"ForeachBatchSink got {function!r}; it takes a function of a DataFrame and a batch's number.",
            )
        self._function: BatchFunction | None = function
        self._kind = kind
        self._folder = ""

    def __getstate__(self) -> dict[str, Any]:
        """Tasks only put rows aside; the function stays in its program, with all that it knows."""
        return {**self.__dict__, "_function": None}

    def of_type(self, kind: TypeInformation | None) -> ForeachBatchSink:
        if kind is None:
            raise PlanError(
                "FOREACH_BATCH_TYPE",
                "ForeachBatchSink makes a DataFrame, and the type of the stream's elements is not known. Declare it where they are "
                "made: map(f, output_type=Types.ROW_NAMED(['word', 'n'], [Types.STRING(), Types.LONG()])).",
            )
        ArrowForm(kind)  # a type that Spark has no column for is told now
        return self.with_type(kind)

    def with_type(self, kind: TypeInformation) -> ForeachBatchSink:
        """The same sink for elements of a type."""
        assert self._function is not None
        return ForeachBatchSink(self._function, kind)

    @property
    def schema(self) -> Any:
        """That of the DataFrames, in Arrow's words."""
        assert self._kind is not None
        return ArrowForm(self._kind).schema

    def attach(self, folder: str) -> None:
        self._folder = folder

    def writer(self, task: WriteTask) -> SinkWriter:
        assert self._kind is not None
        return _RowsWriter(ArrowForm(self._kind), Path(self._folder, "handed-over", f"{task.batch:09d}"), task)

    def commit(self, batch: int, prepared: list[Any]) -> list[Any] | None:
        raise UnsupportedOperation(
            "DATAFRAME_WITHOUT_SPARK",
            "ForeachBatchSink gives DataFrames, which only Spark has: a test harness cannot run it. Collect the elements there.",
        )

    def call(self, frame: Any, batch: int) -> None:
        """What the program does with a batch."""
        assert self._function is not None
        self._function(frame, batch)

    def forget(self, batch: int) -> None:
        """Removes the rows of a batch that was handed over, and of those before it."""
        folders = Path(self._folder, "handed-over")
        for name in os.listdir(folders) if folders.is_dir() else []:
            if int(name) <= batch:
                shutil.rmtree(folders / name, ignore_errors=True)

    def abort(self, batch: int, prepared: list[Any]) -> None:
        for file in prepared:
            with suppress(FileNotFoundError):
                os.remove(file)


class _RowsWriter(SinkWriter):
    """Puts the rows of one task aside, as one file."""

    def __init__(self, form: ArrowForm, folder: Path, task: WriteTask) -> None:
        self._form = form
        self._folder = folder
        self._file = folder / f"part-{task.partition:05d}-{task.attempt}.parquet"
        self._writer: Any = None

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if not values:
            return
        if self._writer is None:
            import pyarrow.parquet as pq  # needed by few programs

            self._folder.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._file, self._form.schema, compression="zstd")
        self._writer.write_batch(self._form.batch(values))

    def prepare(self) -> Any:
        if self._writer is None:
            return None
        self._writer.close()
        return str(self._file)

    def abort(self) -> None:
        if self._writer is not None:
            with suppress(Exception):  # a full disk cannot take what is left, and it is not wanted
                self._writer.close()
            with suppress(FileNotFoundError):
                os.remove(self._file)
