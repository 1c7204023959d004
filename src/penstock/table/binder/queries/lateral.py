"""Binds LATERAL TABLE(f(...)): a Python table function that reads columns of the tables before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Expression, Literal
from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import Context, has_outer
from penstock.table.binder.queries.stage import Stage, has_slots
from penstock.table.binder.queries.tables import Source
from penstock.table.binder.scope import Scope, ScopeColumn
from penstock.table.binder.user_calls import user_function
from penstock.table.dialect import nodes
from penstock.table.relations import Relation, TableFunctionCall, Values
from penstock.types.logical.kinds import INT, Field, RowType

if TYPE_CHECKING:
    from penstock.table.user_functions.table_function import TableFunctionWrapper


def called_table_function(context: Context, node: exp.Expr) -> Any:
    """Returns the Python table function that an item of FROM calls, or None."""
    if not isinstance(node, nodes.TableFunction):
        return None
    found = user_function(context.lookup, node.this, in_from=True)
    if found is not None and getattr(found, "kind", "") == "table":
        return found
    if found is not None and getattr(found, "kind", "") in ("scalar", "aggregate", "table aggregate"):
        raise context.refuse(
            "SQL_FUNCTION",
            f"'{node.this.name or found.name}' is a {found.kind} function, and FROM needs a table function. Write it with @udtf.",
            node.this,
        )
    return None


def bind_lateral_alone(context: Context, node: exp.Expr, function: TableFunctionWrapper) -> Source:
    """Binds a table function as the first table of FROM: its arguments have no columns."""
    zero = Literal(0, INT.with_nullable(False))
    nothing = Values(rows=((zero,),), row_type=building.row_type(["ZERO"], [zero.type]))
    return bind_lateral(context, Source(nothing, Scope([])), node, function, outer=False)


def bind_lateral(context: Context, left: Source, node: exp.Expr, function: TableFunctionWrapper, outer: bool) -> Source:
    """Binds a table function behind other tables, whose columns its arguments can use."""
    from penstock.table.user_functions.binding import checked_arguments

    call = node.this
    for argument in call.expressions:
        if isinstance(argument, exp.Star | nodes.NamedArgument | nodes.TableArgument | nodes.Descriptor):
            raise context.refuse(
                "SQL_UNSUPPORTED", f"'{node.this.name or function.name}' does not take such an argument.", argument
            )
    scope = left.scope if node.args.get("lateral") else Scope([])  # without LATERAL, a function sees no columns
    bound = Stage(context, left.relation, scope).binder().bind_all(call.expressions)
    for value, argument in zip(bound, call.expressions, strict=True):
        if has_outer(value) or has_slots(value):
            raise context.refuse(
                "SQL_UNSUPPORTED",
                "A subquery, or a column of the outer query, is not supported as an argument of a table function.",
                argument,
            )
    names, table = _names(context, function, node)
    arguments = checked_arguments(function, bound, context.refuse, call)
    relation = call_table_function(left.relation, function, arguments, call, outer, names)
    width = len(relation.row_type.fields) - len(names)
    fields = relation.row_type.fields[width:]
    columns = [ScopeColumn(f.name, f.type, width + i, table) for i, f in enumerate(fields)]
    return Source(relation, Scope([*left.scope.columns, *columns]))


def call_table_function(
    relation: Relation,
    function: TableFunctionWrapper,
    arguments: Sequence[Expression],
    node: exp.Expr,
    outer: bool = False,
    names: Sequence[str] | None = None,
) -> Relation:
    """Returns the rows of a relation with those that a function returns for each. The last columns are those of the function.

    names: of these columns, if they are not those of the function.
    """
    from penstock.table.user_functions.binding import python_function

    extended, positions = building.extend(relation, arguments)
    names = [f.name for f in function.fields] if names is None else names
    own = tuple(
        Field(n, f.type.with_nullable(f.type.nullable or outer)) for n, f in zip(names, function.fields, strict=True)
    )
    return TableFunctionCall(
        input=extended,
        function=python_function(function, arguments, node),
        arguments=tuple(positions),
        outer=outer,
        row_type=RowType((*extended.row_type.fields, *own), nullable=False),
    )


def _names(context: Context, function: TableFunctionWrapper, node: exp.Expr) -> tuple[list[str], tuple[str, ...]]:
    """Returns the names of the columns, and that of the table."""
    alias = node.args.get("alias")
    own = [f.name for f in function.fields]
    if alias is None:
        return own, ()
    names = [column.name for column in alias.args.get("columns") or ()]
    table = (alias.name,) if alias.name else ()
    if not names:
        return own, table
    if len(names) != len(own):
        raise context.refuse(
            "SQL_COLUMN",
            f"The alias '{alias.name}' names {len(names)} columns, and the function returns {len(own)} columns: {', '.join(own)}.",
            alias,
        )
    return names, table
