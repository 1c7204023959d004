"""Binds the tables of FROM: names, aliases, subqueries, VALUES and table functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from penstock.errors import PenstockError, SqlValidationError
from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.dead_letters import dead_letter_table
from penstock.table.binder.queries.lookup import ResolvedView
from penstock.table.binder.scope import Scope, ScopeColumn
from penstock.table.dialect import nodes, parse_query
from penstock.table.functions.catalogue import closest
from penstock.table.relations import Relation, Scan


@dataclass(frozen=True)
class Source:
    """A relation with the names that expressions can use for its columns."""

    relation: Relation
    scope: Scope


def named(relation: Relation, path: tuple[str, ...]) -> Source:
    """Returns a relation whose columns belong to one name."""
    return Source(
        relation,
        Scope([ScopeColumn(f.name, f.type, i, path) for i, f in enumerate(relation.row_type.fields)]),
    )


def bind_table(context: Context, node: exp.Expr, versioned: bool = False) -> Source:
    """Binds one item of FROM. versioned: whether FOR SYSTEM_TIME AS OF is allowed, because the item is joined."""
    from penstock.table.binder.queries.joins import bind_joins
    from penstock.table.binder.queries.lateral import bind_lateral_alone, called_table_function
    from penstock.table.binder.queries.matching.match import bind_match
    from penstock.table.binder.queries.processes.process_table import bind_process_table, called_process_function
    from penstock.table.binder.queries.query import bind_nested
    from penstock.table.binder.queries.temporal import constant_moment, version_at
    from penstock.table.binder.queries.unnest import bind_unnest_alone
    from penstock.table.binder.queries.windows import bind_table_function

    if isinstance(node, exp.Unnest):
        return bind_unnest_alone(context, node)
    if (function := called_table_function(context, node)) is not None:
        return bind_lateral_alone(context, node, function)
    moment = constant_moment(context, node)
    _check_supported(context, node, versioned or moment is not None)
    if isinstance(node, nodes.JoinedTables):
        return bind_joins(context, node.this, node.args["joins"])
    path: tuple[str, ...] = ()
    if isinstance(node, exp.Table):
        relation, path = bind_table_name(context, node)
        if moment is not None:
            relation = version_at(context, relation, moment, node)
    elif isinstance(node, nodes.BoundTable):
        relation = node.args["this"]
    elif isinstance(node, exp.Subquery):
        relation = bind_nested(replace(context.alone(), ctes=context.ctes), node.this)
    elif isinstance(node, nodes.TableFunction):
        process = called_process_function(context, node)
        relation = bind_process_table(context, node.this, process) if process else bind_table_function(context, node)
    elif isinstance(node, nodes.MatchRecognize):
        relation = bind_match(context, node)
    else:
        raise context.refuse("SQL_UNSUPPORTED", f"{type(node).__name__} is not supported in FROM.", node)
    return _aliased(context, node, relation, path)


def _check_supported(context: Context, node: exp.Expr, versioned: bool) -> None:
    from penstock.table.binder.queries.windows import ARGUMENTS

    what = None
    if isinstance(node, exp.Lateral):
        what = "LATERAL with a query is"
    elif isinstance(node, nodes.TableFunction) and node.args.get("lateral") and node.this.name.upper() in ARGUMENTS:
        what = f"LATERAL with {node.this.name.upper()} is"
    elif node.args.get("version") is not None and not versioned:
        what = "FOR SYSTEM_TIME AS OF without JOIN ... ON or a constant time is"
    elif node.args.get("sample") is not None:
        what = "TABLESAMPLE is"
    if what is not None:
        raise context.refuse("SQL_UNSUPPORTED", f"{what} not supported yet.", node)


def _aliased(context: Context, node: exp.Expr, relation: Relation, path: tuple[str, ...]) -> Source:
    alias = node.args.get("alias")
    if alias is None:
        return named(relation, path)
    names = [column.name for column in alias.args.get("columns") or ()]
    if names:
        own = [f.name for f in relation.row_type.fields]
        if len(names) != len(own):
            raise context.refuse(
                "SQL_COLUMN",
                f"The alias '{alias.name}' names {len(names)} columns, and the table has {len(own)} columns: "
                f"{', '.join(own)}.",
                alias,
            )
        relation = building.rename(relation, names)
    return named(relation, (alias.name,))


def bind_table_name(context: Context, node: exp.Table) -> tuple[Relation, tuple[str, ...]]:
    """Finds a query of WITH, a table or a view. Returns it and its full name."""
    parts = tuple(part.name for part in node.parts)
    if len(parts) == 1 and parts[0] in context.ctes:
        return context.ctes[parts[0]], parts
    found = context.lookup.find_table(parts)
    if found is None:
        raise _unknown(context, node, parts)
    hints = read_hints(context, node.args.get("hints") or ())
    if isinstance(found, ResolvedView):
        if any(name == "OPTIONS" for name, _ in hints):
            raise context.refuse(
                "SQL_HINT", f"'{found.path[-1]}' is a view. The hint OPTIONS is possible behind tables only.", node
            )
        return _view(context, found, node), found.path
    options = dict(found.table.options)
    for name, value in hints:
        if name == "OPTIONS":
            options.update(value)
    scan = Scan(
        table=found.table,
        path=found.path,
        options=tuple(options.items()),
        row_type=found.table.row_type,
        hints=tuple(hints),
        dead_letters=dead_letter_table(found.path, options, context.lookup.find_table),
    )
    return scan, found.path


def _view(context: Context, found: ResolvedView, node: exp.Table) -> Relation:
    from penstock.table.binder.queries.query import bind_query

    view = found.view
    if view.relation is not None:
        assert isinstance(view.relation, Relation)
        return view.relation
    try:
        relation = bind_query(parse_query(view.expanded), view.expanded, context.lookup, context.settings)
    except SqlValidationError as error:
        raise error
    except PenstockError as error:
        raise context.refuse(error.code, f"The view '{found.path[-1]}' is not valid: {error}", node) from error
    names = [f.name for f in view.row_type.fields]
    return building.rename(relation, names) if len(names) == len(relation.row_type.fields) else relation


def _unknown(context: Context, node: exp.Expr, parts: tuple[str, ...]) -> SqlValidationError:
    near = closest(parts[-1], [*context.lookup.table_names(), *context.ctes])
    hint = f" Did you mean '{near}'?" if near else " SHOW TABLES lists all tables."
    return context.refuse("SQL_TABLE", f"There is no table or view '{'.'.join(parts)}'.{hint}", node)


def read_hints(context: Context, hints: Any) -> list[tuple[str, Any]]:
    """Returns hints as plain values: ("STATE_TTL", {"t": "1 d"})."""
    found: list[tuple[str, Any]] = []
    for hint in hints:
        name = hint.name.upper()
        if name not in (
            "OPTIONS",
            "STATE_TTL",
            "UID",
            "LOOKUP",
            "BROADCAST",
            "SHUFFLE_HASH",
            "SHUFFLE_MERGE",
            "NEST_LOOP",
        ):
            raise context.refuse(
                "SQL_HINT",
                f"There is no hint {name}. Known are OPTIONS, STATE_TTL, UID, LOOKUP and the join strategies.",
                hint,
            )
        values = hint.args.get("expressions") or []
        if values and all(isinstance(v, nodes.KeyValue) for v in values):
            found.append((name, {v.this.name: v.expression.name for v in values}))
        elif name == "OPTIONS":
            raise context.refuse("SQL_HINT", "The hint OPTIONS takes options: OPTIONS('key' = 'value').", hint)
        else:
            found.append((name, tuple(v.name for v in values)))
    return found
