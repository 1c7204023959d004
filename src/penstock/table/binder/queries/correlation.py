"""Subqueries whose conditions use columns of the outer query."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, walk
from penstock.table.binder.queries.context import OUTER, Context, has_outer
from penstock.table.binder.queries.grouping import GroupedStage
from penstock.table.binder.queries.stage import Stage
from penstock.table.passes.rewriting import substituted
from penstock.table.relations import Relation


@dataclass(frozen=True)
class Correlated:
    """A relation whose first `width` columns are the result. The conditions connect its columns with those of the outer query.

    defaults: for each column of the result of an aggregate, its value for no rows, over no columns; empty if rows decide.
    """

    relation: Relation
    width: int
    conditions: tuple[Expression, ...] = ()
    defaults: tuple[Expression, ...] = ()


def correlated_columns(
    context: Context, node: exp.Select, stage: Stage, conditions: list[Expression], width: int
) -> tuple[tuple[Expression, ...], list[Expression]]:
    """Returns the conditions over columns behind the result, which has `width` columns, and the expressions of these columns."""
    if not conditions:
        return (), []
    if any(node.args.get(clause) is not None for clause in ("limit", "offset", "windows", "distinct", "qualify")):
        raise context.refuse(
            "SQL_SUBQUERY",
            "A subquery with names of the outer query cannot have DISTINCT, LIMIT, OFFSET, WINDOW or QUALIFY. Write it as a join.",
            node,
        )
    extra: list[Expression] = []
    links: list[Expression] = []
    for condition in conditions:
        if isinstance(stage, GroupedStage):
            links.append(_grouped_link(context, node, stage, condition, extra, width))
        else:
            links.append(_plain_link(condition, extra, width))
    return tuple(links), extra


def _plain_link(condition: Expression, extra: list[Expression], width: int) -> Expression:
    def change(column: Column) -> Expression:
        if column.index >= OUTER:
            return column
        if column not in extra:
            extra.append(column)
        return Column(width + extra.index(column), column.type, column.name)

    return substituted(condition, change)


def _grouped_link(
    context: Context, node: exp.Select, stage: GroupedStage, condition: Expression, extra: list[Expression], width: int
) -> Expression:
    """An aggregate per value of the outer column: only equality determines which rows belong together."""
    if isinstance(condition, Call) and condition.function == "=":
        for own, other in (condition.arguments, condition.arguments[::-1]):
            if not has_outer(own) and all(c.index >= OUTER for c in walk(other) if isinstance(c, Column)):
                slot = stage.add_key(own)
                extra.append(slot)
                inner = Column(width + len(extra) - 1, own.type)
                return Call("=", (inner, other), condition.type)
    raise context.refuse(
        "SQL_SUBQUERY",
        "An aggregate in a subquery can be connected with the outer query by equality (a = b) only. Write it as a join.",
        node,
    )
