"""Small rewrites of expressions that the binder and the passes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.types.logical.kinds import BOOLEAN


def substituted(expression: Expression, change: Callable[[Column], Expression]) -> Expression:
    """Replaces every column of an expression."""
    if isinstance(expression, Column):
        return change(expression)
    if isinstance(expression, Call):
        arguments = tuple(substituted(a, change) for a in expression.arguments)
        if arguments != expression.arguments:
            return Call(expression.function, arguments, expression.type, expression.options)
    return expression


def over_projections(expression: Expression, projections: Sequence[Expression]) -> Expression:
    """Returns an expression over the columns of a projection as one over the input of the projection."""
    return substituted(expression, lambda column: projections[column.index])


def moved(expression: Expression, positions: Mapping[int, int]) -> Expression:
    """Returns the same expression with columns at other positions."""
    return substituted(expression, lambda c: Column(positions[c.index], c.type, c.name))


def shifted(expression: Expression, distance: int) -> Expression:
    """Returns the same expression with all columns moved to the right."""
    return substituted(expression, lambda c: Column(c.index + distance, c.type, c.name))


def conjuncts(condition: Expression | None) -> list[Expression]:
    """Returns the parts of a condition that are connected by AND."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def conjunction(parts: Iterable[Expression]) -> Expression | None:
    """Connects conditions by AND. Returns None for no condition."""
    found: Expression | None = None
    for part in parts:
        if found is None:
            found = part
        else:
            found = Call("AND", (found, part), BOOLEAN.with_nullable(found.type.nullable or part.type.nullable))
    return found
