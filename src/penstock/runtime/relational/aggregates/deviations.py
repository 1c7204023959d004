"""STDDEV and VARIANCE in their forms, with Welford's method, which is Flink's."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.relational.aggregates.column_accumulator import (
    Codes,
    ColumnAccumulator,
    Field,
    Signs,
    valid_rows,
)
from penstock.runtime.relational.aggregates.multisets import Multisets
from penstock.runtime.relational.casts.cast import cast_column
from penstock.runtime.relational.expressions.frame import Session
from penstock.types.logical.kinds import DOUBLE, DecimalType, LogicalType


class Deviation(ColumnAccumulator):
    """The number of values, their mean, and the sum of the squares of their distances from it.

    Each step depends on the one before, and rounding makes the order of steps visible, so rows are added one by one.
    """

    initial = (0, 0.0, 0.0)
    dtypes = (None, None, None)

    def __init__(self, function: str, argument: LogicalType, type_: LogicalType) -> None:
        self._argument = argument
        self._type = type_
        self._root = function.startswith("STDDEV")
        self._sample = not function.endswith("_POP")

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        column, codes, signs = valid_rows(arguments[0], codes, signs)
        if isinstance(self._argument, DecimalType):
            values = [float(v) for v in column.to_pylist()]
        else:
            values = column.to_numpy(zero_copy_only=False).astype(np.float64).tolist()
        counts, means, squares = fields
        ones = [1] * len(values) if signs is None else signs.tolist()
        for group, value, sign in zip(codes.tolist(), values, ones, strict=True):
            count = counts[group] = counts[group] + sign
            if count <= 0:
                if count == 0:
                    means[group] = squares[group] = 0.0
            elif sign > 0:
                before = value - means[group]
                means[group] += before / count
                squares[group] += before * (value - means[group])
            else:
                after = value - means[group]
                means[group] -= after / count
                squares[group] -= (value - means[group]) * after

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        counts, means, squares = fields
        for group, count, mean, square in zip(codes.tolist(), *others, strict=True):
            mine = counts[group]
            if count <= 0:
                counts[group] += count
            elif mine == 0:
                counts[group], means[group], squares[group] = count, mean, square
            else:
                both, distance = mine + count, mean - means[group]
                counts[group] = both
                means[group] += count / both * distance
                squares[group] += square + float(mine) * count / both * distance * distance
            if counts[group] <= 0:
                means[group] = squares[group] = 0.0

    def results(self, fields: list[Field]) -> pa.Array:
        found: list[float | None] = []
        for count, square in zip(fields[0], fields[2], strict=True):
            degrees = count - 1 if self._sample else count
            if degrees <= 0 or square < 0:
                found.append(None)
            else:
                variance = square / degrees
                found.append(variance**0.5 if self._root else variance)
        return cast_column(pa.array(found, pa.float64()), DOUBLE, self._type, Session(), False)
