"""Checks of the arguments that users pass to streams."""

from __future__ import annotations

import inspect
from typing import Any

from penstock.datastream.streams.operator_settings import OperatorSettings
from penstock.errors import PlanError
from penstock.functions import Function
from penstock.runtime.failure import short_repr


def check_function(method: str, function: Any, *classes: type, or_callable: bool = False, hint: str = "") -> None:
    """Raises PlanError unless the function is an instance of one of the classes or, if allowed, a plain function.

    >>> check_function("map", len, Function, or_callable=True)
    """
    if isinstance(function, classes):
        return
    if isinstance(function, type) and issubclass(function, Function):
        hint = f"create an object: {method}({function.__name__}(...))"
    elif or_callable and callable(function) and not isinstance(function, Function):
        return
    expected = " or ".join([*(f"a {c.__name__}" for c in classes), *(["a plain function"] if or_callable else [])])
    raise PlanError(
        "FUNCTION_TYPE", f"{method}() got {_describe(function)}; it takes {expected}{'; ' + hint if hint else ''}."
    )


def check_argument(method: str, argument: Any, classes: type | tuple[type, ...], expected: str) -> None:
    """Raises PlanError unless the argument is an instance of one of the classes.

    >>> check_argument("union", 1, str, "a string")
    Traceback (most recent call last):
        ...
    penstock.errors.PlanError: [ARGUMENT_TYPE] union() got a int: 1. It takes a string.
    """
    if not isinstance(argument, classes):
        value = "" if isinstance(argument, type) else f": {short_repr(argument)}"
        raise PlanError("ARGUMENT_TYPE", f"{method}() got {_describe(argument)}{value}. It takes {expected}.")


def check_setting(method: str, setting: Any, expected: type, example: str) -> None:
    """Raises PlanError unless a setting of windows has the expected class.

    >>> check_setting("evictor", 3, int, "3")
    """
    if not isinstance(setting, expected):
        raise PlanError(
            "WINDOW_SETTING", f"{method}() got {_describe(setting)}; it takes a {expected.__name__}, such as {example}."
        )


def _describe(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def check_arguments(method: str, function: Any, *names: str) -> None:
    """Raises PlanError if a plain function cannot be called with this number of arguments.

    Functions without a signature are accepted.

    >>> check_arguments("apply", lambda left, right: None, "left", "right")
    """
    if isinstance(function, Function):
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise PlanError(
            "FUNCTION_ARGUMENTS",
            f"{method}() got {getattr(function, '__name__', type(function).__name__)}{signature}, but calls its function with "
            f"({', '.join(names)}).",
        ) from None


def check_same_environment(method: str, first: OperatorSettings, second: OperatorSettings) -> None:
    """Raises PlanError if two streams belong to different environments."""
    if first._env is not second._env:
        raise PlanError(
            "TWO_ENVIRONMENTS",
            f"{method}() got a stream of another environment. All streams of a job must be created by the same "
            "StreamExecutionEnvironment.",
        )
