"""Typed expressions as plain data: columns, literals and calls of functions by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.types.logical.kinds import LogicalType

Option = str | int | bool | None | LogicalType


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
        inside = [str(argument) for argument in self.arguments] + [str(o) for o in self.options if o is not None]
        return f"{self.function}({', '.join(inside)})"


Expression = Column | Literal | Call


def walk(expression: Expression) -> Iterator[Expression]:
    """Yields an expression and all expressions inside it."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from walk(argument)


def columns_of(*expressions: Expression) -> set[int]:
    """Returns the positions of the columns that expressions read."""
    return {part.index for expression in expressions for part in walk(expression) if isinstance(part, Column)}
