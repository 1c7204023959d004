"""Queries over tables that are bound already, as the parser would make them from SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlglot import exp

from penstock.table.dialect import nodes
from penstock.table.relations import Relation

Change = Callable[[exp.Expr], exp.Expr | None]


def column(name: str) -> exp.Column:
    """Returns the name of a column.

    >>> column("my name").name
    'my name'
    """
    return exp.Column(this=exp.Identifier(this=name, quoted=True))


def named(node: exp.Expr, name: str) -> exp.Alias:
    """Returns an item of a select list with a name."""
    return exp.Alias(this=node, alias=exp.Identifier(this=name, quoted=True))


def select(relation: Relation, items: Iterable[exp.Expr], **clauses: Any) -> exp.Select:
    """Returns SELECT items FROM relation, with other clauses as the parser names them."""
    return exp.Select(expressions=list(items), from_=exp.From(this=nodes.BoundTable(this=relation)), **clauses)


def everything(relation: Relation, **clauses: Any) -> exp.Select:
    """Returns SELECT * FROM relation."""
    return select(relation, [exp.Star()], **clauses)


def rewritten(node: exp.Expr, change: Change) -> exp.Expr:
    """Returns a node with parts replaced. `change` returns the new part, or None to look into the parts of this one."""
    found = change(node)
    if found is not None:
        return found
    made = type(node)(**{key: _argument(value, change) for key, value in node.args.items()})
    made.meta.update(node.meta)
    return made


def _argument(value: Any, change: Change) -> Any:
    if isinstance(value, exp.Expr):
        return rewritten(value, change)
    if isinstance(value, list):
        return [_argument(part, change) for part in value]
    return value


def names_of(relation: Relation) -> list[str]:
    """Returns the names of the columns of a relation."""
    return [field.name for field in relation.row_type.fields]


def order(items: Sequence[exp.Expr]) -> exp.Order:
    """Returns ORDER BY. An item that has no direction is ascending. NULLs come last, or first in descending order.

    Flink's Table API has this order of NULLs, and its SQL the other one.
    """
    found = []
    for item in items:
        node = item.this if isinstance(item, exp.Ordered) else item
        descending = isinstance(item, exp.Ordered) and bool(item.args.get("desc"))
        found.append(exp.Ordered(this=node, desc=descending, nulls_first=descending))
    return exp.Order(expressions=found)
