"""Computes constants and simplifies conditions.

    Calc(a WHERE TRUE AND rn <= 1 + 1)   ->   Calc(a WHERE rn <= 2)

Only arithmetic, comparisons and logic of numbers and booleans are computed, because their values do not depend on the session. An
expression that fails, such as 1 / 0, stays: it must fail only if a row arrives.
"""

from __future__ import annotations

import msgspec

from penstock.runtime.relational.expressions.tree import Call, Expression, Literal
from penstock.table import relations as r
from penstock.table.passes.rewriting import conjunction, conjuncts
from penstock.table.passes.traversal import bottom_up
from penstock.types.logical.kinds import BooleanType, IntegerType

_FOLDED = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def fold_constants(relation: r.Relation) -> r.Relation:
    """Computes constant parts of all conditions and columns."""
    return bottom_up(relation, _change)


def _change(relation: r.Relation) -> r.Relation:
    if isinstance(relation, r.Calc):
        projections = tuple(folded(p) for p in relation.projections)
        condition = simplified(relation.condition)
        if projections != relation.projections or condition != relation.condition:
            return msgspec.structs.replace(relation, projections=projections, condition=condition)
    if isinstance(relation, r.Join | r.LookupJoin) and relation.condition is not None:
        condition = simplified(relation.condition)
        if condition != relation.condition:
            return msgspec.structs.replace(relation, condition=condition)
    return relation


def simplified(condition: Expression | None) -> Expression | None:
    """Folds a condition, and drops parts that are TRUE."""
    parts = [folded(part) for part in conjuncts(condition)]
    return conjunction(p for p in parts if not (isinstance(p, Literal) and p.value is True))


def folded(expression: Expression) -> Expression:
    """Computes the constant parts of an expression.

    >>> from penstock.types.logical.kinds import INT
    >>> one = Literal(1, INT.with_nullable(False))
    >>> folded(Call("+", (one, one), one.type)).value
    2
    """
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(folded(a) for a in expression.arguments)
    if arguments != expression.arguments:
        expression = msgspec.structs.replace(expression, arguments=arguments)
    if expression.function == "CAST" and isinstance(expression.type, IntegerType):
        return _cast(expression)
    compute = _FOLDED.get(expression.function)
    if compute is None or not isinstance(expression.type, IntegerType | BooleanType):
        return expression
    values = [_integer(a) for a in arguments]
    if any(v is None for v in values):
        return expression
    value = compute(*values)
    if isinstance(expression.type, IntegerType):
        bits = expression.type.bits
        value = (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))  # integers wrap around
    return Literal(value, expression.type)


def _integer(expression: Expression) -> int | None:
    if isinstance(expression, Literal) and isinstance(expression.type, IntegerType) and expression.value is not None:
        return int(expression.value)
    return None


def _cast(expression: Call) -> Expression:
    """A cast of an integer to a larger one."""
    inner = expression.arguments[0]
    value = _integer(inner)
    assert isinstance(expression.type, IntegerType)
    if value is None or not isinstance(inner.type, IntegerType) or inner.type.bits > expression.type.bits:
        return expression
    return Literal(value, expression.type)
