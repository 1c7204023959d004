"""Functions and other arguments that users pass, checked where they are passed."""

from __future__ import annotations

import inspect
from typing import Any

from penstock.errors import PlanError
from penstock.functions import Function
from penstock.runtime.failure import shortened


def check_function(method: str, found: Any, *kinds: type, or_callable: bool = False, hint: str = "") -> None:
    """Refuses what a method cannot call: neither of the kinds, nor (where one may stand) a plain function.

    >>> check_function("map", len, Function, or_callable=True)
    """
    if isinstance(found, kinds):
        return
    if isinstance(found, type) and issubclass(found, Function):
        hint = f"make one: {method}({found.__name__}(...))"
    elif or_callable and callable(found) and not isinstance(found, Function):
        return
    expected = " or ".join([*(f"a {kind.__name__}" for kind in kinds), *(["a plain function"] if or_callable else [])])
    raise PlanError(
        "FUNCTION_TYPE", f"{method}() got {_told(found)}; it takes {expected}{'; ' + hint if hint else ''}."
    )


def check_given(method: str, found: Any, kinds: type | tuple[type, ...], expected: str) -> None:
    """Refuses an argument that is of none of these kinds.

    >>> check_given("union", 1, str, "a text")
    Traceback (most recent call last):
        ...
    penstock.errors.PlanError: [ARGUMENT_TYPE] union() got a int: 1. It takes a text.
    """
    if not isinstance(found, kinds):
        value = "" if isinstance(found, type) else f": {shortened(found)}"
        raise PlanError("ARGUMENT_TYPE", f"{method}() got {_told(found)}{value}. It takes {expected}.")


def check_setting(method: str, found: Any, kind: type, example: str) -> None:
    """Refuses what is set on windows and is not of its kind.

    >>> check_setting("evictor", 3, int, "3")
    """
    if not isinstance(found, kind):
        raise PlanError(
            "WINDOW_SETTING", f"{method}() got {_told(found)}; it takes a {kind.__name__}, such as {example}."
        )


def _told(found: Any) -> str:
    return f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"


def check_arguments(method: str, found: Any, *names: str) -> None:
    """Refuses a plain function that cannot be called with so many arguments; says nothing of one that has no signature.

    >>> check_arguments("apply", lambda left, right: None, "left", "right")
    """
    if isinstance(found, Function):
        return
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise PlanError(
            "FUNCTION_ARGUMENTS",
            f"{method}() got {getattr(found, '__name__', type(found).__name__)}{signature}; it calls its function with "
            f"({', '.join(names)}).",
        ) from None
