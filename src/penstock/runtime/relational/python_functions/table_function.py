"""A step that calls a Python table function for each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.row import Row
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.runtime.relational.python_functions.errors import call_failed, wrong_result
from penstock.runtime.relational.python_functions.function import PythonFunction
from penstock.runtime.relational.python_functions.scalar import ArgumentRows, result_column
from penstock.runtime.relational.python_functions.scope import LoadedFunction, loaded
from penstock.types.logical.kinds import LogicalType


class TableFunctionStep:
    """Appends the columns of the rows that a function returns: each input row once per returned row.

    arguments, types: positions and types of the columns that the function gets. results: types of the columns that it returns.
    outer: whether an input row without results is emitted once, with NULL. A row that is retracted retracts its results, because a
    deterministic function returns the same rows again.
    """

    def __init__(
        self,
        function: PythonFunction,
        arguments: Sequence[int],
        types: Sequence[LogicalType],
        results: Sequence[LogicalType],
        outer: bool = False,
        zone: str = "UTC",
    ) -> None:
        self.function = function
        self.arguments = tuple(arguments)
        self._rows = ArgumentRows(tuple(types), function.row_names)
        self._results = tuple(results)
        self._outer = outer
        self._zone = zone
        self._function: LoadedFunction | None = None

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_function": None}

    def open(self) -> None:
        self._function = loaded(self.function)

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        assert self._function is not None
        if rows.length:
            self._function.open()
        arguments = self._rows([rows.columns[a] for a in self.arguments], rows.length, self._zone)
        owners, found = self._called(self._function, arguments)
        at = np.array(owners, np.int64)
        columns = self._columns(self._function, arguments, owners, found)
        taken = rows.take(at)
        return StepResult(Changes([*taken.columns, *columns], len(at), taken.kinds), at)

    def _called(
        self, function: LoadedFunction, arguments: Sequence[Any]
    ) -> tuple[list[int], list[Sequence[Any] | None]]:
        """Returns the rows of the results, each with the position of its input row. None is the row of an outer join."""
        width = len(self._results)
        owners: list[int] = []
        found: list[Sequence[Any] | None] = []
        call, outer = function.call, self._outer
        for position, row in enumerate(arguments):
            before = len(found)
            try:
                for result in _results(call(*row)):
                    parts = _parts(result)
                    if len(parts) != width:
                        raise _WrongWidth(len(parts))
                    found.append(parts)
            except _WrongWidth as wrong:
                columns = "column" if width == 1 else "columns"
                problem = f"returned a row of {wrong.width} values, and has {width} {columns}"
                raise wrong_result(function, problem, None, row) from wrong
            except Exception as error:
                raise call_failed(function, error, row) from error
            if outer and len(found) == before:
                found.append(None)
            owners += [position] * (len(found) - before)
        return owners, found

    def _columns(
        self,
        function: LoadedFunction,
        arguments: Sequence[Any],
        owners: Sequence[int],
        found: Sequence[Sequence[Any] | None],
    ) -> list[pa.Array]:
        given = [arguments[at] for at in owners]
        zone = self._zone
        missing = [row is None for row in found]
        if not any(missing):
            values = zip(*found, strict=True) if found else ([] for _ in self._results)
            return [
                result_column(function, list(v), t, zone, given) for v, t in zip(values, self._results, strict=True)
            ]
        # The types of an outer join allow NULL, also where the function must not return it.
        blank: tuple[Any, ...] = (None,) * len(self._results)
        full = zip(*(blank if row is None else row for row in found), strict=True)
        return [
            result_column(function, list(v), t.with_nullable(True), zone, given)
            for v, t in zip(full, self._results, strict=True)
        ]


class _WrongWidth(Exception):  # noqa: N818 - it never leaves this module
    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.width = width


def _results(returned: Any) -> Iterator[Any] | Sequence[Any]:
    """The rows of a result: those of a list, a range or an iterator; no row for None; else the result is the only row."""
    if returned is None:
        return ()
    if isinstance(returned, list | range | Iterator):
        return returned
    return (returned,)


def _parts(row: Any) -> Sequence[Any]:
    if isinstance(row, tuple):
        return row
    if isinstance(row, Row):
        return tuple(row)
    return (row,)
