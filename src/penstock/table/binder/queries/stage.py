"""A relation while expressions over its columns are bound.

Subqueries in the expressions become joins. Their columns have negative positions (slots) until the stage is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Column, Expression, walk
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import OUTER, Context, has_outer, is_far
from penstock.table.binder.scope import Scope
from penstock.table.passes.rewriting import conjunction, substituted
from penstock.table.relations import Relation
from penstock.types.logical.kinds import LogicalType, RowType


@dataclass(frozen=True)
class PendingJoin:
    """A subquery that will be joined. `condition` is over its columns, slots, columns of the stage, and none of outer queries.

    Columns of the subquery have its width added to OUTER: see `Stage.right`.
    """

    right: Relation
    kind: str
    condition: Expression | None
    slots: tuple[int, ...] = ()  # a slot for each column of the right side that is used
    positions: tuple[int, ...] = ()
    null_aware: bool = False
    single: bool = False


class Slots:
    """Counts slots."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, type_: LogicalType, name: str = "") -> Column:
        self._last -= 1
        return Column(self._last, type_, name)


def resolved(expression: Expression, positions: Mapping[int, int]) -> Expression:
    """Replaces slots by positions."""

    def change(column: Column) -> Expression:
        if column.index >= 0:
            return column
        return Column(positions[column.index], column.type, column.name)

    return substituted(expression, change)


def has_slots(expression: Expression) -> bool:
    """Whether an expression has slots."""
    return any(isinstance(part, Column) and part.index < 0 for part in walk(expression))


class Stage:
    """Binds expressions over a relation."""

    def __init__(self, context: Context, relation: Relation, scope: Scope, slots: Slots | None = None) -> None:
        self.context = context
        self.relation = relation
        self.scope = scope
        self.slots = slots or Slots()
        self.correlated: list[Expression] = []  # conditions with columns of the query around
        self._filters: list[Expression] = []
        self._joins: list[PendingJoin] = []

    # ------------------------------------------------------------------------------------------------ binding

    def bind(self, node: exp.Expr) -> Expression:
        """Binds an expression."""
        return self.binder().bind(node)

    def binder(self, hook: Callable[[exp.Expr], Expression | None] | None = None) -> ExpressionBinder:
        """Returns the binder of expressions. `hook` sees nodes before the stage does."""
        return ExpressionBinder(self.scope, self.context.text, hook or self.hook, self.context.lookup)

    def hook(self, node: exp.Expr) -> Expression | None:
        """Binds what is not an expression over one row: subqueries, and columns of outer queries."""
        from penstock.table.binder.queries.subqueries import bind_value, is_subquery

        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self.outer_column(node)
        if is_subquery(node):
            return bind_value(self, node)
        return None

    def outer_column(self, node: exp.Column) -> Expression | None:
        """Returns the column of an outer query, if the name is not one of this query."""
        parts = [part.name for part in node.parts]
        if not self.context.outer or self._is_own(parts):
            return None
        found = self.context.outer_column(parts)
        if found is None:
            return None
        expression: Expression = found[0]
        for name in found[1]:
            expression = self.binder().field(expression, name, node)
        return expression

    def _is_own(self, parts: list[str]) -> bool:
        """Whether a name is a column of this query, or a field of one."""
        if self.scope.matches(parts):
            return True
        shorter = [c for n in range(len(parts) - 1, 0, -1) for c in self.scope.matches(parts[:n])]
        return any(isinstance(c.type, RowType) for c in shorter)

    def outer_value(self, column: Column, node: exp.Expr) -> Expression:
        """Returns a column of the scope that a subquery names, as an expression over the output of the stage."""
        return column

    # ---------------------------------------------------------------------------------------------- conditions

    def require(self, node: exp.Expr, binder: ExpressionBinder | None = None) -> None:
        """Keeps only rows for which a condition is true."""
        from penstock.table.binder.queries.subqueries import bind_semi_join

        binder = binder or self.binder()
        for part in _conjuncts(node):
            if bind_semi_join(self, part):
                continue
            condition = binder.condition(part)
            if has_outer(condition):
                self._check_near(condition, part)
                self.correlated.append(condition)
            else:
                self._filters.append(condition)

    def _check_near(self, condition: Expression, node: exp.Expr) -> None:
        for part in walk(condition):
            if isinstance(part, Column) and is_far(part):
                raise self.context.refuse(
                    "SQL_SUBQUERY",
                    f"'{part.name}' belongs to a query two levels up. Only names of the query directly around a subquery "
                    "are supported. Write the subquery as a join.",
                    node,
                )

    def add_join(self, join: PendingJoin) -> None:
        """Joins a subquery when the stage is built."""
        self._joins.append(join)

    # ------------------------------------------------------------------------------------------------ building

    def build(self) -> tuple[Relation, dict[int, int]]:
        """Returns the relation with all joins and filters, and the positions of all slots."""
        relation, positions = self.base()
        return self.apply(relation, positions)

    def base(self) -> tuple[Relation, dict[int, int]]:
        """Returns the relation without joins and filters, and the positions of its slots."""
        return self.relation, {}

    def apply(self, relation: Relation, positions: dict[int, int]) -> tuple[Relation, dict[int, int]]:
        early = [f for f in self._filters if all(s in positions for s in _slots(f))]
        late = [f for f in self._filters if f not in early]
        condition = conjunction(resolved(f, positions) for f in early)
        if condition is not None:
            relation = building.filter_rows(relation, condition)
        for join in self._joins:
            width = len(relation.row_type.fields)
            on = None if join.condition is None else _joined(resolved(join.condition, positions), width)
            relation = building.join(
                relation,
                join.right,
                join.kind,
                on,
                null_aware=join.null_aware,
                single=join.single,
                hints=self.context.hints,
            )
            positions.update({slot: width + p for slot, p in zip(join.slots, join.positions, strict=True)})
        condition = conjunction(resolved(f, positions) for f in late)
        if condition is not None:
            relation = building.filter_rows(relation, condition)
        self._filters, self._joins = [], []
        return relation, positions


def right_column(column: Column) -> Column:
    """Returns a column of the right side of a pending join."""
    return Column(column.index + OUTER, column.type, column.name)


def _joined(condition: Expression, width: int) -> Expression:
    def change(column: Column) -> Expression:
        if column.index >= OUTER:
            return Column(column.index - OUTER + width, column.type, column.name)
        return column

    return substituted(condition, change)


def _slots(expression: Expression) -> list[int]:
    return [part.index for part in walk(expression) if isinstance(part, Column) and part.index < 0]


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]
