"""Where a node is in the text of its statement."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp


class Position(NamedTuple):
    """Line and column of the first character, both from 1."""

    line: int
    column: int


def position(node: exp.Expr) -> Position:
    """Returns where a node begins. A node that was not written itself, such as `a + b`, begins where its first part begins.

    >>> from penstock.table.dialect import parse_expression
    >>> position(parse_expression("1 +\\n  price").right)
    Position(line=2, column=3)
    """
    best: tuple[int, int] | None = None
    for part in node.walk():
        line = part.meta.get("line")
        if line is not None:
            found = (line, part.meta["col"])
            best = found if best is None or found < best else best
            if part is node and not isinstance(node, exp.Binary):
                break
    return Position(*(best or (1, 1)))


def extent(node: exp.Expr) -> tuple[int, int] | None:
    """Returns the offsets of the first character of a node and of the one behind its last, if they are known."""
    offsets = [(part.meta["start"], part.meta["end"]) for part in node.walk() if "start" in part.meta]
    return (min(start for start, _ in offsets), max(end for _, end in offsets) + 1) if offsets else None
