"""The columns, keys and watermark of CREATE TABLE and ALTER TABLE as drafts of a table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.table.binder.types import resolve_type
from penstock.table.catalog.definition import ColumnDraft, KeyDraft, TableDraft, WatermarkDraft
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.sql_text.expressions import ExpressionText
from penstock.table.dialect.data_type import SqlField, SqlType
from penstock.table.dialect.statements import column as written
from penstock.table.dialect.statements.create_table import TableDefinition
from penstock.table.dialect.statements.statement import SqlOption
from penstock.types.logical.kinds import LogicalType

_LONGEST = 2**31 - 1


def column_type(type_: SqlType) -> LogicalType:
    """Returns the type of a column. VARCHAR and VARBINARY without a length are the longest ones, as in Flink."""
    if type_.name == "USER":
        name = ".".join(str(a) for a in type_.arguments)
        raise refusal("SQL_TYPE", f"There is no type '{name}'.", type_.line, type_.column)
    return resolve_type(_with_lengths(type_))


def _with_lengths(type_: SqlType) -> SqlType:
    children = tuple(SqlField(_with_lengths(c.type), c.name) for c in type_.children)
    arguments = type_.arguments
    if type_.name in ("VARCHAR", "VARBINARY") and not arguments:
        arguments = (_LONGEST,)
    return msgspec.structs.replace(type_, arguments=arguments, children=children)


def column_draft(column: written.Column, text: str, resolved: bool = True) -> ColumnDraft:
    """Returns the draft of a column of a statement with this text. ALTER TABLE prints functions that are not resolved yet."""
    if len(column.name) > 1:
        raise refusal("SQL_UNSUPPORTED", "Nested fields cannot be changed.", column.line, column.column)
    draft = ColumnDraft(column.name[0], comment=column.comment, source=text, line=column.line, column=column.column)
    if isinstance(column, written.ComputedColumn):
        draft.kind, draft.expression = "computed", column.expression
        draft.text = expression_text(column.expression, column.text, resolved)
        return draft
    draft.type = column_type(column.type)
    if isinstance(column, written.MetadataColumn):
        draft.kind, draft.key, draft.virtual = "metadata", column.key, column.virtual
    return draft


def watermark_draft(watermark: written.Watermark, text: str, resolved: bool = True) -> WatermarkDraft:
    """Returns the draft of a watermark."""
    return WatermarkDraft(
        watermark.column,
        watermark.expression,
        expression_text(watermark.expression, watermark.text, resolved),
        text,
        watermark.line,
        watermark.column_number,
    )


def expression_text(node: object, as_written: str, resolved: bool = True) -> str:
    """Returns an expression in Flink's form, or as written if it has parts that cannot be written in this form."""
    try:
        return ExpressionText(resolved=resolved).text(node)  # type: ignore[arg-type]
    except NotImplementedError:
        return as_written


def key_draft(columns: Sequence[written.Column], constraints: Sequence[written.Constraint]) -> KeyDraft | None:
    """Returns the primary key among the constraints of a table and of its columns, or None."""
    own = [c.constraint for c in columns if isinstance(c, written.PhysicalColumn) and c.constraint is not None]
    found = [*own, *constraints]
    for constraint in found:
        if constraint.unique:
            raise refusal("SQL_KEY", "UNIQUE constraints are not supported.", constraint.line, constraint.column)
        if constraint.enforced is not False:
            raise refusal(
                "SQL_KEY",
                "A primary key cannot be ENFORCED, because tables do not own their data. Write PRIMARY KEY (...) NOT ENFORCED.",
                constraint.line,
                constraint.column,
            )
    if len(found) > 1:
        raise refusal(
            "SQL_KEY", "A table has one primary key, and this is another one.", found[1].line, found[1].column
        )
    return KeyDraft(found[0].columns, found[0].name, found[0].line, found[0].column) if found else None


def options_of(options: Sequence[SqlOption] | None) -> dict[str, str]:
    """Returns options by key. The last one of equal keys counts, as in Flink."""
    return {option.key: option.value for option in options or ()}


def table_draft(statement: TableDefinition, text: str) -> TableDraft:
    """Returns the draft of a table from CREATE TABLE."""
    schema = statement.schema
    distribution = statement.distribution
    return TableDraft(
        [column_draft(c, text) for c in schema.columns],
        watermark_draft(schema.watermark, text) if schema.watermark is not None else None,
        key_draft(schema.columns, schema.constraints),
        options_of(statement.options),
        statement.partitioned_by,
        statement.comment,
        distribution_of(distribution) if distribution is not None else None,
    )


def distribution_of(distribution: written.Distribution) -> tuple[str, tuple[str, ...], int | None]:
    """Returns kind, columns and buckets. The kind of BY (a) is empty: the connector chooses."""
    return distribution.method or "", distribution.columns, distribution.buckets
