"""The expressions that programs pass to methods of tables."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from penstock.table.expressions.base import ExpressionBase
from penstock.table.expressions.base import node_of as value_node_of


def node_of(given: object) -> exp.Expr:
    """Returns the node of an expression. Texts are refused, because they could mean a column or a value."""
    if isinstance(given, ExpressionBase):
        return given.node
    raise TypeError(f"Expected an expression such as col('a') or lit(1), not {given!r}.")


def nodes_of(given: Iterable[object]) -> list[exp.Expr]:
    """Returns the nodes of expressions."""
    return [node_of(part) for part in given]


def condition(given: object) -> exp.Expr:
    """Returns the node of a condition. True and False are conditions, too."""
    return value_node_of(given) if isinstance(given, bool) else node_of(given)
