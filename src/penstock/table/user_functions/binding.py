"""Types calls of Python functions, and turns them into parts of a plan."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.runtime.relational.python_functions.function import PYTHON, AsyncLimits, PythonFunction
from penstock.table.binder.conversions import convert
from penstock.table.binder.queries.implicit_casts import is_assignable
from penstock.table.dialect import nodes
from penstock.table.user_functions.function import UserDefinedFunctionWrapper
from penstock.table.user_functions.scalar import ScalarFunctionWrapper
from penstock.types.logical.kinds import LogicalType, NullType
from penstock.types.logical.text import summary

Refuse = Callable[[str, str, exp.Expr], SqlValidationError]


def scalar_call(
    wrapper: UserDefinedFunctionWrapper,
    arguments: Sequence[Expression],
    limits: AsyncLimits,
    refuse: Refuse,
    node: exp.Expr,
) -> Call:
    """Returns the call of a scalar function."""
    if not isinstance(wrapper, ScalarFunctionWrapper):
        how = {
            "table": "Join it: FROM t, LATERAL TABLE(f(...)).",
            "aggregate": "Use it in SELECT or HAVING of a query with GROUP BY, or with OVER.",
            "table aggregate": "Use Table.flat_aggregate.",
            "process table": "Call it in FROM: FROM f(input => TABLE t PARTITION BY k).",
        }[wrapper.kind]
        raise refuse(
            "SQL_FUNCTION", f"'{called(wrapper, node)}' is a {wrapper.kind} function, and not allowed here. {how}", node
        )
    converted = checked_arguments(wrapper, arguments, refuse, node)
    function = python_function(wrapper, arguments, node, limits)
    return Call(PYTHON, converted, wrapper.result_type, (function,))


def called(wrapper: UserDefinedFunctionWrapper, node: exp.Expr) -> str:
    """Returns the name of a function for people: that of the call, if a lambda or an object has none."""
    return node.name if isinstance(node, nodes.Call) else wrapper.name


def python_function(
    wrapper: UserDefinedFunctionWrapper,
    arguments: Sequence[Expression],
    node: exp.Expr,
    limits: AsyncLimits | None = None,
) -> PythonFunction:
    """Returns what a plan knows of a function. A function that gets whole rows gets them with the names of the columns."""
    style = wrapper.func_type
    return PythonFunction(
        label=called(wrapper, node).lower() if wrapper.name == "<lambda>" else wrapper.name,
        payload=wrapper.payload(),
        style=style,  # type: ignore[arg-type]
        deterministic=wrapper.deterministic,
        row_names=row_names(wrapper, arguments),
        limits=limits if style == "async" else None,
        path=(*(node.args.get("path") or ()), node.name.lower()) if isinstance(node, nodes.Call) else (),
    )


def row_names(wrapper: UserDefinedFunctionWrapper, arguments: Sequence[Expression]) -> tuple[str, ...] | None:
    """Returns the names of the fields of the row that a function takes instead of its arguments, or None."""
    if not wrapper.takes_row_as_input:
        return None
    return tuple(a.name if isinstance(a, Column) and a.name else f"f{i}" for i, a in enumerate(arguments))


def checked_arguments(
    wrapper: UserDefinedFunctionWrapper,
    arguments: Sequence[Expression],
    refuse: Refuse,
    node: exp.Expr,
) -> tuple[Expression, ...]:
    """Checks number and types of arguments, and converts them to the declared types where that is always possible."""
    wanted = wrapper.input_types
    if wanted is None:
        _check_number(wrapper, 1 if wrapper.takes_row_as_input else len(arguments), refuse, node)
        return tuple(arguments)
    if wrapper.takes_row_as_input:
        return tuple(arguments)
    if len(wanted) != len(arguments):
        expected = f"takes {len(wanted)} argument{'' if len(wanted) == 1 else 's'} ({_types(wanted)})"
        raise refuse(
            "SQL_FUNCTION",
            f"The function '{called(wrapper, node)}' {expected}, and is called with {len(arguments)}.",
            node,
        )
    return tuple(_converted(wrapper, a, t, refuse, node) for a, t in zip(arguments, wanted, strict=True))


def _types(types: Sequence[LogicalType]) -> str:
    return ", ".join(summary(t) for t in types)


def _converted(
    wrapper: UserDefinedFunctionWrapper, argument: Expression, wanted: LogicalType, refuse: Refuse, node: exp.Expr
) -> Expression:
    found = argument.type
    if isinstance(found, NullType):
        return convert(argument, wanted.with_nullable(True))
    if found.with_nullable(True) == wanted.with_nullable(True):
        return argument
    if not is_assignable(found, wanted):
        raise refuse(
            "SQL_TYPE",
            f"The function '{called(wrapper, node)}' takes ({_types(wrapper.input_types or ())}), and {summary(found)} is not "
            f"converted to {summary(wanted)} automatically. Write CAST(... AS {summary(wanted)}).",
            node,
        )
    return convert(argument, wanted.with_nullable(found.nullable))


def _check_number(wrapper: UserDefinedFunctionWrapper, count: int, refuse: Refuse, node: exp.Expr) -> None:
    """A wrong number of arguments is an error of the query, if its parameters are known."""
    if (found := signature_mismatch(getattr(wrapper.func, "eval", wrapper.func), count)) is not None:
        signature, reason = found
        raise refuse(
            "SQL_FUNCTION",
            f"The function '{called(wrapper, node)}' has the parameters {signature}, and is called with {count} "
            f"argument{'' if count == 1 else 's'}: {reason}.",
            node,
        )


def signature_mismatch(method: Any, count: int) -> tuple[inspect.Signature, str] | None:
    """Returns the parameters of a method that cannot be called with a number of arguments, and why; None if it can be.

    >>> signature_mismatch(lambda a, b: a, 1)
    (<Signature (a, b)>, "missing a required argument: 'b'")
    """
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # not known
        return None
    try:
        signature.bind(*range(count))
    except TypeError as error:
        return signature, str(error)
    return None
