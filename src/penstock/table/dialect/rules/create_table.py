"""CREATE TABLE, REPLACE TABLE and CREATE MATERIALIZED TABLE."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.rules.columns import distribution, table_schema
from penstock.table.dialect.rules.parts import column_names, comment, if_not_exists, object_name, options, query
from penstock.table.dialect.statements.create_table import (
    CreateMaterializedTable,
    CreateTable,
    CreateTableAs,
    CreateTableLike,
    LikeOption,
    ReplaceTableAs,
    StartMode,
)
from penstock.table.dialect.statements.statement import Statement

_STRATEGIES = ("INCLUDING", "EXCLUDING", "OVERWRITING")
_FEATURES = (
    "ALL",
    "CONSTRAINTS",
    "DISTRIBUTION",
    "GENERATED",
    "METADATA",
    "OPTIONS",
    "PARTITIONS",
    "WATERMARKS",
)
_START_MODES = (
    "FROM_BEGINNING",
    "FROM_NOW",
    "FROM_TIMESTAMP",
    "RESUME_OR_FROM_BEGINNING",
    "RESUME_OR_FROM_NOW",
    "RESUME_OR_FROM_TIMESTAMP",
)


def create_table(p: FlinkParser, replace: bool, temporary: bool) -> Statement:
    p.expect("TABLE")
    parts: dict[str, Any] = {"temporary": temporary, "if_not_exists": if_not_exists(p)}
    _definition(p, parts)
    if p.take("AS"):
        if replace:
            return ReplaceTableAs(**parts, query=query(p), create=True)
        return CreateTableAs(**parts, query=query(p))
    schema = parts.get("schema")
    if schema is not None and schema.identifiers:  # names without types need a query that has the types
        p.fail("AS and a query, because the columns have no types")
    if p.take("LIKE"):
        source = object_name(p, "the name of a table")
        return CreateTableLike(**parts, source=source, like_options=_like_options(p))
    return CreateTable(**parts)


def replace_table(p: FlinkParser, temporary: bool) -> Statement:
    p.expect("TABLE")
    parts: dict[str, Any] = {"temporary": temporary, "if_not_exists": if_not_exists(p)}
    _definition(p, parts)
    p.expect("AS")
    return ReplaceTableAs(**parts, query=query(p))


def create_materialized_table(p: FlinkParser, or_alter: bool) -> Statement:
    p.expect("MATERIALIZED", "TABLE")
    parts: dict[str, Any] = {"or_alter": or_alter}
    _definition(p, parts)
    if p.take("START_MODE"):
        p.expect_symbol(TokenType.EQ)
        parts["start_mode"] = _start_mode(p)
    if p.take("FRESHNESS"):
        p.expect_symbol(TokenType.EQ)
        parts["freshness"] = p.interval_literal()
    if p.take("REFRESH_MODE"):
        p.expect_symbol(TokenType.EQ)
        parts["refresh_mode"] = p.expect_one("FULL", "CONTINUOUS")
    p.expect("AS")
    return CreateMaterializedTable(**parts, query=query(p))


def _definition(p: FlinkParser, parts: dict[str, Any]) -> None:
    """Reads what all variants have: name, columns, comment, distribution, partitions and options."""
    parts["name"] = object_name(p, "the name of a table")
    if p.at_symbol(TokenType.L_PAREN):
        parts["schema"] = table_schema(p)
    parts["comment"] = comment(p)
    if p.take("DISTRIBUTED"):
        parts["distribution"] = distribution(p)
    if p.take("PARTITIONED"):
        p.expect("BY")
        parts["partitioned_by"] = column_names(p)
    if p.take("WITH"):
        parts["options"] = options(p)


def _like_options(p: FlinkParser) -> tuple[LikeOption, ...]:
    if not p.take_symbol(TokenType.L_PAREN):
        return ()
    found = [_like_option(p)]
    while not p.take_symbol(TokenType.R_PAREN):
        found.append(_like_option(p))
    return tuple(found)


def _like_option(p: FlinkParser) -> LikeOption:
    return LikeOption(p.expect_one(*_STRATEGIES), p.expect_one(*_FEATURES))


def _start_mode(p: FlinkParser) -> StartMode:
    mode = p.expect_one(*_START_MODES)
    argument: exp.Expr | None = None
    if mode.endswith("FROM_NOW") and p.take_symbol(TokenType.L_PAREN):
        argument = p.interval_literal()
        p.expect_symbol(TokenType.R_PAREN)
    elif mode.endswith("FROM_TIMESTAMP"):
        p.expect_symbol(TokenType.L_PAREN)
        if not p.at("TIMESTAMP"):
            p.fail("TIMESTAMP")
        argument = p.literal()
        p.expect_symbol(TokenType.R_PAREN)
    return StartMode(mode, argument)
