"""Turns the parts of a table as they are written into a `CatalogTable`: binds computed columns and the watermark, checks keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from sqlglot import exp

from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.scope import Scope, ScopeColumn
from penstock.table.binder.user_calls import FunctionLookup
from penstock.table.catalog.errors import did_you_mean, refusal
from penstock.table.catalog.table import CatalogTable, TableColumn, WatermarkDefinition
from penstock.table.dialect import parse_expression
from penstock.types.logical.kinds import LogicalType, TimestampType
from penstock.types.logical.text import bare

# Tables are built in many places, and catalogs read them from files: none of them knows the functions of the session.
_FUNCTIONS: ContextVar[FunctionLookup | None] = ContextVar("functions", default=None)


@contextmanager
def functions_of(lookup: FunctionLookup) -> Iterator[None]:
    """Context manager in which the expressions of tables can call functions of the user."""
    token = _FUNCTIONS.set(lookup)
    try:
        yield
    finally:
        _FUNCTIONS.reset(token)


@dataclass
class ColumnDraft:
    """A column as written. A computed column has an expression instead of a type; `text` is the expression in Flink's form.

    source: the text in which the expression was written, for the excerpt of an error.
    """

    name: str
    kind: Literal["physical", "metadata", "computed"] = "physical"
    type: LogicalType | None = None
    expression: exp.Expr | None = None
    text: str = ""
    key: str | None = None
    virtual: bool = False
    comment: str | None = None
    source: str = ""
    line: int = 0
    column: int = 0


@dataclass
class WatermarkDraft:
    """WATERMARK FOR path AS expression."""

    path: tuple[str, ...]
    expression: exp.Expr
    text: str
    source: str = ""
    line: int = 0
    column: int = 0


@dataclass
class KeyDraft:
    """PRIMARY KEY (columns) NOT ENFORCED."""

    columns: tuple[str, ...]
    name: str | None = None
    line: int = 0
    column: int = 0


@dataclass
class TableDraft:
    """All parts of a table. ALTER TABLE and LIKE change a draft; `build` checks it."""

    columns: list[ColumnDraft] = field(default_factory=list)
    watermark: WatermarkDraft | None = None
    key: KeyDraft | None = None
    options: dict[str, str] = field(default_factory=dict)
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None
    distribution: tuple[str, tuple[str, ...], int | None] | None = None

    def find(self, name: str) -> ColumnDraft | None:
        """Returns the column with a name, or None."""
        return next((c for c in self.columns if c.name == name), None)

    def names(self) -> list[str]:
        """Returns the names of all columns."""
        return [c.name for c in self.columns]


def draft_of(table: CatalogTable) -> TableDraft:
    """Returns the parts of a table, to change some of them."""
    columns = [
        ColumnDraft(
            c.name,
            c.kind,
            None if c.kind == "computed" else _without_attribute(c.type),
            parse_expression(c.text) if c.kind == "computed" else None,
            c.text,
            c.key,
            c.virtual,
            c.comment,
            source=c.text,
        )
        for c in table.columns
    ]
    watermark = None
    if table.watermark is not None:
        text = table.watermark.text
        watermark = WatermarkDraft(table.watermark.path, parse_expression(text), text, text)
    key = KeyDraft(table.primary_key, table.primary_key_name) if table.primary_key else None
    return TableDraft(
        columns, watermark, key, dict(table.options), table.partition_keys, table.comment, table.distribution
    )


def build(draft: TableDraft) -> CatalogTable:
    """Checks the parts of a table and binds its expressions."""
    _check_names(draft)
    key = _checked_key(draft)
    types: list[LogicalType | None] = [
        c.type.with_nullable(False) if c.type is not None and c.name in key else c.type for c in draft.columns
    ]
    stored = [
        ScopeColumn(c.name, t, i) for i, (c, t) in enumerate(zip(draft.columns, types, strict=True)) if t is not None
    ]
    columns: list[TableColumn] = []
    for draft_column, type_ in zip(draft.columns, types, strict=True):
        expression = None
        if draft_column.expression is not None:
            # A computed column sees no other computed column, as in Flink.
            binder = ExpressionBinder(Scope(stored), draft_column.source, functions=_FUNCTIONS.get())
            expression = binder.bind(draft_column.expression)
            type_ = expression.type
        assert type_ is not None
        columns.append(
            TableColumn(
                draft_column.name,
                type_,
                draft_column.kind,
                expression,
                draft_column.text,
                draft_column.key,
                draft_column.virtual,
                draft_column.comment,
            )
        )
    watermark = _watermark(draft, columns)
    _check_partitions(draft)
    return CatalogTable(
        tuple(columns),
        tuple(draft.options.items()),
        watermark,
        key,
        (draft.key.name or f"PK_{'_'.join(key)}") if draft.key is not None else None,
        draft.partition_keys,
        draft.comment,
        draft.distribution,
    )


def _without_attribute(type_: LogicalType) -> LogicalType:
    return msgspec.structs.replace(type_, attribute="") if isinstance(type_, TimestampType) else type_


def _check_names(draft: TableDraft) -> None:
    seen: set[str] = set()
    for column in draft.columns:
        if column.name in seen:
            raise refusal(
                "SQL_COLUMN", f"A column '{column.name}' exists already in the table.", column.line, column.column
            )
        seen.add(column.name)


def _checked_key(draft: TableDraft) -> tuple[str, ...]:
    if draft.key is None:
        return ()
    key = draft.key
    for name in key.columns:
        found = draft.find(name)
        if found is None:
            near = did_you_mean(name, draft.names())
            raise refusal(
                "SQL_KEY",
                f"The column '{name}' of the primary key is not defined in the table.{near}",
                key.line,
                key.column,
            )
        if found.kind != "physical":
            raise refusal(
                "SQL_KEY",
                f"The column '{name}' of the primary key is a {found.kind} column. A primary key must be declared on physical "
                "columns.",
                key.line,
                key.column,
            )
        if key.columns.count(name) > 1:
            raise refusal("SQL_KEY", f"The primary key contains the column '{name}' twice.", key.line, key.column)
    return key.columns


def _watermark(draft: TableDraft, columns: list[TableColumn]) -> WatermarkDefinition | None:
    if draft.watermark is None:
        return None
    written = draft.watermark
    name = ".".join(written.path)
    position = next((i for i, c in enumerate(columns) if (c.name,) == written.path), None)
    if position is None:
        near = did_you_mean(name, draft.names())
        raise refusal(
            "SQL_WATERMARK",
            f"The column '{name}' of the watermark is not defined in the table.{near} Columns: {', '.join(draft.names())}.",
            written.line,
            written.column,
        )
    column = columns[position]
    _check_time(column.type, f"the column '{name}' of the watermark", written)
    scope = Scope([ScopeColumn(c.name, c.type, i) for i, c in enumerate(columns)])
    expression = ExpressionBinder(scope, written.source, functions=_FUNCTIONS.get()).bind(written.expression)
    _check_time(expression.type, "the expression of the watermark", written)
    assert isinstance(column.type, TimestampType)
    if column.type.attribute == "PROCTIME":
        raise refusal(
            "SQL_WATERMARK",
            f"The column '{name}' is a processing-time attribute, which has no watermark.",
            written.line,
            written.column,
        )
    columns[position] = msgspec.structs.replace(column, type=msgspec.structs.replace(column.type, attribute="ROWTIME"))
    return WatermarkDefinition(position, expression, written.text, written.path)


def _check_time(type_: LogicalType, what: str, written: WatermarkDraft) -> None:
    if not isinstance(type_, TimestampType) or type_.precision > 3:
        raise refusal(
            "SQL_WATERMARK",
            f"Invalid watermark definition: {what} must be of type TIMESTAMP(p) or TIMESTAMP_LTZ(p), with a precision "
            f"p from 0 to 3, but its type is {bare(type_)}.",
            written.line,
            written.column,
        )


def _check_partitions(draft: TableDraft) -> None:
    distributed = draft.distribution[1] if draft.distribution is not None else ()
    for what, names in (("partition", draft.partition_keys), ("bucket", distributed)):
        for name in names:
            found = draft.find(name)
            if found is None or found.kind != "physical":
                physical = [c.name for c in draft.columns if c.kind == "physical"]
                reason = "is not defined in the table" if found is None else f"is a {found.kind} column"
                raise refusal(
                    "SQL_COLUMN",
                    f"The {what} column '{name}' {reason}. It must be a physical column: {', '.join(physical)}.",
                )
            if names.count(name) > 1:
                raise refusal("SQL_COLUMN", f"The {what} columns contain '{name}' twice.")
