"""Binds VALUES."""

from __future__ import annotations

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Expression, Literal
from penstock.table.binder.conversions import convert
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import Context
from penstock.table.binder.scope import Scope
from penstock.table.dialect import nodes
from penstock.table.relations import Relation, Values
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import LogicalType, NullType
from penstock.types.logical.text import summary


def bind_values(context: Context, node: exp.Values) -> Relation:
    """Returns constant rows. The columns have the common types of all rows."""
    binder = ExpressionBinder(Scope(), context.text, functions=context.lookup)
    rows = []
    for row in node.expressions:
        for value in row.expressions:
            if isinstance(value, nodes.DefaultArgument):
                raise context.refuse(
                    "SQL_UNSUPPORTED", "DEFAULT is not supported as a value. Leave the column out.", row
                )
        rows.append(binder.bind_all(row.expressions))
    width = len(rows[0])
    for row, values in zip(node.expressions, rows, strict=True):
        if len(values) != width:
            raise context.refuse(
                "SQL_VALUES", f"The rows of VALUES have {width} and {len(values)} columns. All must have as many.", row
            )
    types = []
    for i in range(width):
        found = common_type([row[i].type for row in rows])
        _refuse_null(context, node, [row[i] for row in rows])
        if found is None:
            listed = ", ".join(dict.fromkeys(summary(row[i].type) for row in rows))
            raise context.refuse(
                "SQL_TYPE", f"Column {i + 1} of VALUES has types without a common one: {listed}.", node
            )
        types.append(found)
    converted = tuple(tuple(fitted(v, t) for v, t in zip(row, types, strict=True)) for row in rows)
    return Values(rows=converted, row_type=building.row_type([f"EXPR${i}" for i in range(width)], types))


def _refuse_null(context: Context, node: exp.Values, values: list[Expression]) -> None:
    for row, value in zip(node.expressions, values, strict=True):
        if isinstance(value.type, NullType):
            raise context.refuse("SQL_TYPE", "Illegal use of 'NULL'. Write CAST(NULL AS INT) or so.", row)


def fitted(value: Expression, type_: LogicalType) -> Expression:
    """Converts a value, unless it has the type except for nullability."""
    if value.type.with_nullable(True) == type_.with_nullable(True):
        return value
    if isinstance(value, Literal) and value.value is None:
        return Literal(None, type_.with_nullable(True))
    return convert(value, type_.with_nullable(value.type.nullable))
