"""Calls a scalar Python function for the rows of a batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from operator import length_hint
from typing import Any

import pyarrow as pa

from penstock.errors import PenstockError
from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.python_functions.errors import call_failed, wrong_result
from penstock.runtime.relational.python_functions.function import PythonFunction
from penstock.runtime.relational.python_functions.scope import LoadedFunction, loaded
from penstock.runtime.relational.python_functions.values import ResultMisfit, column_of, python_values, rows_of
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType

Columns = Callable[[Sequence[Value], int, str], pa.Array]  # arguments, number of rows, time zone -> results


def scalar_call(function: PythonFunction, types: Sequence[LogicalType], result: LogicalType) -> Columns:
    """Returns what computes a column of results from columns of arguments."""
    found = loaded(function)
    match function.style:
        case "general":
            call: Columns = RowCalls(found, types, result)
        case "async":
            from penstock.runtime.relational.python_functions.asynchronous import AsyncRowCalls

            call = AsyncRowCalls(found, types, result)
        case _:
            from penstock.runtime.relational.python_functions.vectorized import VectorizedCalls

            call = VectorizedCalls(found, types, result)

    def evaluate(arguments: Sequence[Value], length: int, zone: str) -> pa.Array:
        if length == 0:
            return pa.nulls(0, arrow_type(result))
        found.open()
        return call(arguments, length, zone)

    return evaluate


class ArgumentRows:
    """The arguments of a call as one tuple per row, or as one `Row` in a tuple."""

    def __init__(self, types: Sequence[LogicalType], row_names: tuple[str, ...] | None) -> None:
        self._types = types
        self._row_names = row_names

    def __call__(self, arguments: Sequence[Value], length: int, zone: str) -> list[tuple[Any, ...]]:
        columns = [_values(a, t, length, zone) for a, t in zip(arguments, self._types, strict=True)]
        if self._row_names is not None:
            lists = [c if isinstance(c, list) else list(c) for c in columns]
            return [(row,) for row in rows_of(lists, self._row_names, length)]
        if not columns:
            return [()] * length
        return list(zip(*columns, strict=False)) if length else []


def _values(argument: Value, type_: LogicalType, length: int, zone: str) -> Any:
    if isinstance(argument, pa.Scalar):
        one = pa.array([argument], argument.type) if argument.is_valid else pa.nulls(1, argument.type)
        return itertools.repeat(python_values(one, type_, zone)[0], length)
    return python_values(argument, type_, zone)


class RowCalls:
    """Calls a function once per row."""

    def __init__(self, function: LoadedFunction, types: Sequence[LogicalType], result: LogicalType) -> None:
        self._function = function
        self._result = result
        self._rows = ArgumentRows(types, function.function.row_names)

    def __call__(self, arguments: Sequence[Value], length: int, zone: str) -> pa.Array:
        call, rows = self._function.call, self._rows(arguments, length, zone)
        rest = iter(rows)
        try:
            results = [call(*row) for row in rest]
        except Exception as error:
            raise self._failed(error, rows[len(rows) - length_hint(rest) - 1]) from error
        return result_column(self._function, results, self._result, zone, rows)

    def _failed(self, error: Exception, row: tuple[Any, ...]) -> PenstockError:
        return call_failed(self._function, error, row)


def result_column(
    function: LoadedFunction, results: Sequence[Any], type_: LogicalType, zone: str, rows: Sequence[Any] | None = None
) -> pa.Array:
    """Returns the column of results. `rows` are the arguments of each, for the error."""
    try:
        return column_of(results, type_, zone)
    except ResultMisfit as misfit:
        given = rows[misfit.index] if rows is not None and misfit.index >= 0 else None
        raise wrong_result(function, misfit.problem, type_, given) from misfit
