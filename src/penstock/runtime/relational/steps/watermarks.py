"""The watermark of a table from its rowtime column and its watermark expression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.errors import TimeError
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.expressions.compiler import Projection
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.tree import Expression
from penstock.runtime.relational.state.row_times import row_times


class RowtimeWatermarks:
    """Evaluates WATERMARK FOR column AS expression. A row whose expression is NULL does not advance the watermark."""

    def __init__(self, column: int, expression: Expression, name: str, zone: str = "UTC") -> None:
        self._column = column
        self._expression = expression
        self._name = name
        self._zone = zone
        self._compiled: Projection | None = None

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_compiled": None}

    def evaluate(self, rows: Changes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the timestamp of each row and the watermark that it proposes, in milliseconds."""
        if self._compiled is None:
            self._compiled = Projection([self._expression], Session(zone=self._zone))
        rowtime = rows.columns[self._column]
        if rowtime.null_count:
            raise TimeError(
                "ROWTIME_NULL",
                f"A row has NULL in the rowtime column {self._name}. Filter such rows out before the table is read, or compute "
                "the column with COALESCE.",
            )
        [proposed] = self._compiled(rows.columns, rows.length)
        return row_times(rowtime), row_times(proposed)
