"""Parts that many statements have: names, options, partitions, IF EXISTS, queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import ObjectName, PartitionValue, SqlOption

_T = TypeVar("_T")


def object_name(p: FlinkParser, what: str = "a name") -> ObjectName:
    """Reads a name of one or more parts."""
    token = p.next_token()
    return ObjectName(tuple(part.name for part in p.identifiers(what)), token.line, token.col)


def simple_name(p: FlinkParser, what: str = "a name") -> ObjectName:
    """Reads a name of one part."""
    token = p.next_token()
    return ObjectName((p.identifier(what).name,), token.line, token.col)


def column_path(p: FlinkParser) -> tuple[str, ...]:
    """Reads the name of a column or of a nested field."""
    return tuple(part.name for part in p.identifiers("the name of a column"))


def column_names(p: FlinkParser) -> tuple[str, ...]:
    """Reads names of columns in parentheses."""
    return tuple(name.name for name in p.parenthesized(lambda: p.identifier("the name of a column")))


def if_exists(p: FlinkParser) -> bool:
    if not p.at_sequence("IF", "EXISTS"):
        return False
    return p.take("IF", "EXISTS")


def if_not_exists(p: FlinkParser) -> bool:
    return p.take("IF", "NOT", "EXISTS")


def comment(p: FlinkParser) -> str | None:
    """Reads COMMENT '...' if it is there."""
    return p.one_string() if p.take("COMMENT") else None


def options(p: FlinkParser) -> tuple[SqlOption, ...]:
    """Reads ('key' = 'value', ...)."""
    return _list_or_nothing(p, _option)


def option_keys(p: FlinkParser) -> tuple[str, ...]:
    """Reads ('key', ...)."""
    return _list_or_nothing(p, lambda parser: parser.string("a key in single quotes"))


def with_options(p: FlinkParser) -> tuple[SqlOption, ...]:
    """Reads WITH ('key' = 'value', ...) if it is there."""
    return options(p) if p.take("WITH") else ()


def partition(p: FlinkParser, values_required: bool = True) -> tuple[PartitionValue, ...]:
    """Reads (column = value, ...)."""
    return tuple(p.parenthesized(lambda: _partition_value(p, values_required)))


def query(p: FlinkParser) -> Query:
    """Reads a query, and keeps its text."""
    start = p.next_token().start
    if not p.at_query():
        p.fail("a query")
    tree = p.query()
    return Query(tree, p.text_from(start))


def _list_or_nothing(p: FlinkParser, item: Callable[[FlinkParser], _T]) -> tuple[_T, ...]:
    p.expect_symbol(TokenType.L_PAREN)
    items = () if p.at_symbol(TokenType.R_PAREN) else tuple(p.comma_list(lambda: item(p)))
    p.expect_symbol(TokenType.R_PAREN)
    return items


def _option(p: FlinkParser) -> SqlOption:
    token = p.next_token()
    key = p.string("a key in single quotes")
    p.expect_symbol(TokenType.EQ)
    return SqlOption(key, p.string("a value in single quotes"), token.line, token.col)


def _partition_value(p: FlinkParser, value_required: bool) -> PartitionValue:
    token = p.next_token()
    name = p.identifier("the name of a column").name
    value: exp.Expr | None = None
    if value_required or p.at_symbol(TokenType.EQ):
        p.expect_symbol(TokenType.EQ)
        value = p.literal()
    return PartitionValue(name, value, token.line, token.col)
