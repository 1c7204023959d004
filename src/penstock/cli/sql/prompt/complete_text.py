"""Whether the text at the prompt can be executed, or needs another line."""

from __future__ import annotations

import re

from penstock.table.dialect.script import after_comments, next_part
from penstock.table.dialect.tokens import QUOTED

_WITHOUT_SEMICOLON = re.compile(r"\s*(?:HELP|CLEAR|QUIT|EXIT)\s*;?\s*", re.IGNORECASE)
_SET_BEGINS = re.compile(r"\bSTATEMENT\s+SET\s+BEGIN\b", re.IGNORECASE)
_SET_ENDS = re.compile(r"\bEND\s*$", re.IGNORECASE)


def is_complete(text: str) -> bool:
    """Whether all statements of a text end with a semicolon that is not in quotes or comments.

    >>> [is_complete(text) for text in ("SELECT 1;", "SELECT 1", "SELECT ';", "quit", "SHOW TABLES; SELECT", "")]
    [True, False, False, True, False, True]
    """
    if _WITHOUT_SEMICOLON.fullmatch(text) or not text.strip():
        return True
    if any(found.lastgroup is not None and found.lastgroup.startswith("open") for found in QUOTED.finditer(text)):
        return False
    start = 0
    while (part := next_part(text, start)) is not None:
        if part.end >= len(text):
            return False
        words = QUOTED.sub(" ", text[part.start : part.end])
        if _SET_BEGINS.search(words) and not _SET_ENDS.search(words):
            return False
        start = part.end + 1
    return after_comments(text, 0, len(text)) < len(text) or text.rstrip().endswith(";")
