"""Rows of a query as record batches for a table of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.formats.columns.arrow_files import BatchEncoder
from penstock.runtime.relational.changes import DELETE, Changes
from penstock.types.logical.kinds import Field


class ChangeBatchEncoder:
    """Makes one element of the rows: a record batch, and which of its rows are gone, or None if none is.

    >>> import pyarrow as pa
    >>> from penstock.types.logical.kinds import INT
    >>> rows = Changes([pa.array([1, 2], pa.int32())], 2, np.array([2, 3], np.int8))
    >>> ChangeBatchEncoder([Field("id", INT)]).encode(rows)[0][0][1].tolist()
    [False, True]
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        self._batches = BatchEncoder(fields)

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one element for all rows; its position is that of the first row."""
        batches, positions = self._batches.encode(changes)
        deleted = None if changes.kinds is None else changes.kinds == DELETE
        return [(batch, deleted) for batch in batches], positions
