"""The interface of accumulators of one call, for many groups at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.relational.aggregates.multisets import Multisets

Codes = NDArray[np.int64]
Signs = NDArray[np.int64]
Field = Any  # a numpy array, or a list of plain values: one entry per group


class ColumnAccumulator:
    """The accumulators of one call in fields: numpy arrays or lists with one entry per group. Fields are changed in place.

    initial: the plain values of an empty accumulator, one per field. dtypes: of the numpy array of each field; None is a list.
    A list field that is empty holds None, so that groups never share a list.
    """

    initial: tuple[Any, ...] = ()
    dtypes: tuple[Any, ...] = ()
    uses_multiset = False  # whether values and their counts are kept besides the fields
    is_python = False  # whether a function of the user computes them, one row at a time

    def create(self, length: int) -> list[Field]:
        """Returns empty accumulators."""
        return [
            [start] * length if dtype is None else np.full(length, start, dtype)
            for start, dtype in zip(self.initial, self.dtypes, strict=True)
        ]

    def load(self, stored: Sequence[Sequence[Any]]) -> list[Field]:
        """Returns accumulators from their plain values: one sequence per field."""
        return [
            list(values) if dtype is None else np.array(values, dtype)
            for values, dtype in zip(stored, self.dtypes, strict=True)
        ]

    def dump(self, fields: list[Field]) -> list[list[Any]]:
        """Returns the plain values of each field, for state."""
        return [field if isinstance(field, list) else field.tolist() for field in fields]

    def open(self) -> None:
        """Is called when the operator is opened."""

    def bind(self, fields: list[Field], multiset: Multisets) -> None:
        """Is called after `load`, if the accumulators use a multiset."""

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        """Adds rows in their order: codes are the groups of the rows, signs -1 for rows that are removed (None: all added)."""
        raise NotImplementedError

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        """Adds other accumulators: codes are the groups that they belong to. The others are not changed."""
        raise NotImplementedError

    def results(self, fields: list[Field]) -> pa.Array:
        """Returns the result of each group."""
        raise NotImplementedError


def valid_rows(column: pa.Array, codes: Codes, signs: Signs | None) -> tuple[pa.Array, Codes, Signs | None]:
    """Removes the rows where a column is NULL."""
    if column.null_count == 0:
        return column, codes, signs
    valid = column.is_valid()
    keep = valid.to_numpy(zero_copy_only=False)
    return column.filter(valid), codes[keep], None if signs is None else signs[keep]


def with_nulls(values: NDArray[Any], nulls: NDArray[np.bool_], type_: pa.DataType) -> pa.Array:
    """Returns numbers as a column, with NULL where `nulls` is true. Numbers are copied, because fields change in place."""
    return pa.array(values.copy(), type_, mask=nulls if nulls.any() else None)
