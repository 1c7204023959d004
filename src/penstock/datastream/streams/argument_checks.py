"""Checks of the arguments that users pass to streams."""

from __future__ import annotations

import dis
import inspect
from types import CodeType
from typing import Any

from penstock.datastream.streams.operator_settings import OperatorSettings
from penstock.errors import PlanError, warn_ignored
from penstock.functions import Function, OutputTag
from penstock.runtime.failure import short_repr


def check_function(method: str, function: Any, *classes: type, or_callable: bool = False, hint: str = "") -> None:
    """Raises PlanError unless the function is an instance of one of the classes or, if allowed, a plain function.

    >>> check_function("map", len, Function, or_callable=True)
    """
    if isinstance(function, classes):
        warn_lost_results(function)
        return
    if isinstance(function, type) and issubclass(function, Function):
        hint = f"create an object: {method}({function.__name__}(...))"
    elif or_callable and callable(function) and not isinstance(function, Function):
        warn_lost_results(function)
        return
    expected = " or ".join([*(f"a {c.__name__}" for c in classes), *(["a plain function"] if or_callable else [])])
    raise PlanError(
        "FUNCTION_TYPE", f"{method}() got {_describe(function)}; it takes {expected}{'; ' + hint if hint else ''}."
    )


def warn_lost_results(function: Any) -> None:
    """Warns if a generator function also returns a value, which nobody would get."""
    methods = [getattr(type(function), name) for name in dir(type(function)) if not name.startswith("_")]
    for candidate in methods if isinstance(function, Function) else [function]:
        code = getattr(inspect.unwrap(candidate) if callable(candidate) else None, "__code__", None)
        if code is not None and code.co_flags & inspect.CO_GENERATOR and (line := _line_of_lost_value(code)):
            warn_ignored(
                f"{code.co_name}() in {code.co_filename}:{line} is a generator function, so the value that it returns there is "
                "not emitted. Use yield, followed by return if the function ends there."
            )


def _line_of_lost_value(code: CodeType) -> int:
    """The line of a `return` with a value, or 0 if there is none."""
    before = ("", None)
    for instruction in dis.get_instructions(code):
        name, value, positions = instruction.opname, instruction.argval, instruction.positions
        if (name == "RETURN_VALUE" and before != ("LOAD_CONST", None)) or (
            name == "RETURN_CONST" and value is not None
        ):
            return code.co_firstlineno if positions is None or positions.lineno is None else positions.lineno
        before = (name, value)
    return 0


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


def warn_late_settings(subject: str, lateness: int, late_tag: OutputTag[Any] | None) -> None:
    """Warns if an operator without event time has settings for late elements."""
    names = ["allowed_lateness"] * bool(lateness) + ["side_output_late_data"] * (late_tag is not None)
    if names:
        warn_ignored(f"{subject} does not use event time, so no element is late. {' and '.join(names)} has no effect.")


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
