"""Splits a script into statements at the semicolons outside of texts, names and comments."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.table.dialect.tokens import QUOTED

_SEMICOLON = re.compile(rf"{QUOTED.pattern}|(?P<end>;)", re.DOTALL)
_LINE_END = re.compile(r";[ \t\r]*(?:\n|$)")
_STATEMENT_SET = re.compile(r"\bSTATEMENT\s+SET\s+BEGIN\b", re.IGNORECASE)
_SET_CONTINUES = re.compile(r"(?P<end>END\b)|INSERT\b|UPSERT\b", re.IGNORECASE)
_COMMENTS = re.compile(r"(?:\s+|(?:--|//)[^\n]*(?:\n|$)|/\*(?!\+).*?\*/)*", re.DOTALL)


class Part(NamedTuple):
    """Where a statement is in the script, without its semicolon."""

    start: int
    end: int


def next_part(text: str, start: int) -> Part | None:
    """Returns the next statement from an offset on. Parts that have only comments and blanks are left out.

    A statement with an unfinished quote ends at the next line that ends with a semicolon, so that the next statement is found.
    """
    while start < len(text):
        end = _end_of_statement(text, start)
        begin = after_comments(text, start, end)
        if begin < end:
            return Part(begin, end)
        start = end + 1
    return None


def cut_in_quotes(text: str, part: Part) -> Part:
    """Returns the part up to the first line that ends with a semicolon inside of a text or a comment.

    If a statement has an error, the reason may be a missing quote, and then the quote of a later statement was taken for it.
    """
    for found in QUOTED.finditer(text, part.start, part.end):
        if found.lastgroup in ("text", "comment") and (line_end := _LINE_END.search(text, found.start(), found.end())):
            return Part(part.start, line_end.start())
    return part


def after_comments(text: str, start: int, end: int) -> int:
    """Returns the offset of the first character that is neither a blank nor part of a comment."""
    found = _COMMENTS.match(text, start, end)
    return found.end() if found else start


def _end_of_statement(text: str, start: int) -> int:
    end = _next_semicolon(text, start)
    while end < len(text) and _STATEMENT_SET.search(_without_quotes(text, start, end)):
        # The semicolons between BEGIN and END belong to the statement, and END is its last word.
        more = _SET_CONTINUES.match(text, after_comments(text, end + 1, len(text)))
        if more is None:
            return end
        end = _next_semicolon(text, more.start())
        if more.group("end"):
            return end
    return end


def _next_semicolon(text: str, start: int) -> int:
    for found in _SEMICOLON.finditer(text, start):
        if found.lastgroup == "end":
            return found.start()
        if found.lastgroup is not None and found.lastgroup.startswith("open"):
            line_end = _LINE_END.search(text, found.start())
            return line_end.start() if line_end else len(text)
    return len(text)


def _without_quotes(text: str, start: int, end: int) -> str:
    return QUOTED.sub(" ", text[start:end])
