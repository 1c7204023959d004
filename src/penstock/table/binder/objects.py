"""OBJECT_OF and OBJECT_UPDATE: rows of structured types, whose classes Penstock does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Call, Expression, Literal
from penstock.table.dialect import nodes
from penstock.types.logical.kinds import CharType, Field, RowType
from penstock.types.logical.text import summary

if TYPE_CHECKING:
    from penstock.table.binder.expressions import ExpressionBinder


def object_of(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    """Binds OBJECT_OF('class', 'name', value, ...)."""
    if len(node.expressions) % 2 == 0:
        raise binder.refuse("SQL_TYPE", "OBJECT_OF takes the name of a class, and names and values in turn.", node)
    _name(binder, node.expressions[0])
    values = _values(binder, node.expressions[1:])
    return _row(list(values.items()))


def object_update(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    """Binds OBJECT_UPDATE(object, 'name', value, ...)."""
    if len(node.expressions) < 3 or len(node.expressions) % 2 == 0:
        raise binder.refuse("SQL_TYPE", "OBJECT_UPDATE takes an object, and names and values in turn.", node)
    given = binder.bind(node.expressions[0])
    values = _values(binder, node.expressions[1:])
    if not isinstance(given.type, RowType):
        raise binder.refuse("SQL_TYPE", f"OBJECT_UPDATE takes an object first, found {summary(given.type)}.", node)
    for name in values:
        binder.field(given, name, node)  # refuses names that the object does not have
    fields = [(f.name, values.get(f.name) or binder.field(given, f.name, node)) for f in given.type.fields]
    return _row(fields)


def _values(binder: ExpressionBinder, parts: list[exp.Expr]) -> dict[str, Expression]:
    """Returns values by name."""
    found: dict[str, Expression] = {}
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        name = _name(binder, key)
        if name in found:
            raise binder.refuse("SQL_TYPE", f"The field '{name}' is given twice.", key)
        found[name] = binder.bind(value)
    return found


def _name(binder: ExpressionBinder, node: exp.Expr) -> str:
    found = binder.bind(node)
    if not isinstance(found, Literal) or not isinstance(found.type, CharType) or found.value is None:
        raise binder.refuse("SQL_TYPE", "Expected a text that is a constant.", node)
    return str(found.value)


def _row(fields: list[tuple[str, Expression]]) -> Expression:
    type_ = RowType(tuple(Field(name, value.type) for name, value in fields), nullable=False)
    return Call("ROW", tuple(value for _, value in fields), type_)
