"""Columns, constraints and the watermark of CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

import msgspec
from sqlglot import exp

from penstock.table.dialect.data_type import SqlType


class PhysicalColumn(msgspec.Struct, frozen=True):
    """name TYPE. A name with several parts is a nested field, which only ALTER TABLE accepts."""

    name: tuple[str, ...]
    type: SqlType
    comment: str | None = None
    constraint: Constraint | None = None
    line: int = 0
    column: int = 0


class ComputedColumn(msgspec.Struct, frozen=True):
    """name AS expression. `text` is the expression as written."""

    name: tuple[str, ...]
    expression: exp.Expr
    text: str
    comment: str | None = None
    line: int = 0
    column: int = 0


class MetadataColumn(msgspec.Struct, frozen=True):
    """name TYPE METADATA FROM 'key' VIRTUAL."""

    name: tuple[str, ...]
    type: SqlType
    key: str | None = None
    virtual: bool = False
    comment: str | None = None
    line: int = 0
    column: int = 0


Column = PhysicalColumn | ComputedColumn | MetadataColumn


class Constraint(msgspec.Struct, frozen=True):
    """PRIMARY KEY (a, b) NOT ENFORCED. `enforced` is None if nothing was written. `unique` is UNIQUE instead of PRIMARY KEY."""

    columns: tuple[str, ...]
    name: str | None = None
    unique: bool = False
    enforced: bool | None = None
    line: int = 0
    column: int = 0


class Watermark(msgspec.Struct, frozen=True):
    """WATERMARK FOR column AS expression. A column with several parts is a nested field."""

    column: tuple[str, ...]
    expression: exp.Expr
    text: str
    line: int = 0
    column_number: int = 0


class ColumnPlace(msgspec.Struct, frozen=True):
    """A column of ALTER TABLE with its place: FIRST, or AFTER another column, or neither."""

    column: Column
    first: bool = False
    after: tuple[str, ...] | None = None


class TableSchema(msgspec.Struct, frozen=True):
    """The part of CREATE TABLE in parentheses. `identifiers` are names without types, as in CREATE TABLE t (a, b) AS SELECT."""

    columns: tuple[Column, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    watermark: Watermark | None = None
    identifiers: tuple[tuple[str, ...], ...] = ()


class Distribution(msgspec.Struct, frozen=True):
    """DISTRIBUTED BY HASH (a) INTO 4 BUCKETS. `method` is HASH, RANGE or None."""

    method: str | None = None
    columns: tuple[str, ...] = ()
    buckets: int | None = None
