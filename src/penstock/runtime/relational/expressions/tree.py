"""Typed expressions as plain data: columns, literals and calls of functions by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.runtime.relational.python_functions.function import PYTHON, PythonFunction
from penstock.types.logical.kinds import LogicalType

Option = str | int | bool | None | LogicalType | PythonFunction


class Column(msgspec.Struct, frozen=True, tag_field="node", tag="column"):
    """A column of the input by its position. The name is for people."""

    index: int
    type: LogicalType
    name: str = msgspec.field(default="")

    def __str__(self) -> str:
        return self.name or f"${self.index}"


class Literal(msgspec.Struct, frozen=True, tag_field="node", tag="literal"):
    """A constant. `values.py` says which Python values stand for which type."""

    value: Any
    type: LogicalType

    def __str__(self) -> str:
        return f"'{self.value}'" if isinstance(self.value, str) else str(self.value)

    def __hash__(self) -> int:
        return hash((repr(self.value), self.type))


class Call(msgspec.Struct, frozen=True, tag_field="node", tag="call"):
    """A call of a function of the registry. `options` are facts that are no expressions, such as the unit of EXTRACT."""

    function: str
    arguments: tuple[Expression, ...]
    type: LogicalType
    options: tuple[Option, ...] = ()

    def __str__(self) -> str:
        if (python := python_function(self)) is not None:
            return f"{python.label}({', '.join(str(argument) for argument in self.arguments)})"
        inside = [str(argument) for argument in self.arguments] + [str(o) for o in self.options if o is not None]
        return f"{self.function}({', '.join(inside)})"


Expression = Column | Literal | Call


def python_function(expression: Expression) -> PythonFunction | None:
    """Returns the function of the user that a call calls, or None for all other expressions."""
    if not isinstance(expression, Call) or expression.function != PYTHON:
        return None
    function = expression.options[0]
    assert isinstance(function, PythonFunction)
    return function


def walk(expression: Expression) -> Iterator[Expression]:
    """Yields an expression and all expressions inside it."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from walk(argument)


def paths_of(*expressions: Expression) -> dict[int, Any]:
    """Returns what expressions read: positions of columns, each with the fields inside it that are read, or None for all of it."""
    found: dict[int, Any] = {}
    for expression in expressions:
        _add_paths(expression, found)
    return found


def _add_paths(expression: Expression, found: dict[int, Any]) -> None:
    fields: list[int] = []
    part = expression
    while isinstance(part, Call) and part.function == "FIELD" and isinstance(part.options[0], int):
        fields.append(part.options[0])
        part = part.arguments[0]
    if not isinstance(part, Column):
        if isinstance(part, Call):
            for argument in part.arguments:
                _add_paths(argument, found)
        return
    add_path(found, [part.index, *reversed(fields)])


def add_path(found: dict[int, Any], path: list[int]) -> None:
    """Adds a path to those that are read."""
    here = found
    for at, step in enumerate(path):
        if at == len(path) - 1:
            here[step] = None
        elif step in here and here[step] is None:
            return
        else:
            here = here.setdefault(step, {})


def columns_of(*expressions: Expression) -> set[int]:
    """Returns the positions of the columns that expressions read."""
    return {part.index for expression in expressions for part in walk(expression) if isinstance(part, Column)}
