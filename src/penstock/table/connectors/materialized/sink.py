"""Adds the changes of each batch to a result, exactly once."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.errors import CheckpointError
from penstock.runtime.loop.records import Tags
from penstock.runtime.relational.changes import Changes
from penstock.table.connectors.materialized.merging import CHANGE, buckets_of, merge
from penstock.table.connectors.materialized.result import Result, ResultFile
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import Field


class ResultEncoder:
    """Makes one record batch of the rows, whose last column has the changes."""

    def __init__(self, columns: Sequence[Field], keyed: bool) -> None:
        self._columns = tuple(columns)
        self._keyed = keyed

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one element for all rows; its position is that of the first row."""
        if not changes.length:
            return [], np.empty(0, np.int64)
        numbers = changes.all_kinds().astype(np.int64) if self._keyed else changes.signs()
        schema = pa.schema(
            [*(pa.field(c.name, arrow_type(c.type)) for c in self._columns), pa.field(CHANGE, pa.int64())]
        )
        return [pa.RecordBatch.from_arrays([*changes.columns, pa.array(numbers)], schema=schema)], np.zeros(1, np.int64)


class ResultSink(Sink):
    """Writes files in tasks. The commit of a batch makes all of them part of the result at once."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def writer(self, task: WriteTask) -> SinkWriter:
        return _Writer(self._result, task.lineage)

    def commit(self, batch: int, prepared: list[Any]) -> None:
        if prepared:
            files = [msgspec.convert(file, ResultFile) for _, file in prepared]
            self._result.commit(prepared[0][0], batch, files)

    def files_in(self, prepared: list[Any]) -> tuple[int, int]:
        return len(prepared), 0

    def abort(self, batch: int, prepared: list[Any]) -> None:
        for _, file in prepared:
            self._result.remove(file["name"])

    def memory(self) -> Any:
        """The version of the result that belongs to a savepoint."""
        return {"commits": self._result.manifest().commits}

    def restore(self, memory: Any) -> None:
        """Refuses a savepoint of another version: its job would add changes that the result has, or miss some."""
        found = self._result.manifest().commits
        if memory["commits"] != found:
            raise CheckpointError(
                "TABLE_RESULT_VERSION",
                f"The savepoint belongs to version {memory['commits']} of the result in {self._result.folder}, which has version "
                f"{found} now. Use ALTER MATERIALIZED TABLE ... RESUME, which finds the right state, or create the table again.",
            )


class _Writer(SinkWriter):
    def __init__(self, result: Result, lineage: str) -> None:
        self._result = result
        self._lineage = lineage
        self._parts: list[pa.RecordBatch] = []
        self._name = ""

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        self._parts += values

    def prepare(self) -> Any:
        if not self._parts:
            return None
        rows = pa.Table.from_batches(self._parts).combine_chunks().to_batches()[0]
        rows = merge(rows, self._result.key, complete=False)
        self._parts = []
        if not rows.num_rows:
            return None
        self._name = f"{uuid.uuid4().hex}.arrow"
        file = self._result.write(buckets_of(rows, self._result.key_fields), self._name)
        return self._lineage, msgspec.to_builtins(file)

    def abort(self) -> None:
        self._parts = []
        if self._name:
            self._result.remove(self._name)
