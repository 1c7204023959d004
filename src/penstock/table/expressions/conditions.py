"""Conditions that combine others, and values by condition."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.table.expressions.base import call_text, node_of
from penstock.table.expressions.expression import Expression
from penstock.table.expressions.function import function
from penstock.table.expressions.operators import case_of


def and_(predicate0: object, predicate1: object, *predicates: object) -> Expression[bool]:
    """Whether all conditions are true.

    >>> from penstock.table.expressions import col
    >>> and_(col("a"), col("b"), True)
    and(a, b, true)
    """
    return _chain(exp.And, "and", (predicate0, predicate1, *predicates))


def or_(predicate0: object, predicate1: object, *predicates: object) -> Expression[bool]:
    """Whether one of the conditions is true."""
    return _chain(exp.Or, "or", (predicate0, predicate1, *predicates))


def _chain(kind: type[exp.Expr], text: str, parts: tuple[object, ...]) -> Expression[bool]:
    node = node_of(parts[0])
    for part in parts[1:]:
        node = kind(this=node, expression=node_of(part))
    return Expression(node, call_text(text, *parts))


def not_(expression: object) -> Expression[bool]:
    """Whether a condition is false. NULL stays NULL."""
    return Expression(exp.Not(this=node_of(expression)), call_text("not", expression))


def if_then_else(condition: object, if_true: object, if_false: object) -> Expression[Any]:
    """Returns one value where a condition is true, and another one where it is false or NULL."""
    node = case_of(node_of(condition), node_of(if_true), node_of(if_false))
    return Expression(node, call_text("ifThenElse", condition, if_true, if_false))


def coalesce(*args: object) -> Expression[Any]:
    """Returns the first value that is not NULL."""
    return function("COALESCE", "COALESCE", *args)
