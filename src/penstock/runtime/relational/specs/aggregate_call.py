"""Calls of aggregate functions."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.runtime.relational.specs.python_aggregate import PythonAggregate
from penstock.types.logical.kinds import LogicalType


class AggregateCall(msgspec.Struct, frozen=True):
    """A call such as COUNT(DISTINCT a) FILTER (WHERE b).

    function: the name in upper case, as in table/functions/catalogue.py; COUNT without arguments is COUNT(*). A function of the
        user is "PYTHON", and `python` is that function.
    arguments: positions of columns of the input. The planner computes other arguments in a Calc before.
    filter: position of a boolean column: only rows where it is TRUE count.
    options: facts that are no columns, such as the separator of LISTAGG, ("NULL ON NULL",) of JSON_OBJECTAGG, or the offset of LAG.
    order: (column, ascending, nulls first) for aggregates whose result depends on the order of rows, such as ARRAY_AGG.
    ignores_removals: -U and -D rows do not count. For MAX of a value that only grows with each update (such as COUNT or MAX of an
        insert-only input), and MIN of one that only falls: the +U row that follows decides, so Flink does not go back in between.
    """

    function: str
    arguments: tuple[int, ...]
    argument_types: tuple[LogicalType, ...]
    type: LogicalType  # of the result
    distinct: bool = False
    filter: int | None = None
    options: tuple[Any, ...] = ()
    order: tuple[SortKey, ...] = ()
    ignore_nulls: bool = False
    name: str = ""  # the text of the call, for people and for the name of its state: "SUM(price)"
    ignores_removals: bool = False
    python: PythonAggregate | None = None


class SortKey(msgspec.Struct, frozen=True):
    """A column to sort by."""

    column: int
    ascending: bool = True
    nulls_first: bool = True  # Flink: NULLs are lowest, so they come first ascending and last descending
