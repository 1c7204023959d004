"""Errors of the binder: what is wrong, where, and the closest known name."""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.dialect.excerpt import excerpt
from penstock.table.dialect.position import position


def refused(code: str, message: str, node: exp.Expr, text: str = "") -> SqlValidationError:
    """Returns an error at the place of a node, with an excerpt if the text of the statement is known."""
    line, column = position(node)
    shown = f"\n{excerpt(text, line, column)}" if text else ""
    return SqlValidationError(code, f"{message} (line {line}, column {column}){shown}", line, column)
