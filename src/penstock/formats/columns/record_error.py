"""The error of a record that does not fit the columns of its table."""

from __future__ import annotations

from typing import Any

from penstock.errors import ElementError, UnsupportedOperation
from penstock.types.logical.kinds import LogicalType

_SHOWN = 80  # characters of a value


def misfit(column: str, expected: LogicalType | str, found: Any) -> ElementError:
    """Returns the error for a value that cannot become a value of its column.

    >>> from penstock.types.logical.kinds import INT
    >>> print(misfit("price", INT, "many"))
    [RECORD_FIELD] Column 'price' has the type INT, but the record contains 'many'.
    """
    return ElementError(
        "RECORD_FIELD", f"Column '{column}' has the type {expected}, but the record contains {shown(found)}."
    )


def no_such_type(format_name: str, type_: LogicalType, reason: str = "") -> UnsupportedOperation:
    """Returns the error for a column whose type a format does not have."""
    more = f": {reason}" if reason else ""
    return UnsupportedOperation("TABLE_FORMAT", f"The format '{format_name}' does not have the type {type_}{more}.")


def unreadable(format_name: str, reason: object) -> ElementError:
    """Returns the error for a record that is not in the format at all."""
    return ElementError("RECORD_FORMAT", f"The record is not {format_name}: {reason}")


def shown(value: Any) -> str:
    """Returns a value as text, cut to a length that fits into a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
