"""FIRST_VALUE and LAST_VALUE of rows that are only added, and SINGLE_VALUE."""

from __future__ import annotations

from typing import Any

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
from penstock.runtime.relational.expressions.errors import bad_argument
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.types.logical.kinds import LogicalType


class End(ColumnAccumulator):
    """The first or the last value that is not NULL: the value, None without one."""

    initial = (None,)
    dtypes = (None,)

    def __init__(self, first: bool, type_: LogicalType) -> None:
        self._first = first
        self._type = type_

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        column, codes, _ = valid_rows(arguments[0], codes, None)
        if not len(column):
            return
        if self._first:
            groups, at = np.unique(codes, return_index=True)
        else:
            groups, at = np.unique(codes[::-1], return_index=True)
            at = len(codes) - 1 - at
        self._set(fields[0], groups.tolist(), to_values(column.take(pa.array(at)), self._type))

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        self._set(fields[0], codes.tolist(), others[0])

    def _set(self, ends: list[Any], groups: list[int], values: list[Any]) -> None:
        for group, value in zip(groups, values, strict=True):
            if value is not None and (ends[group] is None or not self._first):
                ends[group] = value

    def results(self, fields: list[Field]) -> pa.Array:
        return from_values(fields[0], self._type)


class Single(ColumnAccumulator):
    """SINGLE_VALUE: the value and the number of rows, which must never be above 1."""

    initial = (None, 0)
    dtypes = (None, None)

    def __init__(self, type_: LogicalType) -> None:
        self._type = type_

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        values, counts = fields
        column = to_values(arguments[0], self._type)
        ones = [1] * len(column) if signs is None else signs.tolist()
        for group, value, sign in zip(codes.tolist(), column, ones, strict=True):
            counts[group] += sign
            values[group] = value if sign > 0 else None
            if counts[group] > 1:
                raise bad_argument("SINGLE_VALUE", "a scalar subquery returned more than one row. Limit it to one row.")

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        for group, value, count in zip(codes.tolist(), *others, strict=True):
            fields[1][group] += count
            if fields[1][group] > 1:
                raise bad_argument("SINGLE_VALUE", "a scalar subquery returned more than one row. Limit it to one row.")
            if count > 0:
                fields[0][group] = value
            elif fields[1][group] == 0:
                fields[0][group] = None

    def results(self, fields: list[Field]) -> pa.Array:
        return from_values(fields[0], self._type)
