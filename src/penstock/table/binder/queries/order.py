"""ORDER BY, LIMIT, FETCH and OFFSET."""

from __future__ import annotations

from sqlglot import exp

from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.stage import Stage
from penstock.table.binder.queries.tables import named
from penstock.table.relations import Relation, Sort
from penstock.types.logical.kinds import TimestampType
from penstock.types.logical.text import summary


def sort_output(context: Context, relation: Relation, query: exp.Expr, top: bool) -> Relation:
    """Sorts a relation by columns of its own, as behind UNION."""
    keys = []
    stage = Stage(context, relation, named(relation, ()).scope)
    for item in ordered_items(query):
        position = ordinal(context, item.this, len(relation.row_type.fields))
        if position is None:
            bound = stage.bind(item.this)
            position = getattr(bound, "index", None)
            if position is None:
                raise context.refuse("SQL_ORDER", "ORDER BY of this query takes columns of its result only.", item.this)
        keys.append(sort_key(position, item))
    return sort(context, relation, tuple(keys), query, top)


def ordered_items(query: exp.Expr) -> list[exp.Ordered]:
    """Returns the items of ORDER BY."""
    order = query.args.get("order")
    return [] if order is None else list(order.expressions)


def ordinal(context: Context, node: exp.Expr, width: int) -> int | None:
    """Returns the position that a number in ORDER BY means, or None for other expressions."""
    if not isinstance(node, exp.Literal) or node.is_string or not node.this.isdigit():
        return None
    position = int(node.this)
    if not 1 <= position <= width:
        raise context.refuse("SQL_ORDER", f"Ordinal out of range: {position}. The query has {width} columns.", node)
    return position - 1


def sort_key(position: int, item: exp.Ordered) -> SortKey:
    """Returns the key for a column. NULLs are the lowest values unless NULLS FIRST or LAST is written."""
    ascending = not item.args.get("desc")
    first = item.args.get("nulls_first")
    return SortKey(position, ascending, ascending if first is None else bool(first))


def sort(context: Context, relation: Relation, keys: tuple[SortKey, ...], query: exp.Expr, top: bool) -> Relation:
    """Returns the relation in order, and cut by LIMIT and OFFSET. Order without a limit is forgotten inside other queries."""
    limit = _count(context, query.args.get("limit"))
    offset = _count(context, query.args.get("offset")) or 0
    if limit is None and not offset:
        if not keys or not top:
            return relation
        _check_sortable(context, relation, keys, query)
    return Sort(input=relation, order=keys, offset=offset, limit=limit, row_type=relation.row_type, hints=context.hints)


def _check_sortable(context: Context, relation: Relation, keys: tuple[SortKey, ...], query: exp.Expr) -> None:
    first = relation.row_type.fields[keys[0].column]
    timed = isinstance(first.type, TimestampType) and bool(first.type.attribute)
    if context.settings.streaming and not (timed and keys[0].ascending):
        raise context.refuse(
            "SQL_ORDER",
            f"Sort on '{first.name}' ({summary(first.type)}) without LIMIT is not supported on a stream, which never ends. The "
            "first column of ORDER BY must be a time attribute in ascending order, or the query needs a LIMIT.",
            query.args["order"],
        )


def _count(context: Context, clause: exp.Expr | None) -> int | None:
    if clause is None:
        return None
    value = clause.args["expression"]
    if not isinstance(value, exp.Literal) or not value.this.isdigit():
        raise context.refuse("SQL_ORDER", "LIMIT, FETCH and OFFSET take a number.", clause)
    return int(value.this)
