"""The refusal of a function of the wrong kind."""

from __future__ import annotations

from typing import Any

from penstock.errors import PlanError


def wrong_function(method: str, found: Any, expected: str, hint: str) -> PlanError:
    tail = f"; {hint}" if hint else ""
    return PlanError("FUNCTION_TYPE", f"{method}() got a {type(found).__name__}; it takes {expected}{tail}.")
