"""Binds a query: SELECT, VALUES, TABLE, set operations, WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.table.binder.queries import building
from penstock.table.binder.queries.aggregates.python_aggregates import find_python_aggregates
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.lookup import BinderSettings, TableLookup
from penstock.table.binder.queries.order import sort_output
from penstock.table.binder.queries.select import SelectBinder
from penstock.table.binder.queries.set_operations import bind_set_operation
from penstock.table.binder.queries.tables import bind_table_name
from penstock.table.binder.queries.values import bind_values
from penstock.table.dialect import nodes
from penstock.table.relations import Relation

# sqlglot's nodes keep no clauses of the outer query on these, so that they are read here.
_CLAUSES = ("order", "limit", "offset")


def bind_query(query: exp.Expr, text: str, lookup: TableLookup, settings: BinderSettings) -> Relation:
    """Returns the relation of a query. Columns with the same name get numbers, as in Flink: id, id0."""
    find_python_aggregates(query, lookup)
    relation = bind_nested(Context(text, lookup, settings), query, top=True)
    return building.rename(relation, unique([f.name for f in relation.row_type.fields]))


def unique(names: list[str]) -> list[str]:
    """Adds numbers to names that occur before.

    >>> unique(["id", "a", "id", "id"])
    ['id', 'a', 'id0', 'id1']
    """
    used: set[str] = set()
    found = []
    for name in names:
        candidate, number = name, 0
        while candidate in used:
            candidate, number = f"{name}{number}", number + 1
        used.add(candidate)
        found.append(candidate)
    return found


def bind_nested(context: Context, query: exp.Expr, top: bool = False) -> Relation:
    """Returns the relation of a query inside another one. The order of its rows is forgotten unless it has a limit."""
    context = with_ctes(context, query)
    if isinstance(query, exp.Select):
        return SelectBinder(context, query, top).bind()
    relation = _body(context, query)
    if any(query.args.get(clause) is not None for clause in _CLAUSES):
        return sort_output(context, relation, query, top)
    return relation


def with_ctes(context: Context, query: exp.Expr) -> Context:
    """Binds the queries of WITH and returns a context that knows them."""
    clause = query.args.get("with_")
    if clause is None:
        return context
    for cte in clause.expressions:
        if clause.args.get("recursive") and any(t.name == cte.alias for t in cte.this.find_all(exp.Table)):
            raise context.refuse(
                "SQL_UNSUPPORTED", f"The query '{cte.alias}' reads itself. WITH RECURSIVE is not supported.", cte
            )
        relation = bind_nested(replace(context.alone(), ctes=context.ctes), cte.this)
        names = [column.name for column in cte.args["alias"].columns]
        if names:
            if len(names) != len(relation.row_type.fields):
                raise context.refuse(
                    "SQL_COLUMN",
                    f"The query '{cte.alias}' has {len(relation.row_type.fields)} columns, and {len(names)} names of columns.",
                    cte,
                )
            relation = building.rename(relation, names)
        context = replace(context, ctes={**context.ctes, cte.alias: relation})
    return context


def _body(context: Context, query: exp.Expr) -> Relation:
    if isinstance(query, exp.Subquery):
        return bind_nested(context, query.this)
    if isinstance(query, exp.SetOperation):
        return bind_set_operation(context, query)
    if isinstance(query, exp.Values):
        return bind_values(context, query)
    if isinstance(query, nodes.ExplicitTable):
        return bind_table_name(context, query.this)[0]
    raise context.refuse("SQL_UNSUPPORTED", f"{type(query).__name__} is not a query.", query)
