"""Binds the nodes that only the Table API makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Call, Expression, Literal
from penstock.table.dialect import nodes
from penstock.types.logical.kinds import STRING, CharType, Field, RowType
from penstock.types.logical.text import summary

if TYPE_CHECKING:
    from penstock.table.binder.expressions import ExpressionBinder


def _typed_literal(binder: ExpressionBinder, node: nodes.TypedLiteral) -> Expression:
    return Literal(node.this, node.args["to"])


def _plus(binder: ExpressionBinder, node: nodes.Plus) -> Expression:
    """Adds, or concatenates if one operand is text."""
    operands = binder.bind_all([node.this, node.expression])
    if not any(isinstance(operand.type, CharType) for operand in operands):
        return binder.call("+", operands, node)
    texts = [o if isinstance(o.type, CharType) else binder.call("CAST", [o], node, (STRING,)) for o in operands]
    return binder.call("CONCAT", texts, node)


def _row_value(binder: ExpressionBinder, node: nodes.RowValue) -> Expression:
    row = binder.call("ROW", binder.bind_all(node.expressions), node)
    assert isinstance(row, Call)
    assert isinstance(row.type, RowType)
    fields = tuple(Field(f"f{i}", field.type) for i, field in enumerate(row.type.fields))
    return Call(row.function, row.arguments, RowType(fields, nullable=False), row.options)


def _field_at(binder: ExpressionBinder, node: nodes.FieldAt) -> Expression:
    value, index = binder.bind(node.this), node.args["index"]
    if not isinstance(value.type, RowType) or not 0 <= index < len(value.type.fields):
        raise binder.refuse("SQL_COLUMN", f"There is no field {index} in a value of type {summary(value.type)}.", node)
    return binder.call("FIELD", [value], node, (index,))


API_FORMS: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], Expression]] = {
    nodes.TypedLiteral: _typed_literal,
    nodes.Plus: _plus,
    nodes.RowValue: _row_value,
    nodes.FieldAt: _field_at,
}
