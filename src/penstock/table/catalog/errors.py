"""Errors of statements about the catalog."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import SqlValidationError
from penstock.table.dialect.excerpt import excerpt
from penstock.table.functions.catalogue import closest

DAMAGED = "SQL_CATALOG_FILE"
"""The code of the error for a file of a catalog that cannot be read."""


def refusal(code: str, message: str, line: int = 0, column: int = 0) -> SqlValidationError:
    """Returns an error. Line 0 is an unknown place: `located` fills in the place of the statement's object."""
    return SqlValidationError(code, message, line, column)


def located(error: SqlValidationError, text: str, line: int = 1, column: int = 1) -> SqlValidationError:
    """Returns an error with its place and an excerpt of the statement. The place of the error itself comes first.

    >>> print(located(refusal("SQL_TABLE", "There is no table 'b'."), "DROP TABLE b", 1, 12))
    [SQL_TABLE] There is no table 'b'. (line 1, column 12)
      DROP TABLE b
                 ^
    """
    if "(line " in error.text:
        return error
    line, column = (error.line, error.column) if error.line else (line, column)
    message = f"{error.text} (line {line}, column {column})\n{excerpt(text, line, column)}"
    return SqlValidationError(error.code, message, line, column)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns a sentence with the closest known name, or nothing.

    >>> did_you_mean("oders", ["orders", "rates"])
    " Did you mean 'orders'?"
    """
    near = closest(name, list(known))
    return f" Did you mean '{near}'?" if near else ""
