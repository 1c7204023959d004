"""Flink's SQL, parsed. Statements become frozen classes; expressions and queries become trees of sqlglot's nodes.

    parse_statement("CREATE TABLE t (...) WITH (...)")   -> a class of `penstock.table.dialect.statements`
    parse_script("...; ...;")                            -> one `ScriptStatement` per statement, with a statement or an error
    parse_query("SELECT ...")                            -> a node such as sqlglot's `Select` or `Union`
    parse_expression("a + 1")                            -> a node such as sqlglot's `Add`
    position(node)                                       -> line and column of a node

Errors are `penstock.errors.SqlParseError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.table.dialect.build import check_build

if TYPE_CHECKING:
    from sqlglot import exp

    from penstock.table.dialect.statements.statement import Statement

check_build()

from penstock.table.dialect import parse as _parse  # noqa: E402 - the check comes first
from penstock.table.dialect.parse import ScriptStatement  # noqa: E402
from penstock.table.dialect.position import Position, position  # noqa: E402

__all__ = [
    "Position",
    "ScriptStatement",
    "parse_expression",
    "parse_query",
    "parse_script",
    "parse_statement",
    "position",
]


def parse_expression(text: str) -> exp.Expr:
    """Parses an expression.

    >>> parse_expression("price * 2").sql()
    'price * 2'
    """
    return _parse.expression(text)


def parse_query(text: str) -> exp.Expr:
    """Parses a query."""
    return _parse.query(text)


def parse_statement(text: str) -> Statement:
    """Parses one statement, which may end with a semicolon.

    >>> parse_statement("SHOW TABLES").statement_kind()
    'ShowTables'
    """
    return _parse.one_statement(text)


def parse_script(text: str) -> list[ScriptStatement]:
    """Parses statements that end with semicolons. An error in one of them does not stop the others."""
    return list(_parse.script(text))
