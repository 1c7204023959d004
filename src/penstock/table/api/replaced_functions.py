"""Temporary system functions that replace built-in ones: a function named `plus` is what `a + b` calls in the Table API."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from penstock.table.dialect import nodes

NAME = "function"  # the name of a built-in function in the Table API, among the notes of a node


def with_replaced_functions(query: exp.Expr, names: Collection[str]) -> exp.Expr:
    """Returns a query of the Table API that calls functions with these names (in lower case) instead of built-in ones.

    SQL is left as it is, because the parser makes no such notes: `a + b` calls no function there.
    """

    def change(node: exp.Expr) -> exp.Expr:
        name = node.meta.get(NAME) if node._meta else None
        if name is None or name.lower() not in names:
            return node
        call = isinstance(node, nodes.Call)
        arguments = node.expressions if call else [node.args["this"], node.args["expression"]]
        return nodes.Call(this=name, expressions=[with_replaced_functions(a, names) for a in arguments])

    return query.transform(change)
