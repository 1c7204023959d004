"""Finds and binds calls of functions of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.runtime.relational.expressions.tree import Expression
from penstock.runtime.relational.functions.definition import Function
from penstock.runtime.relational.python_functions.function import AsyncLimits
from penstock.table.dialect import nodes
from penstock.table.dialect.position import position
from penstock.table.functions.catalogue import closest, function_names

if TYPE_CHECKING:
    from penstock.table.binder.expressions import ExpressionBinder


class FunctionLookup(Protocol):
    """Finds functions of the user."""

    def find_function(self, name: str, path: tuple[str, ...] = (), in_from: bool = False) -> Any:
        """Returns a function that is called by a name, or None if there is none, or a built-in function comes before it.

        in_from: the call is a table in FROM, so that a built-in scalar function cannot be meant.
        """

    def function_names(self) -> list[str]:
        """Returns the names of functions that a query can use, for suggestions."""

    def async_limits(self) -> AsyncLimits:
        """Returns the limits of asynchronous functions."""


def user_function(functions: FunctionLookup | None, node: exp.Expr, in_from: bool = False) -> Any:
    """Returns the function of the user that a call means, or None."""
    if isinstance(node, nodes.PythonCall):
        return node.this
    if functions is None or not isinstance(node, nodes.Call):
        return None
    path = tuple(node.args.get("path") or ())
    try:
        return functions.find_function(node.name, path, in_from)
    except SqlValidationError as error:  # such as a module that does not exist
        if error.line:
            raise
        raise SqlValidationError(error.code, error.text, *position(node)) from error


def bind_user_call(binder: ExpressionBinder, found: Any, node: exp.Expr) -> Expression:
    """Binds a call of a scalar function of the user."""
    for argument in node.expressions:
        if isinstance(argument, exp.Star | nodes.NamedArgument | nodes.TableArgument | nodes.Descriptor):
            raise binder.refuse("SQL_UNSUPPORTED", "A scalar function does not take such an argument.", argument)
    arguments = binder.bind_all(node.expressions)
    if isinstance(found, Function):
        return binder.typed(found, node.name, arguments, node)
    from penstock.table.user_functions.binding import scalar_call  # few queries need it

    limits = AsyncLimits() if binder.functions is None else binder.functions.async_limits()
    return scalar_call(found, arguments, limits, binder.refuse, node)


def unknown_function(binder: ExpressionBinder, node: exp.Expr) -> SqlValidationError:
    """Returns the error of a call of a function that does not exist."""
    name = ".".join((*(node.args.get("path") or ()), node.name))
    known = [] if binder.functions is None else binder.functions.function_names()
    near = closest(name, [*known, *function_names()])
    hint = f" Did you mean {near}?" if near else " SHOW FUNCTIONS lists all functions."
    return binder.refuse("SQL_FUNCTION", f"There is no function {name}.{hint}", node)
