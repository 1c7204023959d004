"""Splits a script into statements at the semicolons outside of texts, names and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from penstock.table.dialect.tokens import QUOTED

_SEMICOLON = re.compile(rf"{QUOTED.pattern}|(?P<end>;)", re.DOTALL)
_LINE_END = re.compile(r";[ \t\r]*(?:\n|$)")
_STATEMENT_SET = re.compile(r"\bSTATEMENT\s+SET\s+BEGIN\b", re.IGNORECASE)
_SET_END = re.compile(r"\s*END\b", re.IGNORECASE)


_COMMENTS = re.compile(r"(?:\s+|(?:--|//)[^\n]*(?:\n|$)|/\*(?!\+).*?\*/)*", re.DOTALL)


class Part(NamedTuple):
    """Where a statement is in the script, without its semicolon."""

    start: int
    end: int


def split_script(text: str) -> Iterator[Part]:
    """Yields the statements of a script. Parts that have only comments and blanks are left out.

    A statement with an unfinished quote ends at the next line that ends with a semicolon, so that the next statement is found.
    """
    start = 0
    while start < len(text):
        end = _end_of_statement(text, start)
        if _has_words(text, start, end):
            yield Part(start, end)
        start = end + 1


def after_comments(text: str, start: int, end: int) -> int:
    """Returns the offset of the first character that is neither a blank nor part of a comment."""
    found = _COMMENTS.match(text, start, end)
    return found.end() if found else start


def _end_of_statement(text: str, start: int) -> int:
    position = start
    while True:
        end = _next_semicolon(text, start, position)
        if end >= len(text) or not _STATEMENT_SET.search(_without_quotes(text, start, end)):
            return end
        # The semicolons between BEGIN and END belong to the statement, and END is its last word.
        after = _SET_END.match(_without_quotes(text, end + 1, len(text)))
        if after is not None:
            return _next_semicolon(text, start, end + 1)
        position = end + 1


def _next_semicolon(text: str, start: int, position: int) -> int:
    for found in _SEMICOLON.finditer(text, position):
        if found.lastgroup == "end":
            return found.start()
        if found.lastgroup is not None and found.lastgroup.startswith("open"):
            line_end = _LINE_END.search(text, found.start())
            return line_end.start() if line_end else len(text)
    return len(text)


def _has_words(text: str, start: int, end: int) -> bool:
    return bool(_without_quotes(text, start, end, keep_quoted=True).strip())


def _without_quotes(text: str, start: int, end: int, keep_quoted: bool = False) -> str:
    """Returns a part of the text without comments and, unless they are kept, without texts and quoted names."""

    def replacement(found: re.Match[str]) -> str:
        if found.lastgroup in ("line", "comment"):
            return " "
        return found.group() if keep_quoted else " "

    return QUOTED.sub(replacement, text[start:end])
