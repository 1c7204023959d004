"""A sink that passes each batch to a function as a Spark DataFrame."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from penstock.connectors.dataframe.arrow_values import ArrowConverter
from penstock.connectors.dataframe.task_file import TaskFileWriter, handed_over
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.errors import PlanError, UnsupportedOperation
from penstock.runtime.loop.records import Tags
from penstock.types import TypeInformation

BatchFunction = Callable[[Any, int], Any]


class ForeachBatchSink(Sink):
    """Calls `function(dataframe, batch_id)` in the user's program for each batch that has elements.

    A batch is committed only after the function has returned, so no element is lost. The function is called again with the same
    batch and id if it is unknown whether the first call finished. Delivery is therefore at-least-once, or exactly-once if the
    function writes each batch id only once. The DataFrame is valid only during the call.

    >>> ForeachBatchSink(lambda frame, batch: frame.write.mode("append").parquet("out")).commits_in_program
    True
    """

    commits_in_program = True
    takes_inferred_type = True

    def __init__(self, function: BatchFunction, kind: TypeInformation | None = None) -> None:
        if not callable(function):
            raise PlanError(
                "FOREACH_BATCH_FUNCTION",
                f"ForeachBatchSink got {function!r}; expected a function with the parameters (dataframe, batch_id).",
            )
        self._function: BatchFunction | None = function
        self._kind = kind
        self._folder = ""

    def __getstate__(self) -> dict[str, Any]:
        """Omits the function, because tasks only store rows and the function runs in the user's program."""
        return {**self.__dict__, "_function": None}

    def of_type(self, kind: TypeInformation | None) -> ForeachBatchSink:
        if kind is None:
            raise PlanError(
                "FOREACH_BATCH_TYPE",
                "ForeachBatchSink creates a DataFrame, but the element type of the stream is not known. Declare it in the step "
                "before, for example map(f, output_type=Types.ROW_NAMED(['word', 'n'], [Types.STRING(), Types.LONG()])).",
            )
        ArrowConverter(kind)  # raises an error now if Spark does not support the type
        return self.with_type(kind)

    def with_type(self, kind: TypeInformation) -> ForeachBatchSink:
        """Returns a copy of the sink for elements of a type."""
        assert self._function is not None
        return ForeachBatchSink(self._function, kind)

    @property
    def schema(self) -> Any:
        """The Arrow schema of the DataFrames."""
        assert self._kind is not None
        return ArrowConverter(self._kind).schema

    @property
    def spark_schema(self) -> str | None:
        """The columns of the DataFrames in SQL, where they say more than `schema`."""
        return None

    def attach(self, folder: str) -> None:
        self._folder = folder

    def writer(self, task: WriteTask) -> SinkWriter:
        assert self._kind is not None
        return _RowsWriter(ArrowConverter(self._kind), self._folder, task)

    def commit(self, batch: int, prepared: list[Any]) -> list[Any] | None:
        raise UnsupportedOperation(
            "DATAFRAME_WITHOUT_SPARK",
            "ForeachBatchSink needs Spark and cannot run in a test harness. Collect the elements in the harness instead.",
        )

    def call(self, frame: Any, batch: int) -> None:
        """Calls the function with a batch."""
        assert self._function is not None
        self._function(frame, batch)

    def forget(self, batch: int) -> None:
        """Removes the stored rows of a batch and of earlier ones."""
        folders = handed_over(self._folder)
        for name in os.listdir(folders) if folders.is_dir() else []:
            if int(name) <= batch:
                shutil.rmtree(folders / name, ignore_errors=True)

    def abort(self, batch: int, prepared: list[Any]) -> None:
        for file in prepared:
            with suppress(FileNotFoundError):
                os.remove(file)


class _RowsWriter(TaskFileWriter):
    """Stores elements as rows."""

    def __init__(self, converter: ArrowConverter, folder: str, task: WriteTask) -> None:
        super().__init__(converter.schema, folder, task)
        self._converter = converter

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if values:
            self.opened().write_batch(self._converter.batch(values))
