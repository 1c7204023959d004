"""The rows that an operator emits: rows of the batch and rows from state in one order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.state.row_codec import RowCodec

Row = int | bytes  # position in the batch, or the bytes of a stored row


class EmittedRows:
    """Collects rows with their kinds.

    `cause` is the position of the row of the batch that caused the emission: rows are ordered by it and have its watermark.
    """

    def __init__(self, batch: Changes, codec: RowCodec) -> None:
        self._batch = batch
        self._codec = codec
        self._kinds: list[int] = []
        self._at: list[int] = []
        self._stored: list[bytes] = []
        self._causes: list[int] = []

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, kind: int, row: Row, cause: int) -> None:
        """Adds a row."""
        self._kinds.append(kind)
        self._causes.append(cause)
        if isinstance(row, int):
            self._at.append(row)
        else:
            self._at.append(self._batch.length + len(self._stored))
            self._stored.append(row)

    def finish(self, *extra: pa.Array) -> tuple[Changes, NDArray[np.int64]]:
        """Returns the rows in the order of their causes, and the causes. `extra` are more columns of the output."""
        causes = np.array(self._causes, np.int64)
        order = np.argsort(causes, kind="stable")
        columns = self._batch.columns
        if self._stored:
            stored = self._codec.decode(self._stored)
            columns = [pa.concat_arrays([c, s]) for c, s in zip(columns, stored, strict=True)]
        at = pa.array(np.array(self._at, np.int64)[order])
        kinds = np.array(self._kinds, np.int8)[order]
        taken = [c.take(at) for c in columns] + [c.take(pa.array(order)) for c in extra]
        return Changes(taken, len(order), kinds if kinds.any() else None), causes[order]
