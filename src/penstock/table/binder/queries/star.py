"""Expands * and t.*."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Column, Expression
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries.context import Context
from penstock.table.binder.scope import Scope, ScopeColumn
from penstock.types.logical.kinds import RowType


@dataclass(frozen=True)
class StarItem:
    """A column that a star stands for."""

    name: str
    expression: Expression


def expand_star(context: Context, scope: Scope, node: exp.Expr) -> list[StarItem] | None:
    """Returns the columns of *, t.* or row.*, or None if the node is no star."""
    if isinstance(node, exp.Star):
        if not scope.columns:
            raise context.refuse("SQL_COLUMN", "SELECT * needs a FROM clause.", node)
        visible = [c for c in scope.columns if not c.hidden]
        _check_ambiguous(context, visible, node)
        return [_item(c) for c in visible]
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Star):
        return None
    parts = tuple(part.name for part in node.parts[:-1])
    found = [c for c in scope.columns if c.table and c.table[-len(parts) :] == parts]
    if found:
        _check_ambiguous(context, found, node)
        return [_item(c) for c in found]
    return _fields(context, scope, parts, node)


def _item(column: ScopeColumn) -> StarItem:
    return StarItem(column.name, Column(column.index, column.type, column.name))


def _check_ambiguous(context: Context, columns: list[ScopeColumn], node: exp.Expr) -> None:
    seen: set[tuple[tuple[str, ...], str]] = set()
    for column in columns:
        key = (column.table, column.name)
        if key in seen:
            raise context.refuse(
                "SQL_COLUMN", f"Column '{column.name}' is ambiguous. Give one of them another alias.", node
            )
        seen.add(key)


def _fields(context: Context, scope: Scope, parts: tuple[str, ...], node: exp.Column) -> list[StarItem]:
    """The fields of a column with rows."""
    for length in range(len(parts), 0, -1):
        found = scope.matches(parts[:length])
        if len(found) == 1:
            binder = ExpressionBinder(scope, context.text)
            value: Expression = Column(found[0].index, found[0].type, found[0].name)
            for name in parts[length:]:
                value = binder.field(value, name, node)
            if isinstance(value.type, RowType):
                return [StarItem(f.name, binder.field(value, f.name, node)) for f in value.type.fields]
    raise context.refuse("SQL_TABLE", f"Table '{'.'.join(parts)}' not found in FROM.", node)
