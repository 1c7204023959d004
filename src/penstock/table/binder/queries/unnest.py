"""Binds UNNEST, which reads a collection of the tables before it."""

from __future__ import annotations

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Expression, Literal
from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import Context, has_outer
from penstock.table.binder.queries.stage import Stage, has_slots
from penstock.table.binder.queries.tables import Source
from penstock.table.binder.scope import Scope, ScopeColumn
from penstock.table.relations import Unnest, Values
from penstock.types.logical.kinds import (
    INT,
    ArrayType,
    Field,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)


def bind_unnest_alone(context: Context, node: exp.Unnest) -> Source:
    """Binds UNNEST as the first table of FROM: its argument has no columns."""
    zero = Literal(0, INT.with_nullable(False))
    nothing = Values(rows=((zero,),), row_type=building.row_type(["ZERO"], [zero.type]))
    return bind_unnest(context, Source(nothing, Scope([])), node, outer=False)


def bind_unnest(context: Context, left: Source, node: exp.Unnest, outer: bool) -> Source:
    """Binds UNNEST behind other tables, whose columns its argument can use."""
    value = _argument(context, left, node)
    elements = _elements(context, value.type, node)
    if node.args.get("offset"):
        elements.append(Field("ORDINALITY", INT.with_nullable(False)))
    alias = node.args.get("alias")
    names, table = _names(context, elements, node), (alias.name,) if alias is not None else ()
    relation, [column] = building.extend(left.relation, [value])
    width = len(relation.row_type.fields)
    types = [e.type.with_nullable(e.type.nullable or outer) for e in elements]
    own = [Field(n, t) for n, t in zip(names, types, strict=True)]
    unnest = Unnest(
        input=relation,
        column=column,
        outer=outer,
        ordinality=bool(node.args.get("offset")),
        row_type=RowType((*relation.row_type.fields, *own), nullable=False),
    )
    columns = [ScopeColumn(f.name, f.type, width + i, table) for i, f in enumerate(own)]
    return Source(unnest, Scope([*left.scope.columns, *columns]))


def _argument(context: Context, left: Source, node: exp.Unnest) -> Expression:
    arguments = node.expressions
    if len(arguments) != 1 or isinstance(arguments[0], exp.Query):
        raise context.refuse("SQL_UNSUPPORTED", "UNNEST needs one argument: an array, a map or a multiset.", node)
    value = Stage(context, left.relation, left.scope).bind(arguments[0])
    if has_outer(value) or has_slots(value):
        raise context.refuse(
            "SQL_UNSUPPORTED",
            "UNNEST of a subquery, or of a column of the outer query, is not supported.",
            arguments[0],
        )
    return value


def _elements(context: Context, type_: LogicalType, node: exp.Unnest) -> list[Field]:
    match type_:
        case MapType():
            return [Field("KEY", type_.key), Field("VALUE", type_.value)]
        case ArrayType() | MultisetType():
            if isinstance(type_.element, RowType):
                inside = type_.element
                return [Field(f.name, f.type.with_nullable(f.type.nullable or inside.nullable)) for f in inside.fields]
            return [Field("EXPR$0", type_.element)]
    raise context.refuse(
        "SQL_TYPE", f"UNNEST needs an array, a map or a multiset, and its argument is {type_}.", node.expressions[0]
    )


def _names(context: Context, elements: list[Field], node: exp.Unnest) -> list[str]:
    """Returns the names of the alias. A column of plain values has the name of the alias itself, if this names no columns."""
    alias = node.args.get("alias")
    own = [e.name for e in elements]
    if alias is None:
        return own
    names = [column.name for column in alias.args.get("columns") or ()]
    if not names:
        return [alias.name, *own[1:]] if own[0] == "EXPR$0" else own
    if len(names) != len(own):
        raise context.refuse(
            "SQL_COLUMN",
            f"The alias '{alias.name}' names {len(names)} columns, and UNNEST has {len(own)} columns: {', '.join(own)}.",
            alias,
        )
    return names
