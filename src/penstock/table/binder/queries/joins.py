"""Binds joins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Column, Expression, Literal
from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import Context, has_outer
from penstock.table.binder.queries.lateral import bind_lateral, called_table_function
from penstock.table.binder.queries.stage import Stage
from penstock.table.binder.queries.tables import Source, bind_table
from penstock.table.binder.queries.temporal import constant_moment, temporal_join
from penstock.table.binder.queries.unnest import bind_unnest
from penstock.table.binder.scope import Scope, ScopeColumn
from penstock.table.dialect import nodes
from penstock.table.passes.rewriting import conjunction
from penstock.types.logical.kinds import BOOLEAN


def bind_joins(context: Context, first: exp.Expr, joins: Sequence[exp.Join]) -> Source:
    """Binds the first table and all that are joined to it, from left to right."""
    source = bind_table(context, first)
    for join in joins:
        source = _bind_join(context, source, join)
    return source


def _bind_join(context: Context, left: Source, node: exp.Join) -> Source:
    if isinstance(node.this, exp.Unnest):
        return _bind_unnest(context, left, node)
    if (function := called_table_function(context, node.this)) is not None:
        return _bind_lateral(context, left, node, function)
    version = node.this.args.get("version") if constant_moment(context, node.this) is None else None
    right = bind_table(context, node.this, versioned=version is not None)
    _check_names(context, left, right, node)
    kind = node.args.get("side") or "INNER"
    joined = Source(
        building.join(left.relation, right.relation, kind, None),
        _both(left, right, kind),
    )
    names = _common_names(context, left, right, node)
    if names and version is not None:
        raise context.refuse("SQL_TEMPORAL_JOIN", "A temporal join needs its condition in ON.", node)
    if names:
        return _merged(context, left, right, joined, kind, names, node)
    on = node.args.get("on")
    condition = None
    if on is not None:
        condition = _condition(context, joined, on)
    elif node.args.get("kind") not in ("CROSS", "COMMA") and node.args.get("method") != "NATURAL":
        raise context.refuse("SQL_JOIN", f"{kind} JOIN needs a condition: ON or USING.", node)
    relation = building.join(left.relation, right.relation, kind, condition, hints=_hints(context, left, right))
    if version is not None:
        relation = temporal_join(context, left, relation, version.expression, node)
    return Source(relation, joined.scope)


def _hints(context: Context, left: Source, right: Source) -> tuple[tuple[str, Any], ...]:
    """The hints of a join. STATE_TTL by the names of tables becomes one by sides; tables of other joins are left out."""
    found: list[tuple[str, Any]] = []
    for name, values in context.hints:
        if name == "STATE_TTL" and isinstance(values, dict):
            sides = {}
            for side, source in (("LEFT", left), ("RIGHT", right)):
                tables = {c.table for c in source.scope.columns}
                only = next(iter(tables)) if len(tables) == 1 else None
                if only and (duration := values.get(only[-1])) is not None:
                    sides[side] = duration
            if sides:
                found.append((name, sides))
        else:
            found.append((name, values))
    return tuple(found)


def _bind_unnest(context: Context, left: Source, node: exp.Join) -> Source:
    """UNNEST reads columns of the left side, so it is no join by a condition."""
    kind = node.args.get("side") or "INNER"
    if kind not in ("INNER", "LEFT") or node.args.get("using") or node.args.get("method") == "NATURAL":
        raise context.refuse(
            "SQL_JOIN", "UNNEST can be joined by CROSS JOIN, JOIN ... ON and LEFT JOIN ... ON TRUE.", node
        )
    source = bind_unnest(context, left, node.this, outer=kind == "LEFT")
    on = node.args.get("on")
    condition = None if on is None else _condition(context, source, on)
    if condition is None:
        return source
    if kind == "LEFT":
        raise context.refuse("SQL_JOIN", "LEFT JOIN UNNEST supports the condition ON TRUE only.", node)
    return Source(building.filter_rows(source.relation, condition), source.scope)


def _bind_lateral(context: Context, left: Source, node: exp.Join, function: Any) -> Source:
    """A table function reads columns of the left side, so it is no join by a condition either."""
    kind = node.args.get("side") or "INNER"
    if kind not in ("INNER", "LEFT") or node.args.get("using") or node.args.get("method") == "NATURAL":
        raise context.refuse(
            "SQL_JOIN", "A table function can be joined by CROSS JOIN, JOIN ... ON and LEFT JOIN ... ON TRUE.", node
        )
    source = bind_lateral(context, left, node.this, function, outer=kind == "LEFT")
    on = node.args.get("on")
    condition = None if on is None else _condition(context, source, on)
    if condition is None:
        if on is None and node.args.get("kind") not in ("CROSS", "COMMA"):
            raise context.refuse("SQL_JOIN", f"{kind} JOIN needs a condition. Write ON TRUE.", node)
        return source
    if kind == "LEFT":
        raise context.refuse("SQL_JOIN", "LEFT JOIN of a table function supports the condition ON TRUE only.", node)
    return Source(building.filter_rows(source.relation, condition), source.scope)


def _condition(context: Context, joined: Source, node: exp.Expr) -> Expression | None:
    stage = Stage(context, joined.relation, joined.scope)

    def hook(part: exp.Expr) -> Expression | None:
        if isinstance(part, exp.Subquery | exp.Exists | nodes.Quantified) or (
            isinstance(part, exp.In) and part.args.get("query") is not None
        ):
            raise context.refuse("SQL_UNSUPPORTED", "A subquery is not supported in the condition ON of a join.", part)
        return stage.hook(part)

    condition = stage.binder(hook).condition(node)
    if has_outer(condition):
        raise context.refuse(
            "SQL_SUBQUERY", "Names of the outer query are not supported in ON. Write the condition in WHERE.", node
        )
    if condition == Literal(True, BOOLEAN.with_nullable(False)):
        return None
    return condition


def _both(left: Source, right: Source, kind: str) -> Scope:
    width = len(left.relation.row_type.fields)
    columns = [
        ScopeColumn(
            c.name, c.type.with_nullable(c.type.nullable or kind in ("RIGHT", "FULL")), c.index, c.table, c.hidden
        )
        for c in left.scope.columns
    ]
    columns += [
        ScopeColumn(
            c.name,
            c.type.with_nullable(c.type.nullable or kind in ("LEFT", "FULL")),
            c.index + width,
            c.table,
            c.hidden,
        )
        for c in right.scope.columns
    ]
    return Scope(columns)


def _check_names(context: Context, left: Source, right: Source, node: exp.Join) -> None:
    known = {c.table for c in left.scope.columns if c.table}
    for column in right.scope.columns:
        if column.table and column.table in known:
            raise context.refuse(
                "SQL_TABLE",
                f"Duplicate relation name '{column.table[-1]}' in FROM clause. Give one of them another alias.",
                node.this,
            )


def _common_names(context: Context, left: Source, right: Source, node: exp.Join) -> list[str]:
    using = [name.name for name in node.args.get("using") or ()]
    if not using and node.args.get("method") == "NATURAL":
        right_names = {c.name for c in right.scope.columns if not c.hidden}
        using = [c.name for c in left.scope.columns if not c.hidden and c.name in right_names]
    written = {name.name: name for name in node.args.get("using") or ()}
    for name in using:
        for side, where in ((left, "left"), (right, "right")):
            found = side.scope.matches([name])
            if len(found) != 1:
                problem = "is ambiguous" if found else "not found"
                raise context.refuse(
                    "SQL_COLUMN",
                    f"Column '{name}' of USING {problem} in the table on the {where} side.",
                    written.get(name, node),
                )
    return using


def _merged(
    context: Context, left: Source, right: Source, joined: Source, kind: str, names: list[str], node: exp.Join
) -> Source:
    """USING and NATURAL: the common columns come first, with the value of the side that has one."""
    stage = Stage(context, joined.relation, joined.scope)
    binder = stage.binder()
    width = len(left.relation.row_type.fields)
    fields = joined.relation.row_type.fields
    equal, merged, hidden = [], [], set()
    for name in names:
        a = left.scope.matches([name])[0]
        b = right.scope.matches([name])[0]
        hidden |= {a.index, b.index + width}
        both: list[Expression] = [Column(a.index, a.type, name), Column(b.index + width, b.type, name)]
        equal.append(binder.call("=", both, node))
        sides: list[Expression] = [Column(i, fields[i].type, name) for i in (a.index, b.index + width)]
        merged.append(binder.call("COALESCE", sides, node))
    relation = building.join(
        left.relation, right.relation, kind, conjunction(equal), hints=_hints(context, left, right)
    )
    total = len(fields)
    expressions: list[Expression] = [*building.columns(relation), *merged]
    relation = building.project(relation, expressions, [*(f.name for f in fields), *names])
    columns = [ScopeColumn(n, m.type, total + i) for i, (n, m) in enumerate(zip(names, merged, strict=True))]
    columns += [
        ScopeColumn(c.name, c.type, c.index, c.table, c.hidden or c.index in hidden) for c in joined.scope.columns
    ]
    return Source(relation, Scope(columns))
