"""Accumulators that are the rows themselves: for pandas functions, and for functions without `merge` where rows must be merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.runtime.relational.aggregates.column_accumulator import Codes, Field, Signs
from penstock.runtime.relational.aggregates.multisets import Multisets
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.python_aggregates.accumulator import PythonAccumulator
from penstock.runtime.relational.state.row_codec import pack, unpack


class RowListAccumulator(PythonAccumulator):
    """The arguments of all rows of a group, in their order. A removal takes the last row that is equal."""

    def load(self, stored: Sequence[Sequence[Any]]) -> list[Field]:
        return [[None if data is None else unpack(data) for data in stored[0]]]

    def dump(self, fields: list[Field]) -> list[list[Any]]:
        return [[None if rows is None else pack(rows) for rows in fields[0]]]

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        kept = fields[0]
        values = [to_values(c, t) for c, t in zip(arguments, self.argument_types, strict=True)]
        rows = [_listed(row) for row in zip(*values, strict=True)] if values else [[] for _ in range(len(codes))]
        ones = [1] * len(rows) if signs is None else signs.tolist()
        for group, row, sign in zip(codes.tolist(), rows, ones, strict=True):
            if kept[group] is None:
                kept[group] = []
            if sign > 0:
                kept[group].append(row)
            else:
                _remove(kept[group], row)

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        for group, rows in zip(codes.tolist(), others[0], strict=True):
            if rows:
                fields[0][group] = [*(fields[0][group] or ()), *rows]

    def columns(self, rows: list[Any]) -> list[pa.Array]:
        """Returns the arguments of rows as columns."""
        return [from_values([row[i] for row in rows], t) for i, t in enumerate(self.argument_types)]

    def results(self, fields: list[Field]) -> pa.Array:
        found = [self.result_of(rows or []) for rows in fields[0]]
        return self.loaded.column(found, self.type)

    def result_of(self, rows: list[Any]) -> Any:
        """Returns the result of all rows of a group."""
        raise NotImplementedError


class ReplayingAccumulator(RowListAccumulator):
    """Adds all rows of a group to a new accumulator of the function when the result is needed."""

    def result_of(self, rows: list[Any]) -> Any:
        accumulator = self.loaded.create()
        accumulate = self.loaded.function.accumulate
        for row in self.loaded.arguments(self.columns(rows), self.argument_types, len(rows)):
            try:
                accumulate(accumulator, *row)
            except Exception as error:
                raise self.loaded.failure(error, accumulate, accumulator, row) from error
        return self.loaded.result(accumulator)


class PandasAccumulator(RowListAccumulator):
    """Calls the function once per group, with one pandas.Series per argument."""

    def result_of(self, rows: list[Any]) -> Any:
        if not rows:
            return None  # there is nothing to call the function with
        arguments: list[Any] = [column.to_pandas() for column in self.columns(rows)]
        names = self.spec.function.row_names
        if names is not None:
            import pandas as pd  # slow to import, and only such functions need it

            arguments = [pd.DataFrame(dict(zip(names, arguments, strict=True)))]
        accumulator = self.loaded.create()
        accumulate = self.loaded.function.accumulate
        try:
            accumulate(accumulator, *arguments)
        except Exception as error:
            raise self.loaded.failure(error, accumulate, arguments=arguments) from error
        return self.loaded.result(accumulator)


def _listed(value: Any) -> Any:
    """Rows as lists, as they come back from state: a removed row must equal the one that was added."""
    return [_listed(v) for v in value] if isinstance(value, list | tuple) else value


def _remove(rows: list[Any], row: Any) -> None:
    for number in range(len(rows) - 1, -1, -1):
        if rows[number] == row:
            del rows[number]
            return
