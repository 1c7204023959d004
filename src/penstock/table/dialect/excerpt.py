"""The line of a statement that contains an error, with a caret below the place."""

from __future__ import annotations

import re

from penstock.redaction import is_secret

_WIDTH = 100
_OPTION = re.compile(r"'(?P<key>[^']*)'(?P<between>\s*=\s*')(?P<value>[^']*)")


def place(text: str, offset: int) -> tuple[int, int]:
    """Returns line and column, both from 1, of an offset.

    >>> place("SELECT\\n  a", 9)
    (2, 3)
    """
    before = text[: max(offset, 0)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def excerpt(text: str, line: int, column: int) -> str:
    """Returns a line of the text and, below it, a caret at the column. Long lines are cut around the column.

    >>> print(excerpt("SELECT a,, b", 1, 10))
      SELECT a,, b
               ^
    """
    lines = text.split("\n")
    shown = _OPTION.sub(_masked, lines[line - 1].rstrip("\r")) if 0 < line <= len(lines) else ""
    column = min(max(column, 1), len(shown) + 1)
    first = 0
    if len(shown) > _WIDTH:
        first = max(0, min(column - 1 - _WIDTH // 2, len(shown) - _WIDTH))
        shown = shown[first : first + _WIDTH]
    # Tabs are kept before the caret, so that it stays below the character whatever the width of a tab is.
    margin = "".join("\t" if character == "\t" else " " for character in shown[: column - 1 - first])
    return f"  {shown}\n  {margin}^"


def _masked(option: re.Match[str]) -> str:
    """Hides the value of a password and the like. The length stays, so that the caret is below its character."""
    value = "*" * len(option["value"]) if is_secret(option["key"]) else option["value"]
    return f"'{option['key']}'{option['between']}{value}"
