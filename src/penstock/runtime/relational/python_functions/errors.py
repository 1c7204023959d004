"""Errors of Python functions: the function, its arguments, and the line that raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import FailedCall, PenstockError, UserFunctionError
from penstock.runtime.failure import definition_location, function_error, short_repr
from penstock.types.logical.kinds import LogicalType

if TYPE_CHECKING:
    from penstock.runtime.relational.python_functions.scope import LoadedFunction


def call_failed(loaded: LoadedFunction, error: Exception, arguments: object, method: str = "") -> PenstockError:
    """Returns the error of a call that raised. `arguments` are None if the call has none; `method` is not the usual one."""
    scope, label = loaded.scope, loaded.function.label
    element = None if arguments is None else arguments
    known: dict[str, Any] = {"name": scope.name, "uid": scope.uid}
    found = function_error(
        error, function=loaded.call, element=None if element is None else short_repr(element), **known
    )
    failed = found.failed
    if isinstance(error, PenstockError) or failed is None:
        return found
    where = f", at {failed.location}" if failed.location else ""
    if failed.function and failed.location:
        where += f" in {failed.function}"
    given = "" if arguments is None else f", called with {short_repr(arguments)}"
    what = f"{method} of the function" if method else "The function"
    return _with_call(
        UserFunctionError(
            "PYTHON_FUNCTION_FAILED",
            f"{what} '{label}' raised {failed.error}: {failed.message}{where}{given} (operator '{scope.name}'). The batch was "
            "not committed. Fix the function, or return None for such arguments, and resume the job.",
        ),
        failed,
    )


def wrong_result(loaded: LoadedFunction, problem: str, type_: LogicalType | None, arguments: object) -> PenstockError:
    """Returns the error of a result that does not have its declared type."""
    scope = loaded.scope
    location = definition_location(loaded.target if loaded.call is loaded.target else type(loaded.target))
    given = "" if arguments is None else f", called with {short_repr(arguments)}"
    declared = "" if type_ is None else f" Its result type is declared as {type_}."
    failed = FailedCall(
        name=scope.name, uid=scope.uid, error="wrong result", message=problem, location=location, function=""
    )
    at = f" ({location})" if location else ""
    return _with_call(
        UserFunctionError(
            "PYTHON_FUNCTION_RESULT",
            f"The function '{loaded.function.label}'{at}{given}, {problem} (operator '{scope.name}').{declared} Return a value of "
            "that type, or declare another type.",
        ),
        failed,
    )


def _with_call(error: UserFunctionError, failed: FailedCall) -> UserFunctionError:
    error.failed = failed
    if failed.stack:
        error.add_note(failed.stack)
    return error
