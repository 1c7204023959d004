"""The entry points of the parser."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.errors import SqlParseError
from penstock.table.dialect.excerpt import place
from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.rules.client import client_statement
from penstock.table.dialect.rules.statement import statement
from penstock.table.dialect.script import Part, cut_in_quotes, next_part
from penstock.table.dialect.statements.statement import Statement

_T = TypeVar("_T")

# A level of parentheses takes about 20 calls. Generated SQL has more of them than Python's limit of 1000 calls allows.
_RECURSION_LIMIT = 6_000


class ScriptStatement(msgspec.Struct, frozen=True):
    """A statement of a script: parsed, or the error. `line` is where it begins."""

    text: str
    line: int
    statement: Statement | None = None
    error: SqlParseError | None = None


def expression(text: str) -> exp.Expr:
    def read(parser: FlinkParser) -> exp.Expr:
        found = parser.read_expression()
        parser.end_of_statement()
        return found

    return _parse(read, text)


def query(text: str) -> exp.Expr:
    def read(parser: FlinkParser) -> exp.Expr:
        found = parser.query()
        parser.end_of_statement()
        return found

    return _parse(read, text)


def one_statement(text: str) -> Statement:
    return _statement(text, 0, len(text))


def script(text: str) -> Iterator[ScriptStatement]:
    start = 0
    while (part := next_part(text, start)) is not None:
        found = _script_statement(text, part)
        if found.error is not None and (shorter := cut_in_quotes(text, part)) != part:
            part = shorter
            found = _script_statement(text, part)
        yield found
        start = part.end + 1


def _script_statement(text: str, part: Part) -> ScriptStatement:
    line, _ = place(text, part.start)
    own_text = text[part.start : part.end].rstrip()
    try:
        return ScriptStatement(own_text, line, _statement(text, part.start, part.end))
    except SqlParseError as error:
        return ScriptStatement(own_text, line, error=error)


def _statement(text: str, start: int, end: int) -> Statement:
    return client_statement(text, start, end) or _parse(statement, text, start, end)


def _parse(read: Callable[[FlinkParser], _T], text: str, start: int = 0, end: int | None = None) -> _T:
    parser = FlinkParser(text, start, end)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        return read(parser)
    except SqlglotError:
        parser.fail("something else")
    except RecursionError:
        raise SqlParseError(
            "SQL_TOO_DEEP",
            "The statement is nested too deeply to be parsed. Write parts of it as views or in WITH clauses.",
        ) from None
    finally:
        sys.setrecursionlimit(limit)
