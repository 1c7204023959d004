"""Errors of expressions at run time, such as a division by zero or text that is not a number."""

from __future__ import annotations

from penstock.errors import ExpressionError


def division_by_zero() -> ExpressionError:
    """Returns the error of x / 0 and x % 0."""
    return ExpressionError(
        "DIVISION_BY_ZERO", "Division by zero. Guard the division, for example with NULLIF(divisor, 0) or CASE."
    )


def bad_value(text: object, what: str) -> ExpressionError:
    """Returns the error of a value that cannot be converted."""
    return ExpressionError("INVALID_CAST", f"{text!r} is not {what}. Use TRY_CAST to get NULL for such values.")


def bad_argument(function: str, problem: str) -> ExpressionError:
    """Returns the error of an argument that a function cannot take."""
    return ExpressionError("INVALID_ARGUMENT", f"{function}: {problem}")
