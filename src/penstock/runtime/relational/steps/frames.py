"""Changes as bytes, a chunk at a time, for programs that collect columns instead of rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult


class ToFrames:
    """Turns the changes of a chunk into one element: the bytes of an Arrow stream, whose last column has the kinds."""

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        if not len(rows):
            return StepResult([], np.empty(0, np.int64))
        return StepResult([frame_of(rows)], np.zeros(1, np.int64))


def frame_of(changes: Changes) -> bytes:
    """Returns changes as bytes.

    >>> changes_of(frame_of(Changes([pa.array([1, 2])], 2))).columns[0].to_pylist()
    [1, 2]
    """
    columns = [*changes.columns, pa.array(changes.all_kinds())]
    batch = pa.RecordBatch.from_arrays(columns, [str(i) for i in range(len(columns))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def changes_of(frame: bytes) -> Changes:
    """Returns the changes of `frame_of`."""
    with pa.ipc.open_stream(frame) as reader:
        batch = reader.read_next_batch()
    kinds = batch.column(batch.num_columns - 1).to_numpy()
    return Changes(batch.columns[:-1], batch.num_rows, kinds if kinds.any() else None)
