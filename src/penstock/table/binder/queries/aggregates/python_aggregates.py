"""Calls of aggregate functions that users write in Python."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Expression
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.lookup import TableLookup
from penstock.table.binder.user_calls import user_function
from penstock.table.dialect import nodes
from penstock.table.user_functions.aggregate_function import (
    PandasAggregateFunction,
    UserDefinedAggregateFunctionWrapper,
)


def find_python_aggregates(query: exp.Expr, lookup: TableLookup) -> None:
    """Notes at each call of a query which aggregate function of the user it means, because GROUP BY must know it first.

    A query may be bound again when its functions have changed, so what an earlier call noted is replaced.
    """
    for node in query.find_all(nodes.Call):
        found = user_function(lookup, node)
        node.args["python"] = found if isinstance(found, UserDefinedAggregateFunctionWrapper) else None


def python_aggregate(node: exp.Expr) -> UserDefinedAggregateFunctionWrapper | None:
    """Returns the aggregate function of the user that a node calls, or None."""
    if isinstance(node, nodes.PythonCall):
        found = node.this
    else:
        found = node.args.get("python") if isinstance(node, nodes.Call) else None
    is_aggregate = isinstance(found, UserDefinedAggregateFunctionWrapper) and found.kind == "aggregate"
    return found if is_aggregate else None


def python_arguments(
    context: Context, function: UserDefinedAggregateFunctionWrapper, arguments: Sequence[Expression], node: exp.Expr
) -> Sequence[Expression]:
    """Returns the arguments of a call with the input types that the function declares."""
    from penstock.table.user_functions.binding import checked_arguments  # few queries need it

    if function.takes_row_as_input:
        return arguments
    if function.input_types is None:
        _check_number(context, function, len(arguments), node)
    return checked_arguments(function, arguments, context.refuse, node)


def _check_number(context: Context, function: UserDefinedAggregateFunctionWrapper, count: int, node: exp.Expr) -> None:
    """A wrong number of arguments is an error of the query, if the parameters of `accumulate` are known."""
    from penstock.table.user_functions.binding import signature_mismatch  # few queries need it

    plain = isinstance(function.func, PandasAggregateFunction)
    method = function.func.function if plain else function.func.accumulate
    if (found := signature_mismatch(method, count if plain else count + 1)) is not None:
        signature, reason = found
        raise context.refuse(
            "SQL_FUNCTION",
            f"The aggregate function '{function.name}' is called with {count} argument{'' if count == 1 else 's'}, which does not "
            f"fit {getattr(method, '__name__', 'the parameters')}{signature}: {reason}.",
            node,
        )
