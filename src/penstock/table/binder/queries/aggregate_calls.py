"""Reads calls of aggregate functions: arguments, DISTINCT, FILTER, ORDER BY and options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Expression, Literal
from penstock.runtime.relational.functions.definition import MISSING, TypeMismatch
from penstock.runtime.relational.specs.aggregate_call import AggregateCall, SortKey
from penstock.runtime.relational.specs.python_aggregate import PythonAggregate
from penstock.table.binder.conversions import convert
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries.aggregates.aggregate_types import call_type
from penstock.table.binder.queries.aggregates.python_aggregates import python_aggregate, python_arguments
from penstock.table.binder.queries.context import Context
from penstock.table.dialect import nodes
from penstock.table.functions.catalogue import is_aggregate
from penstock.table.user_functions.aggregate_function import UserDefinedAggregateFunctionWrapper
from penstock.types.logical.kinds import BooleanType, LogicalType, TimestampType
from penstock.types.logical.text import summary

OVER_ONLY = frozenset(["ROW_NUMBER", "RANK", "DENSE_RANK", "CUME_DIST", "PERCENT_RANK", "NTILE", "LAG", "LEAD"])
GROUPING = frozenset(["GROUPING", "GROUPING_ID", "GROUP_ID"])
# Arguments that are facts of the call and no columns, by position.
_OPTIONS = {"LISTAGG": (1,), "LAG": (1,), "LEAD": (1,), "NTILE": (0,)}


@dataclass(frozen=True)
class WrittenCall:
    """A call with its clauses as written."""

    call: nodes.Call | nodes.PythonCall
    filter: exp.Expr | None = None
    order: exp.Order | None = None

    @property
    def name(self) -> str:
        return self.call.name.upper() if self.python is None else self.python.name

    @property
    def python(self) -> UserDefinedAggregateFunctionWrapper | None:
        """The function, if it is one of the user."""
        return python_aggregate(self.call)


def written_call(node: exp.Expr) -> WrittenCall | None:
    """Returns the aggregate call that a node is, or None."""
    condition = order = None
    inner: exp.Expr = node
    if isinstance(inner, exp.Filter):
        condition = inner.expression.this
        inner = inner.this
    if isinstance(inner, exp.WithinGroup):
        order = inner.expression
        inner = inner.this
    if python_aggregate(inner) is not None:
        return WrittenCall(inner, condition, order)  # type: ignore[arg-type]
    if not isinstance(inner, nodes.Call) or inner.args.get("path") or not is_aggregate(inner.name):
        return None
    return WrittenCall(inner, condition, order or inner.args.get("order"))


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an expression has an aggregate call that is not inside OVER or a subquery."""
    if isinstance(node, exp.Subquery | exp.Exists | exp.Select) or (
        isinstance(node, exp.In) and node.args.get("query") is not None and not has_aggregate(node.this)
    ):
        return False
    if isinstance(node, exp.Window):
        inner = written_call(node.this)
        parts = [*(inner.call.expressions if inner else []), *(node.args.get("partition_by") or [])]
        parts += [o.this for o in node.args["order"].expressions] if node.args.get("order") is not None else []
        return any(has_aggregate(part) for part in parts)
    if written_call(node) is not None:
        return True
    return any(has_aggregate(child) for child in node.iter_expressions())


@dataclass(frozen=True)
class BoundCall:
    """A call whose arguments are expressions. `shown` is the type that Flink's schema shows, with time attributes."""

    function: str
    arguments: tuple[Expression, ...]
    type: LogicalType
    shown: LogicalType
    distinct: bool
    filter: Expression | None
    options: tuple[object, ...]
    order: tuple[tuple[Expression, bool, bool], ...]
    ignore_nulls: bool
    name: str
    python: PythonAggregate | None = None

    def expressions(self) -> list[Expression]:
        """Returns all expressions that must be columns of the input."""
        found = [*self.arguments, *(e for e, _, _ in self.order)]
        return found if self.filter is None else [*found, self.filter]

    def over(self, position: Callable[[Expression], int]) -> AggregateCall:
        """Returns the call over columns."""
        return AggregateCall(
            self.function,
            tuple(position(a) for a in self.arguments),
            tuple(a.type for a in self.arguments),
            self.type,
            self.distinct,
            None if self.filter is None else position(self.filter),
            self.options,
            tuple(SortKey(position(e), ascending, first) for e, ascending, first in self.order),
            self.ignore_nulls,
            self.name,
            python=self.python,
        )


def bind_call(context: Context, binder: ExpressionBinder, written: WrittenCall, *, grouped: bool) -> BoundCall:
    """Binds a call. `grouped`: whether each group has a row."""
    if written.python is not None:
        return _bind_python(context, binder, written, written.python)
    name, call = written.name, written.call
    assert isinstance(call, nodes.Call)
    if name == "GROUPING_ID" or name in GROUPING:
        raise context.refuse("SQL_AGGREGATE", f"{name} is not allowed here.", call)
    distinct = call.args.get("quantifier") == "DISTINCT"
    arguments = _arguments(context, binder, written)
    condition = _filter(context, binder, written)
    order = tuple(_sort_key(binder, item) for item in (written.order.expressions if written.order is not None else ()))
    literals = [a.value if isinstance(a, Literal) else MISSING for a in arguments]
    try:
        type_, casts = call_type(
            name,
            [a.type for a in arguments],
            literals,
            distinct=distinct,
            grouped=grouped,
            filtered=condition is not None,
        )
    except TypeMismatch as mismatch:
        found = ", ".join(summary(a.type) for a in arguments)
        raise context.refuse(
            "SQL_TYPE", f"Cannot apply '{name}' to ({found}). Expected: {mismatch.expected}.", call
        ) from mismatch
    converted = [convert(a, casts[i]) if i in casts else a for i, a in enumerate(arguments)]
    for i in _OPTIONS.get(name, ()):
        if i < len(arguments) and not isinstance(arguments[i], Literal):
            raise context.refuse(
                "SQL_TYPE",
                f"Argument {i + 1} of {name} must be a constant, found '{arguments[i]}'.",
                call.expressions[i],
            )
    kept, options = _options(name, converted, call)
    shown = _shown(type_, arguments)
    text = _text(name, distinct, arguments, condition)
    ignore = call.args.get("nulls") == "IGNORE"
    return BoundCall(name, kept, type_, shown, distinct, condition, options, order, ignore, text)


def _bind_python(
    context: Context, binder: ExpressionBinder, written: WrittenCall, function: UserDefinedAggregateFunctionWrapper
) -> BoundCall:
    """Binds a call of an aggregate function of the user."""
    from penstock.table.user_functions.binding import row_names  # few queries need it

    call = written.call
    if written.order is not None:
        raise context.refuse("SQL_AGGREGATE", f"'{function.name}' takes no ORDER BY. Only built-in functions do.", call)
    distinct = call.args.get("quantifier") == "DISTINCT"
    arguments = python_arguments(context, function, _arguments(context, binder, written), call)
    condition = _filter(context, binder, written)
    return BoundCall(
        "PYTHON",
        tuple(arguments),
        function.result_type,
        function.result_type,
        distinct,
        condition,
        (),
        (),
        False,
        _text(function.name, distinct, arguments, condition),
        function.call(context.settings.zone, row_names(function, arguments)),
    )


def _arguments(context: Context, binder: ExpressionBinder, written: WrittenCall) -> list[Expression]:
    call = written.call
    found: list[Expression] = []
    for node in call.expressions:
        if isinstance(node, exp.Star):
            if written.name != "COUNT":
                raise context.refuse("SQL_TYPE", f"{written.name}(*) is not allowed. Only COUNT takes *.", call)
            return []
        if isinstance(node, nodes.KeyValue):
            found += [binder.bind(node.this), binder.bind(node.expression)]
        else:
            found.append(binder.bind(node))
    if written.name == "COUNT" and len(found) != 1:
        problem = "COUNT of several columns is not supported" if found else "COUNT needs an argument"
        raise context.refuse("SQL_TYPE", f"{problem}. Write COUNT(*) or COUNT(column).", call)
    return found


def _filter(context: Context, binder: ExpressionBinder, written: WrittenCall) -> Expression | None:
    if written.filter is None:
        return None
    condition = binder.bind(written.filter)
    if not isinstance(condition.type, BooleanType):
        raise context.refuse(
            "SQL_TYPE", f"The condition of FILTER must be a boolean, found {summary(condition.type)}.", written.filter
        )
    return condition


def _sort_key(binder: ExpressionBinder, item: exp.Ordered) -> tuple[Expression, bool, bool]:
    ascending = not item.args.get("desc")
    first = item.args.get("nulls_first")
    return binder.bind(item.this), ascending, ascending if first is None else bool(first)


def _options(
    name: str, arguments: list[Expression], call: nodes.Call
) -> tuple[tuple[Expression, ...], tuple[object, ...]]:
    if name in ("JSON_OBJECTAGG", "JSON_ARRAYAGG"):
        word = call.args.get("on_null") or ("NULL" if name == "JSON_OBJECTAGG" else "ABSENT")
        return tuple(arguments), (f"{word} ON NULL",)
    places = _OPTIONS.get(name, ())
    options = []
    kept = []
    for i, argument in enumerate(arguments):
        if i in places:
            assert isinstance(argument, Literal)
            options.append(argument.value)
        else:
            kept.append(argument)
    if name in ("LAG", "LEAD") and not options:
        options.append(1)
    if name == "LISTAGG" and not options:
        options.append(",")
    return tuple(kept), tuple(options)


def _shown(type_: LogicalType, arguments: list[Expression]) -> LogicalType:
    """Flink's schema shows MAX(rowtime) as a time attribute, although windows cannot use it."""
    if isinstance(type_, TimestampType) and arguments:
        first = arguments[0].type
        if isinstance(first, TimestampType) and first.attribute:
            return TimestampType(type_.precision, type_.local, first.attribute, nullable=type_.nullable)
    return type_


def _text(name: str, distinct: bool, arguments: Sequence[Expression], condition: Expression | None) -> str:
    inside = ", ".join(str(a) for a in arguments) or ("*" if name == "COUNT" else "")
    text = f"{name}({'DISTINCT ' if distinct else ''}{inside})"
    return text if condition is None else f"{text} FILTER ({condition})"
