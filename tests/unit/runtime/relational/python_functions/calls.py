"""Calls Python functions in expressions without a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.engine.program.pickling import pickle_by_value
from penstock.runtime.relational.expressions.compiler import Projection
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.tree import Call, Column
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.python_functions.function import PYTHON, PythonFunction
from penstock.types.logical.kinds import LogicalType


def function(call: Callable[..., Any] | object, **facts: Any) -> PythonFunction:
    """Returns a function as a part of a plan."""
    return PythonFunction(getattr(call, "__name__", type(call).__name__), pickle_by_value(call), **facts)


def python_call(python: PythonFunction, types: Sequence[LogicalType], result: LogicalType) -> Call:
    """Returns the call of a function with the first columns."""
    return Call(PYTHON, tuple(Column(i, t) for i, t in enumerate(types)), result, (python,))


def results(
    call: Callable[..., Any] | object,
    columns: Sequence[tuple[LogicalType, list[Any]]],
    result: LogicalType,
    zone: str = "UTC",
    **facts: Any,
) -> list[Any]:
    """Returns the results for columns of plain values, as plain values."""
    types = [t for t, _ in columns]
    projection = Projection([python_call(function(call, **facts), types, result)], Session(zone=zone))
    length = len(columns[0][1])
    [found] = projection([from_values(values, t) for t, values in columns], length)
    return to_values(found, result)
