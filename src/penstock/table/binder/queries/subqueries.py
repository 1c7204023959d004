"""Subqueries in expressions: scalar ones, IN, EXISTS, SOME and ALL. They become joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.table.binder.conversions import convert
from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import OUTER
from penstock.table.binder.queries.stage import PendingJoin, Stage, right_column
from penstock.table.dialect import nodes
from penstock.table.passes.rewriting import conjunction, substituted
from penstock.table.relations import Aggregate, Relation
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import BIGINT, BOOLEAN
from penstock.types.logical.text import summary

if TYPE_CHECKING:
    from penstock.table.binder.queries.correlation import Correlated

_COUNT = BIGINT.with_nullable(False)
_TRUE = Literal(True, BOOLEAN.with_nullable(False))
_FALSE = Literal(False, BOOLEAN.with_nullable(False))
_UNKNOWN = Literal(None, BOOLEAN)


def is_subquery(node: exp.Expr) -> bool:
    """Whether a node is an expression with a query of its own."""
    if isinstance(node, exp.In):
        return node.args.get("query") is not None
    if isinstance(node, nodes.ArrayConstructor | nodes.MapConstructor | nodes.MultisetConstructor):
        return node.args.get("query") is not None
    if isinstance(node, exp.Binary) and isinstance(node.expression, nodes.Quantified):
        return True
    return isinstance(node, exp.Subquery | exp.Exists)


def has_subquery(node: exp.Expr) -> bool:
    """Whether a node contains a subquery."""
    return any(is_subquery(part) for part in node.walk())


# --------------------------------------------------------------------------------------------------- semi joins


def bind_semi_join(stage: Stage, node: exp.Expr) -> bool:
    """Adds a semi or anti join if a condition is [NOT] IN (query) or [NOT] EXISTS (query). Returns False for others."""
    negative = False
    while isinstance(node, exp.Not | exp.Paren):
        negative ^= isinstance(node, exp.Not)
        node = node.this
    node, flipped = _without_quantifier(node)
    negative ^= flipped
    if isinstance(node, exp.Exists):
        query = _query(stage, node.this)
        condition = conjunction(_links(stage, query, node))
        stage.add_join(PendingJoin(query.relation, "ANTI" if negative else "SEMI", condition))
        return True
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        query = _query(stage, node.args["query"].this)
        equal = _equal(stage, node, query)
        condition = conjunction([*equal, *_links(stage, query, node)])
        kind = "ANTI" if negative else "SEMI"
        stage.add_join(PendingJoin(query.relation, kind, condition, null_aware=negative))
        return True
    if isinstance(node, exp.Binary) and isinstance(node.expression, nodes.Quantified):
        return _bind_quantified(stage, node, negative)
    return False


def _bind_quantified(stage: Stage, node: exp.Binary, negative: bool) -> bool:
    """x > SOME (q): there is such a row. x > ALL (q): there is no row for which the comparison is not true."""
    quantified = node.expression
    if quantified.args.get("query") is None:
        return False
    query = _query(stage, quantified.args["query"].this)
    if query.width != 1:
        raise stage.context.refuse("SQL_SUBQUERY", "The subquery of SOME and ALL must have one column.", node)
    binder = stage.binder()
    operator = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.EQ: "=", exp.NEQ: "<>"}[type(node)]
    column = right_column(building.columns(query.relation)[0])
    compared = binder.call(operator, [binder.bind(node.this), column], node)
    boolean = BOOLEAN.with_nullable(False)
    some = quantified.name == "SOME"
    if some:
        condition = Call("IS_NOT_FALSE", (compared,), boolean) if negative else compared
    else:
        condition = Call("IS_FALSE" if negative else "IS_NOT_TRUE", (compared,), boolean)
    kind = "SEMI" if some != negative else "ANTI"
    stage.add_join(PendingJoin(query.relation, kind, conjunction([condition, *_links(stage, query, node)])))
    return True


def _without_quantifier(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """x = SOME (q) is IN, and x <> ALL (q) is NOT IN."""
    if isinstance(node, exp.EQ | exp.NEQ) and isinstance(node.expression, nodes.Quantified):
        quantified = node.expression
        some = quantified.name == "SOME"
        if quantified.args.get("query") is not None and some == isinstance(node, exp.EQ):
            return exp.In(this=node.this.copy(), query=quantified.args["query"].copy()), not some
    return node, False


def _query(stage: Stage, node: exp.Expr) -> Correlated:
    from penstock.table.binder.queries.correlation import Correlated
    from penstock.table.binder.queries.query import bind_nested, with_ctes
    from penstock.table.binder.queries.select import SelectBinder

    context = stage.context.inside(stage.scope)
    while isinstance(node, exp.Subquery) and not any(node.args.get(k) for k in ("order", "limit", "offset", "with_")):
        node = node.this
    if isinstance(node, exp.Select):
        return SelectBinder(with_ctes(context, node), node).bind_correlated()
    relation = bind_nested(context, node)
    return Correlated(relation, len(relation.row_type.fields))


def _links(stage: Stage, query: Correlated, node: exp.Expr) -> list[Expression]:
    """Returns the conditions of a subquery over its columns and those of the stage."""

    def change(column: Column) -> Expression:
        if column.index >= OUTER:
            return stage.outer_value(Column(column.index - OUTER, column.type, column.name), node)
        return right_column(column)

    return [substituted(condition, change) for condition in query.conditions]


def _equal(stage: Stage, node: exp.In, query: Correlated) -> list[Expression]:
    operand = node.this
    while isinstance(operand, exp.Paren):
        operand = operand.this
    parts = operand.expressions if isinstance(operand, nodes.RowConstructor) else [operand]
    if len(parts) != query.width:
        raise stage.context.refuse(
            "SQL_SUBQUERY",
            f"IN compares {len(parts)} with {query.width}: the subquery must have as many columns as there are values.",
            node,
        )
    binder = stage.binder()
    columns = building.columns(query.relation)
    found = []
    for part, column in zip(parts, columns[: query.width], strict=True):
        left = binder.bind(part)
        if common_type([left.type, column.type]) is None:
            raise stage.context.refuse(
                "SQL_TYPE",
                f"IN cannot compare {summary(left.type)} with {summary(column.type)}. Cast one of them.",
                node,
            )
        found.append(binder.call("=", [left, right_column(column)], node))
    return found


# ------------------------------------------------------------------------------------------------------- values


def bind_value(stage: Stage, node: exp.Expr) -> Expression:
    """Binds a subquery whose value is used in an expression."""
    node, negative = _without_quantifier(node)
    if isinstance(node, exp.Exists):
        return _exists_value(stage, node)
    if isinstance(node, exp.In):
        found = _in_value(stage, node)
        return Call("NOT", (found,), found.type) if negative else found
    if isinstance(node, exp.Subquery):
        return _scalar(stage, node)
    what = "SOME and ALL with this comparison are" if isinstance(node, exp.Binary) else "A constructor with a query is"
    raise stage.context.refuse("SQL_UNSUPPORTED", f"{what} not supported. Write a join or an aggregate.", node)


def _scalar(stage: Stage, node: exp.Subquery) -> Expression:
    query = _query(stage, node.this)
    if query.width != 1:
        raise stage.context.refuse(
            "SQL_SUBQUERY", f"A subquery that is a value must have one column, and this one has {query.width}.", node
        )
    columns = building.columns(query.relation)
    value = stage.slots.new(columns[0].type.with_nullable(True), columns[0].name)
    slots, positions = [value.index], [0]
    result: Expression = value
    if query.defaults and _default(query.defaults[0]) is not None:
        marker = stage.slots.new(columns[1].type.with_nullable(True))
        slots.append(marker.index)
        positions.append(1)
        missing = Call("IS_NULL", (marker,), BOOLEAN.with_nullable(False))
        result = Call("CASE", (missing, convert(query.defaults[0], value.type), value), value.type)
    stage.add_join(
        PendingJoin(
            query.relation,
            "LEFT",
            conjunction(_links(stage, query, node)),
            tuple(slots),
            tuple(positions),
            single=not _one_row(node.this),
        )
    )
    return result


def _default(expression: Expression) -> Expression | None:
    """Returns the value for no rows, unless it is NULL, which a join without a partner returns anyway."""
    return None if isinstance(expression, Literal) and expression.value is None else expression


def _one_row(node: exp.Expr) -> bool:
    """Whether a query has one row at most, because it is an aggregate without GROUP BY."""
    from penstock.table.binder.queries.aggregate_calls import has_aggregate

    return (
        isinstance(node, exp.Select)
        and node.args.get("group") is None
        and any(has_aggregate(item) for item in node.expressions)
    )


def _exists_value(stage: Stage, node: exp.Exists) -> Expression:
    query = _query(stage, node.this)
    _check_equalities(stage, query, node)
    if not query.conditions:
        return _is_positive(_count(stage, query.relation, None)[0])
    width = len(query.relation.row_type.fields)
    keys = tuple(range(query.width, width))
    right, marker = _marked(query.relation, keys)
    links = [substituted(c, lambda x: _moved(x, query.width)) for c in query.conditions]
    from penstock.table.binder.queries.correlation import Correlated

    slot = stage.slots.new(BOOLEAN, "found")
    condition = conjunction(_links(stage, Correlated(right, 0, tuple(links)), node))
    stage.add_join(PendingJoin(right, "LEFT", condition, (slot.index,), (marker,)))
    return Call("IS_NOT_NULL", (slot,), BOOLEAN.with_nullable(False))


def _moved(column: Column, distance: int) -> Expression:
    return column if column.index >= OUTER else Column(column.index - distance, column.type, column.name)


def _in_value(stage: Stage, node: exp.In) -> Expression:
    """TRUE if there is an equal row, else unknown if a NULL is involved and there are rows, else FALSE."""
    query = _query(stage, node.args["query"].this)
    if query.conditions or query.width != 1:
        raise stage.context.refuse(
            "SQL_SUBQUERY",
            "IN with a subquery that has names of the outer query, or several columns, is supported as a condition of WHERE "
            "that is connected by AND only. Write it as a join.",
            node,
        )
    left = stage.bind(node.this)
    equal = _equal(stage, node, query)[0]
    right, marker = _marked(query.relation, (0,))
    slot = stage.slots.new(BOOLEAN, "found")
    stage.add_join(PendingJoin(right, "LEFT", equal, (slot.index,), (marker,)))
    rows, values = _count(stage, query.relation, 0)
    boolean = BOOLEAN.with_nullable(False)
    arguments: tuple[Expression, ...] = (
        Call("NOT", (_is_positive(rows),), boolean),
        _FALSE,
        Call("IS_NULL", (left,), boolean),
        _UNKNOWN,
        Call("IS_NOT_NULL", (slot,), boolean),
        _TRUE,
        Call("<", (values, rows), BOOLEAN),
        _UNKNOWN,
        _FALSE,
    )
    return Call("CASE", arguments, BOOLEAN)


def _check_equalities(stage: Stage, query: Correlated, node: exp.Expr) -> None:
    if any(not isinstance(c, Call) or c.function != "=" for c in query.conditions):
        raise stage.context.refuse(
            "SQL_SUBQUERY",
            "EXISTS inside an expression can be connected with the outer query by equality (a = b) only. Write it as a join.",
            node,
        )


def _is_positive(count: Expression) -> Expression:
    zero = Literal(0, _COUNT)
    return Call(">", (Call("COALESCE", (count, zero), _COUNT), zero), BOOLEAN.with_nullable(False))


def _count(stage: Stage, relation: Relation, column: int | None) -> tuple[Column, Column]:
    """Joins the number of rows of a relation, and the number of values of a column that are not NULL."""
    calls = [AggregateCall("COUNT", (), (), _COUNT, name="COUNT(*)")]
    if column is not None:
        field = relation.row_type.fields[column]
        calls.append(AggregateCall("COUNT", (column,), (field.type,), _COUNT, name=f"COUNT({field.name})"))
    names = [c.name for c in calls]
    right = Aggregate(
        input=relation, keys=(), calls=tuple(calls), row_type=building.row_type(names, [_COUNT] * len(calls))
    )
    slots = [stage.slots.new(BIGINT, name) for name in names]
    positions = tuple(range(len(calls)))
    stage.add_join(PendingJoin(right, "LEFT", None, tuple(s.index for s in slots), positions))
    return slots[0], slots[-1]


def _marked(relation: Relation, keys: tuple[int, ...]) -> tuple[Relation, int]:
    """Returns the distinct values of columns, followed by TRUE, and the position of that."""
    fields = [relation.row_type.fields[k] for k in keys]
    names = [f.name for f in fields]
    distinct = Aggregate(
        input=relation, keys=keys, calls=(), row_type=building.row_type(names, [f.type for f in fields])
    )
    marked = building.project(distinct, [*building.columns(distinct), _TRUE], [*names, "found"])
    return marked, len(keys)
