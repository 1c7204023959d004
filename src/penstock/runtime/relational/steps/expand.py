"""Grouping sets: each row once per set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult


class ExpandStep:
    """Emits each row once per grouping set, with the grouped columns that are not in the set as NULL, and the id of the set.

    grouped: all grouped columns. sets: for each set the columns that keep their values. ids: the id of each set.
    """

    def __init__(self, grouped: Sequence[int], sets: Sequence[Sequence[int]], ids: Sequence[int]) -> None:
        self._grouped = frozenset(grouped)
        self.sets = [frozenset(s) for s in sets]
        self.ids = list(ids)

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        parts = []
        for kept, number in zip(self.sets, self.ids, strict=True):
            columns = [
                pa.nulls(rows.length, c.type) if i in self._grouped and i not in kept else c
                for i, c in enumerate(rows.columns)
            ]
            columns.append(pa.array(np.full(rows.length, number, np.int64)))
            parts.append(Changes(columns, rows.length, rows.kinds))
        # All copies of a row stand together, as in Flink.
        count = len(self.sets)
        order = np.arange(rows.length * count).reshape(count, rows.length).T.ravel()
        return StepResult(Changes.concatenate(parts).take(order), np.repeat(np.arange(rows.length), count))
