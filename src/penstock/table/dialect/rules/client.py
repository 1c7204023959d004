"""Statements of Flink's SQL client that are not SQL: HELP, CLEAR, QUIT, and SET and RESET with keys that are not quoted."""

from __future__ import annotations

import re

from penstock.table.dialect.excerpt import place
from penstock.table.dialect.script import after_comments
from penstock.table.dialect.statements.session import ClientCommand, ResetOption, SetOption
from penstock.table.dialect.statements.statement import Statement

_KEY = r"[A-Za-z_$][\w$.:-]*"
_SET = re.compile(rf"SET\s+(?P<key>{_KEY})\s*=\s*(?:'(?P<quoted>[^']*)'|(?P<value>[^;\s']+))\s*;?\s*", re.IGNORECASE)
_RESET = re.compile(rf"RESET\s+(?P<key>{_KEY})\s*;?\s*", re.IGNORECASE)
_COMMAND = re.compile(r"(?P<word>HELP|CLEAR|QUIT|EXIT)\s*;?\s*", re.IGNORECASE)


def client_statement(text: str, start: int, end: int) -> Statement | None:
    """Returns the statement in a part of the text, or None if it has to be parsed as SQL."""
    begin = after_comments(text, start, end)
    if found := _SET.fullmatch(text, begin, end):
        quoted = found.group("quoted")
        return SetOption(found.group("key"), found.group("value") if quoted is None else quoted, *_place(text, found))
    if found := _RESET.fullmatch(text, begin, end):
        return ResetOption(found.group("key"), *_place(text, found))
    if found := _COMMAND.fullmatch(text, begin, end):
        return ClientCommand(found.group("word").upper())
    return None


def _place(text: str, found: re.Match[str]) -> tuple[int, int]:
    return place(text, found.start("key"))
