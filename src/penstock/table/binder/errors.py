"""Errors of the binder: what is wrong, where, and the closest known name."""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.dialect.excerpt import excerpt
from penstock.table.dialect.position import Position, position


def refused(code: str, message: str, node: exp.Expr, text: str = "") -> SqlValidationError:
    """Returns an error at the place of a node, with an excerpt if the text of the statement is known.

    An expression of the Table API has no text, so that its error has no place.
    """
    if not text and not any("line" in part.meta for part in node.walk()):
        return SqlValidationError(code, message, *position(node))
    return refused_at(code, message, position(node), text)


def refused_at(code: str, message: str, place: Position, text: str = "") -> SqlValidationError:
    """Returns an error at a place of the text."""
    line, column = place
    shown = f"\n{excerpt(text, line, column)}" if text else ""
    return SqlValidationError(code, f"{message} (line {line}, column {column}){shown}", line, column)
