"""Calls of Python functions that make rows or columns: `map`, `flat_map`, `join_lateral`, `aggregate`, `flat_aggregate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.api import queries
from penstock.table.api.expansion import with_arguments
from penstock.table.api.operands import condition, node_of
from penstock.table.dialect import nodes
from penstock.table.relations import Relation
from penstock.table.user_functions.function import UserDefinedFunctionWrapper
from penstock.types.logical.kinds import RowType

if TYPE_CHECKING:
    from penstock.table.api.table import Table
    from penstock.table.expressions import Expression


def call_node(func: Any, without: exp.Expr | None = None) -> exp.Expr:
    """Returns the call of a function. A function without arguments gets all columns as one row.

    without: a column that the row does not have.
    """
    if not isinstance(func, UserDefinedFunctionWrapper):
        return node_of(func)
    if without is None:
        arguments: exp.Expr = exp.Star()
    else:
        arguments = nodes.ColumnSelection(expressions=[without], without=True)
    call = nodes.PythonCall(this=func.with_row_input(), expressions=[arguments])
    return _with_names(call, list(func.alias_names))


def _with_names(call: exp.Expr, names: list[str]) -> exp.Expr:
    identifiers = [exp.Identifier(this=name, quoted=True) for name in names]
    if not identifiers:
        return call
    if len(identifiers) == 1:
        return exp.Alias(this=call, alias=identifiers[0])
    return exp.Aliases(this=call, expressions=identifiers)


def split_names(node: exp.Expr) -> tuple[exp.Expr, list[str]]:
    """Returns a call and the names that `alias` gave to its columns."""
    if isinstance(node, exp.Alias):
        return node.this, [node.alias]
    if isinstance(node, exp.Aliases):
        return node.this, [part.name for part in node.expressions]
    return node, []


def mapped(table: Table, func: Any) -> Table:
    """Returns a table with the fields of the results of a scalar function."""
    call, names = split_names(call_node(func))
    found = table._bound(queries.select(table.relation, [queries.named(_expanded(table.relation, call), "f0")]))
    found = flattened(found, 0)
    return found.alias(*names) if names else found


def flattened(table: Table, place: int, names: list[str] | None = None) -> Table:
    """Replaces a column with rows by its fields, and names them."""
    fields = table.relation.row_type.fields
    items: list[exp.Expr] = [queries.column(field.name) for field in fields]
    type_ = fields[place].type
    parts: list[exp.Expr] = [items[place]]
    own = [fields[place].name]
    if isinstance(type_, RowType):
        parts = [
            nodes.FieldAt(this=queries.column(fields[place].name), index=index) for index in range(len(type_.fields))
        ]
        own = [field.name for field in type_.fields]
    if names and len(names) != len(own):
        raise SqlValidationError(
            "SQL_COLUMN",
            f"The function returns {len(own)} columns: {', '.join(own)}. alias() has {len(names)} names: {', '.join(names)}.",
        )
    new = [queries.named(part, name) for part, name in zip(parts, names or own, strict=True)]
    return table._select([*items[:place], *new, *items[place + 1 :]])


def lateral(relation: Relation, given: Any, predicate: Expression[bool] | None, outer: bool) -> exp.Select:
    """Returns the join of a table with the rows that a table function returns for each row."""
    call, names = split_names(call_node(given))
    if isinstance(given, UserDefinedFunctionWrapper) and not names:
        raise AttributeError(
            "A table function that gets whole rows needs names for its columns, such as f.alias('a', 'b')."
        )
    return lateral_query(relation, call, names, predicate, outer)


def lateral_query(
    relation: Relation, call: exp.Expr, names: list[str], predicate: Expression[bool] | None, outer: bool
) -> exp.Select:
    """Returns the join of a table with a call. `names` are those of the columns of the function."""
    function = nodes.TableFunction(this=_expanded(relation, call), lateral=True)
    alias = exp.TableAlias(this=exp.Identifier(this="T0", quoted=True))
    if names:
        alias.set("columns", [exp.Identifier(this=name, quoted=True) for name in names])
    function.set("alias", alias)
    join = exp.Join(this=function, side="LEFT" if outer else None)
    join.set("on", exp.Boolean(this=True) if predicate is None else condition(predicate))
    return queries.everything(relation, joins=[join])


def flat_mapped(table: Table, func: Any) -> Table:
    """Returns the rows that a table function returns for the rows of a table."""
    call, names = split_names(call_node(func))
    own = table._environment.session.bind(_alone(table, call), "").row_type.fields
    width = len(table.relation.row_type.fields)
    hidden = [f"flat_map {place}" for place in range(len(own) - width)]  # names that no column of the table has
    joined = table._bound(lateral_query(table.relation, call, hidden, None, outer=False))
    shown = names or [field.name for field in own[width:]]
    return joined._select([queries.named(queries.column(h), name) for h, name in zip(hidden, shown, strict=True)])


def _alone(table: Table, call: exp.Expr) -> exp.Select:
    return lateral_query(table.relation, call, [], None, outer=False)


def _expanded(relation: Relation, call: exp.Expr) -> exp.Expr:
    return with_arguments(call, queries.names_of(relation))
