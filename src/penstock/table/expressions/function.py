"""Builds calls that belong to no value."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.table.dialect import nodes
from penstock.table.expressions.base import call_text, node_of
from penstock.table.expressions.expression import Expression


def function(name: str, text: str, *arguments: object) -> Expression[Any]:
    """Returns the call NAME(arguments). `text` is the name of the function in the text of the expression.

    >>> function("ATAN2", "atan2", 1, 2)
    atan2(1, 2)
    """
    node = nodes.Call(this=name, expressions=[node_of(a) for a in arguments])
    return Expression(node, call_text(text, *arguments))


def constant(name: str, text: str) -> Expression[Any]:
    """Returns a call without parentheses, such as CURRENT_DATE."""
    return Expression(nodes.Call(this=name, parentheses=False), f"{text}()")


def identifier(name: str) -> exp.Identifier:
    """Returns a name, which is used as it is."""
    return exp.to_identifier(name, quoted=True)
