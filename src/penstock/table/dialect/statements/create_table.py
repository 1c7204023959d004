"""CREATE TABLE and its variants."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from penstock.table.dialect.statements.column import Distribution, TableSchema
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import ObjectName, SqlOption, Statement


class LikeOption(msgspec.Struct, frozen=True):
    """INCLUDING ALL and the like. `strategy` is INCLUDING, EXCLUDING or OVERWRITING."""

    strategy: str
    feature: str


class TableDefinition(Statement, frozen=True):
    """What all variants of CREATE TABLE have. `options` is None without WITH."""

    name: ObjectName
    schema: TableSchema = TableSchema()
    comment: str | None = None
    distribution: Distribution | None = None
    partitioned_by: tuple[str, ...] = ()
    options: tuple[SqlOption, ...] | None = None
    temporary: bool = False
    if_not_exists: bool = False


class CreateTable(TableDefinition, frozen=True):
    """CREATE TABLE t (...) WITH (...)."""

    kind: ClassVar[str] = "CreateTable"


class CreateTableLike(TableDefinition, frozen=True, kw_only=True):
    """CREATE TABLE t (...) WITH (...) LIKE source (...)."""

    kind: ClassVar[str] = "CreateTableLike"

    source: ObjectName
    like_options: tuple[LikeOption, ...] = ()


class CreateTableAs(TableDefinition, frozen=True, kw_only=True):
    """CREATE TABLE t ... AS query."""

    kind: ClassVar[str] = "CreateTableAs"

    query: Query


class ReplaceTableAs(CreateTableAs, frozen=True, kw_only=True):
    """REPLACE TABLE t ... AS query, or CREATE OR REPLACE TABLE with `create`."""

    kind: ClassVar[str] = "ReplaceTableAs"

    create: bool = False


class StartMode(msgspec.Struct, frozen=True):
    """START_MODE = FROM_NOW(INTERVAL '1' DAY). The argument is an expression, or None."""

    mode: str
    argument: object = None


class CreateMaterializedTable(TableDefinition, frozen=True, kw_only=True):
    """CREATE [OR ALTER] MATERIALIZED TABLE t ... AS query."""

    kind: ClassVar[str] = "CreateOrAlterMaterializedTable"

    query: Query
    or_alter: bool = False
    freshness: object = None  # an IntervalLiteral
    refresh_mode: str | None = None
    start_mode: StartMode | None = None
