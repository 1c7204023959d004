"""Accumulators of table aggregate functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.row import Row
from penstock.runtime.relational.aggregates.column_accumulator import Field
from penstock.runtime.relational.python_aggregates.accumulator import PythonAccumulator
from penstock.types.logical.kinds import ArrayType


class TableAggregateAccumulator(PythonAccumulator):
    """Accumulators of a table aggregate function. A result is the array of the rows that it emits."""

    def results(self, fields: list[Field]) -> pa.Array:
        assert isinstance(self.type, ArrayType)
        found = [[] if a is None else [_row(v) for v in self.loaded.emitted(a)] for a in fields[0]]
        offsets = np.cumsum([0, *map(len, found)])
        rows = self.loaded.column([row for some in found for row in some], self.type.element)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), rows)


def _row(value: Any) -> Any:
    """A value that is no row is a row of one column."""
    return value if isinstance(value, Row | tuple) else (value,)
