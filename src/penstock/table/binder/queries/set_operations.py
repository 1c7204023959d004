"""Binds UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from sqlglot import exp

from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.values import fitted
from penstock.table.relations import Aggregate, Relation, SetOperation, Union
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import LogicalType, RowType, TimestampType
from penstock.types.logical.text import summary


def bind_set_operation(context: Context, node: exp.SetOperation) -> Relation:
    """Returns the relation of a set operation. The names are those of the first query."""
    from penstock.table.binder.queries.query import bind_nested

    left = bind_nested(context, node.this)
    right = bind_nested(context, node.expression)
    name = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}[type(node)]
    distinct = bool(node.args.get("distinct"))
    shown = name if distinct else f"{name} ALL"
    a, b = left.row_type.fields, right.row_type.fields
    if len(a) != len(b):
        raise context.refuse(
            "SQL_COLUMN",
            f"Column count mismatch in {shown}: the queries have {len(a)} and {len(b)} columns.",
            _first_column(node.expression),
        )
    types = []
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        found = _common(x.type, y.type)
        if found is None:
            raise context.refuse(
                "SQL_TYPE",
                f"Type mismatch in column {i + 1} of {shown}: '{x.name}' is {summary(x.type)} and '{y.name}' is "
                f"{summary(y.type)}.",
                _first_column(node.this, i),
            )
        types.append(found)
    output = building.row_type([f.name for f in a], types)
    left, right = _converted(left, output), _converted(right, output)
    if name != "UNION":
        return SetOperation(left=left, right=right, kind=name, all=not distinct, row_type=output)  # type: ignore[arg-type]
    inputs: list[Relation] = []
    for side in (left, right):  # (a UNION ALL b) UNION ALL c is one relation
        nested = isinstance(side, Union) and side.row_type == output
        inputs += side.relations if nested and isinstance(side, Union) else [side]
    union = Union(relations=tuple(inputs), row_type=output)
    return distinct_rows(union, context) if distinct else union


def _first_column(query: exp.Expr, index: int = 0) -> exp.Expr:
    """The column of a query that an error points at, the query itself if it is not written there."""
    columns = query.args.get("expressions") if isinstance(query, exp.Select) else None
    return columns[index] if columns is not None and index < len(columns) else query


def distinct_rows(relation: Relation, context: Context) -> Relation:
    """Returns each row once."""
    keys = tuple(range(len(relation.row_type.fields)))
    return Aggregate(input=relation, keys=keys, calls=(), row_type=relation.row_type, hints=context.hints)


def _common(a: LogicalType, b: LogicalType) -> LogicalType | None:
    both = isinstance(a, TimestampType) and isinstance(b, TimestampType) and a.attribute and b.attribute
    if both and a.local == b.local:  # type: ignore[union-attr]
        return a.with_nullable(a.nullable or b.nullable)
    return common_type([a, b])


def _converted(relation: Relation, output: RowType) -> Relation:
    """Casts columns to the types of the output."""
    wanted = [f.type for f in output.fields]
    columns = building.columns(relation)
    converted = [fitted(c, t) for c, t in zip(columns, wanted, strict=True)]
    if converted == columns:
        return relation
    return building.project(relation, converted, [f.name for f in output.fields])
