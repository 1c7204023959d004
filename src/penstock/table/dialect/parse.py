"""The entry points of the parser."""

from __future__ import annotations

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
from penstock.table.dialect.script import after_comments, split_script
from penstock.table.dialect.statements.statement import Statement

_T = TypeVar("_T")


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
    for part in split_script(text):
        start = after_comments(text, part.start, part.end)
        line, _ = place(text, start)
        own_text = text[start : part.end].rstrip()
        try:
            found = _statement(text, part.start, part.end)
        except SqlParseError as error:
            yield ScriptStatement(own_text, line, error=error)
        else:
            yield ScriptStatement(own_text, line, found)


def _statement(text: str, start: int, end: int) -> Statement:
    return client_statement(text, start, end) or _parse(statement, text, start, end)


def _parse(read: Callable[[FlinkParser], _T], text: str, start: int = 0, end: int | None = None) -> _T:
    parser = FlinkParser(text, start, end)
    try:
        return read(parser)
    except SqlglotError:
        parser.fail("something else")
    except RecursionError:
        raise SqlParseError(
            "SQL_TOO_DEEP",
            "The statement is nested too deeply to be parsed. Write parts of it as views or in WITH clauses.",
        ) from None
