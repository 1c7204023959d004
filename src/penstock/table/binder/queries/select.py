"""Binds SELECT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Expression, Literal
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries import building
from penstock.table.binder.queries.aggregate_calls import has_aggregate
from penstock.table.binder.queries.context import Context, has_outer
from penstock.table.binder.queries.correlation import Correlated, correlated_columns
from penstock.table.binder.queries.grouping import GroupedStage
from penstock.table.binder.queries.joins import bind_joins
from penstock.table.binder.queries.order import ordered_items, ordinal, sort, sort_key
from penstock.table.binder.queries.over import OverBinder
from penstock.table.binder.queries.set_operations import distinct_rows
from penstock.table.binder.queries.stage import Stage, resolved
from penstock.table.binder.queries.star import StarItem, expand_star
from penstock.table.binder.queries.tables import Source, read_hints
from penstock.table.binder.scope import Scope
from penstock.table.relations import Relation, Values
from penstock.types.logical.kinds import INT, NullType


@dataclass(frozen=True)
class _Item:
    """An item of the select list: a node, or a column that * stands for."""

    name: str
    node: exp.Expr
    column: StarItem | None = None


class SelectBinder:
    """Binds one SELECT with its clauses."""

    def __init__(self, context: Context, node: exp.Select, top: bool = False) -> None:
        hints = node.args.get("hint")
        if hints is not None:
            context = replace(context, hints=tuple(read_hints(context, hints.expressions)))
        self._context = context
        self._node = node
        self._top = top

    def bind(self) -> Relation:
        """Returns the relation of the query, which must not use names of an outer query."""
        found = self.bind_correlated()
        if found.conditions:
            raise self._context.refuse("SQL_SUBQUERY", "A name of the outer query is not supported here.", self._node)
        return found.relation

    def bind_correlated(self) -> Correlated:
        """Returns the relation, and the conditions that connect it with the outer query."""
        node, context = self._node, self._context
        source = self._source()
        below, conditions = self._where(source)
        items = self._items(source)
        stage = self._grouped(below, items)
        over = OverBinder(stage, node.args.get("windows") or ())
        binder = stage.binder(over.hook)
        expressions = [self._item(stage, binder, item) for item in items]
        names = [item.name for item in items]
        qualify = self._qualify(stage, over, names, expressions)
        keys, hidden = self._order(stage, over, names, expressions)
        links, extra = correlated_columns(context, node, stage, conditions, len(expressions) + len(hidden))
        relation, positions = stage.build()
        relation, positions = over.build(relation, positions)
        if qualify is not None:
            relation = building.filter_rows(relation, resolved(qualify, positions))
        width = len(expressions)
        outputs = [resolved(e, positions) for e in [*expressions, *hidden, *extra]]
        relation = building.project(
            relation, outputs, [*names, *(f"${width + i}" for i in range(len(hidden) + len(extra)))]
        )
        if node.args.get("distinct") is not None:
            relation = distinct_rows(relation, context)
        relation = sort(context, relation, keys, node, self._top)
        if hidden and not extra:
            relation = building.project(relation, building.columns(relation)[:width], names)
        defaults: tuple[Expression, ...] = ()
        if isinstance(stage, GroupedStage) and extra and node.args.get("group") is None:
            defaults = tuple(stage.without_rows(e) for e in expressions)
        return Correlated(relation, width, links, defaults)

    # ---------------------------------------------------------------------------------------------- FROM, WHERE

    def _source(self) -> Source:
        clause = self._node.args.get("from_")
        if clause is None:
            zero = Literal(0, INT.with_nullable(False))
            return Source(Values(rows=((zero,),), row_type=building.row_type(["ZERO"], [zero.type])), Scope())
        return bind_joins(self._context, clause.this, self._node.args.get("joins") or ())

    def _where(self, source: Source) -> tuple[Stage, list[Expression]]:
        stage = Stage(self._context, source.relation, source.scope)
        clause = self._node.args.get("where")
        if clause is None:
            return stage, []
        self._refuse_aggregates(clause.this, "WHERE")
        stage.require(clause.this)
        relation, _ = stage.build()
        return Stage(self._context, relation, source.scope, stage.slots), stage.correlated

    def _refuse_aggregates(self, node: exp.Expr, clause: str) -> None:
        for part in node.find_all(exp.Window):
            if part.find_ancestor(exp.Select) is self._node:
                raise self._context.refuse(
                    "SQL_AGGREGATE",
                    f"Windowed aggregate expression is illegal in {clause} clause. Compute it in a subquery, or use QUALIFY.",
                    part,
                )
        if has_aggregate(node):
            raise self._context.refuse(
                "SQL_AGGREGATE", f"Aggregate expression is illegal in {clause} clause. Use HAVING, or a subquery.", node
            )

    # -------------------------------------------------------------------------------------------------- items

    def _items(self, source: Source) -> list[_Item]:
        found: list[_Item] = []
        for node in self._node.expressions:
            stars = expand_star(self._context, source.scope, node)
            if stars is not None:
                found += [_Item(s.name, node, s) for s in stars]
                continue
            name = _name(node) or f"EXPR${len(found)}"
            found.append(_Item(name, node.this if isinstance(node, exp.Alias) else node))
        return found

    def _grouped(self, below: Stage, items: list[_Item]) -> Stage:
        node = self._node
        group, having = node.args.get("group"), node.args.get("having")
        nodes = [item.node for item in items if item.column is None]
        nodes += [item.this for item in ordered_items(node)]
        if node.args.get("qualify") is not None:
            nodes.append(node.args["qualify"].this)
        if group is None and having is None and not any(has_aggregate(n) for n in nodes):
            return below
        stage = GroupedStage(self._context, below, group)
        if having is not None:
            for part in having.this.find_all(exp.Window):
                raise self._context.refuse(
                    "SQL_AGGREGATE", "Windowed aggregate expression is illegal in HAVING clause.", part
                )
            stage.require(having.this)
        return stage

    def _item(self, stage: Stage, binder: ExpressionBinder, item: _Item) -> Expression:
        if item.column is not None:
            bound = item.column.expression
            if isinstance(stage, GroupedStage):
                return stage.grouped(bound, item.name, item.node)
            return bound
        bound = binder.bind(item.node)
        if isinstance(bound.type, NullType):
            raise self._context.refuse(
                "SQL_TYPE", "Illegal use of 'NULL': it has no type here. Write CAST(NULL AS INT) or so.", item.node
            )
        if has_outer(bound):
            raise self._context.refuse(
                "SQL_SUBQUERY",
                "A name of the outer query is supported in WHERE of a subquery only, and not in its result.",
                item.node,
            )
        return bound

    # -------------------------------------------------------------------------------------- QUALIFY and ORDER BY

    def _alias_binder(
        self, stage: Stage, over: OverBinder, names: list[str], expressions: list[Expression], first: bool
    ) -> ExpressionBinder:
        """Returns a binder that knows aliases. `first`: they come before columns of the input."""

        def hook(node: exp.Expr) -> Expression | None:
            simple = isinstance(node, exp.Column) and len(node.parts) == 1 and node.name in names
            if simple and (first or not stage.scope.matches([node.name])):
                return expressions[names.index(node.name)]
            return over.hook(node)

        return stage.binder(hook)

    def _qualify(
        self, stage: Stage, over: OverBinder, names: list[str], expressions: list[Expression]
    ) -> Expression | None:
        clause = self._node.args.get("qualify")
        if clause is None:
            return None
        return self._alias_binder(stage, over, names, expressions, first=False).condition(clause.this)

    def _order(
        self, stage: Stage, over: OverBinder, names: list[str], expressions: list[Expression]
    ) -> tuple[tuple, list[Expression]]:  # type: ignore[type-arg]
        """Returns the sort keys, and expressions that are no columns of the result."""
        binder = self._alias_binder(stage, over, names, expressions, first=True)
        keys, hidden = [], []
        for item in ordered_items(self._node):
            position = ordinal(self._context, item.this, len(names))
            if position is None:
                bound = binder.bind(item.this)
                if bound in expressions:
                    position = expressions.index(bound)
                else:
                    if self._node.args.get("distinct") is not None:
                        raise self._context.refuse(
                            "SQL_ORDER",
                            f"Expression '{bound}' is not in the select clause. SELECT DISTINCT can be ordered by its own "
                            "columns only.",
                            item.this,
                        )
                    if bound not in hidden:
                        hidden.append(bound)
                    position = len(expressions) + hidden.index(bound)
            keys.append(sort_key(position, item))
        return tuple(keys), hidden


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return str(node.alias)
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    return ""
