"""Tables that programs describe with classes instead of DDL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import PlanError
from penstock.table.catalog.definition import ColumnDraft, KeyDraft, TableDraft, WatermarkDraft
from penstock.table.catalog_objects.resolved_schema import ResolvedSchema
from penstock.table.data_types import DataType
from penstock.table.dialect import parse_expression
from penstock.table.environment.statements.table_drafts import expression_text
from penstock.types.logical.kinds import LogicalType, RowType
from penstock.types.logical.text import TypeTextError, parse_type, summary


def _logical(data_type: Any) -> LogicalType:
    if isinstance(data_type, DataType):
        return data_type.logical
    if isinstance(data_type, str):
        try:
            return parse_type(data_type)
        except TypeTextError as error:
            raise PlanError("TABLE_SCHEMA", f"{error}.") from error
    raise PlanError("TABLE_SCHEMA", f"A column needs a type such as DataTypes.INT() or 'INT', not {data_type!r}.")


def _column_text(column: ColumnDraft) -> str:
    if column.kind == "computed":
        return f"AS [{column.source}]"
    assert column.type is not None
    text = summary(column.type)
    if column.kind == "metadata":
        text += " METADATA" + (f" FROM '{column.key}'" if column.key else "") + (" VIRTUAL" if column.virtual else "")
    return text


class Schema:
    """The columns, the watermark and the primary key of a table.

    >>> schema = Schema.new_builder().column("n", "INT").column_by_expression("m", "n + 1").build()
    >>> schema.draft.names()
    ['n', 'm']
    """

    def __init__(self, draft: TableDraft) -> None:
        self.draft = draft

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(other) == str(self)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        lines = [f"  `{c.name}` {_column_text(c)}" for c in self.draft.columns]
        if self.draft.watermark is not None:
            watermark = self.draft.watermark
            lines.append(f"  WATERMARK FOR `{'.'.join(watermark.path)}` AS [{watermark.source}]")
        if self.draft.key is not None:
            key = self.draft.key
            names = ", ".join(f"`{name}`" for name in key.columns)
            constraint = key.name or f"PK_{'_'.join(key.columns)}"
            lines.append(f"  CONSTRAINT `{constraint}` PRIMARY KEY ({names}) NOT ENFORCED")
        return "(\n" + ",\n".join(lines) + "\n)"

    __repr__ = __str__

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Returns a builder."""
        return Schema.Builder()

    class Builder:
        """Builder of a schema."""

        def __init__(self) -> None:
            self._draft = TableDraft()

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Adds the parts of another schema."""
            other = unresolved_schema.draft
            self._draft.columns += other.columns
            self._draft.watermark = other.watermark or self._draft.watermark
            self._draft.key = other.key or self._draft.key
            return self

        def from_fields(self, field_names: Sequence[str], field_data_types: Sequence[Any]) -> Schema.Builder:
            """Adds physical columns."""
            for name, type_ in zip(field_names, field_data_types, strict=True):
                self.column(name, type_)
            return self

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """Adds the fields of a ROW type as physical columns."""
            if not isinstance(data_type.logical, RowType):
                raise PlanError("TABLE_SCHEMA", f"A schema is made from a ROW type, not from {data_type}.")
            fields = data_type.logical.fields
            return self.from_fields([f.name for f in fields], [DataType(f.type) for f in fields])

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            """Adds the columns and the primary key of a table."""
            self.from_fields(resolved_schema.get_column_names(), resolved_schema.get_column_data_types())
            key = resolved_schema.get_primary_key()
            return self.primary_key_named(key.get_name(), *key.get_columns()) if key else self

        def column(self, column_name: str, data_type: Any) -> Schema.Builder:
            """Adds a physical column."""
            self._draft.columns.append(ColumnDraft(column_name, type=_logical(data_type)))
            return self

        def column_by_expression(self, column_name: str, expr: Any) -> Schema.Builder:
            """Adds a computed column. The expression is SQL."""
            node = parse_expression(str(expr))
            text = expression_text(node, str(expr))
            self._draft.columns.append(
                ColumnDraft(column_name, "computed", expression=node, text=text, source=str(expr))
            )
            return self

        def column_by_metadata(
            self, column_name: str, data_type: Any, metadata_key: str | None = None, is_virtual: bool = False
        ) -> Schema.Builder:
            """Adds a metadata column."""
            self._draft.columns.append(
                ColumnDraft(column_name, "metadata", _logical(data_type), key=metadata_key, virtual=is_virtual)
            )
            return self

        def watermark(self, column_name: str, watermark_expr: Any) -> Schema.Builder:
            """Adds the watermark. The expression is SQL."""
            text = str(watermark_expr)
            node = parse_expression(text)
            self._draft.watermark = WatermarkDraft((column_name,), node, expression_text(node, text), text)
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Adds the primary key."""
            self._draft.key = KeyDraft(tuple(column_names))
            return self

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """Adds the primary key with the name of its constraint."""
            self._draft.key = KeyDraft(tuple(column_names), constraint_name)
            return self

        def build(self) -> Schema:
            """Returns the schema."""
            return Schema(self._draft)


def _option_name(key: Any) -> str:
    return str(key.key()) if callable(getattr(key, "key", None)) else str(key)


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class FormatDescriptor:
    """A format and its options.

    >>> print(FormatDescriptor.for_format("csv").option("field-delimiter", ";").build())
    csv[{field-delimiter=;}]
    """

    def __init__(self, format: str, options: Mapping[str, str]) -> None:
        self._format = format
        self._options = dict(options)

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Returns the builder of a format."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """Returns the name of the format."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """Returns the options, without the name of the format before them."""
        return dict(self._options)

    def __str__(self) -> str:
        return f"{self._format}[{{{', '.join(f'{k}={v}' for k, v in self._options.items())}}}]"

    class Builder:
        """Builder of a format."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: Any, value: Any) -> FormatDescriptor.Builder:
            """Sets an option of the format."""
            self._options[_option_name(key)] = _option_text(value)
            return self

        def build(self) -> FormatDescriptor:
            """Returns the descriptor."""
            return FormatDescriptor(self._format, self._options)


class TableDescriptor:
    """The schema and the options of a table."""

    def __init__(self, draft: TableDraft, schema: Schema | None = None) -> None:
        self.draft = draft
        self._schema = schema

    def get_schema(self) -> Schema | None:
        """Returns the schema, or None if there is none."""
        return self._schema

    def __str__(self) -> str:
        parts = [] if self._schema is None else [str(self._schema)]
        if self.draft.comment is not None:
            parts.append(f"COMMENT '{self.draft.comment}'")
        if self.draft.partition_keys:
            parts.append(f"PARTITIONED BY ({', '.join(f'`{key}`' for key in self.draft.partition_keys)})")
        options = ",\n".join(f"  '{key}' = '{value}'" for key, value in self.draft.options.items())
        return "\n".join([*parts, f"WITH (\n{options}\n)"])

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Returns the builder of a table of a connector."""
        return TableDescriptor.Builder({"connector": connector})

    def get_options(self) -> dict[str, str]:
        """Returns the options."""
        return dict(self.draft.options)

    def get_partition_keys(self) -> list[str]:
        """Returns the names of the partition columns."""
        return list(self.draft.partition_keys)

    def get_comment(self) -> str | None:
        """Returns the comment."""
        return self.draft.comment

    class Builder:
        """Builder of a descriptor."""

        def __init__(self, options: Mapping[str, str]) -> None:
            self._draft = TableDraft(options=dict(options))
            self._schema: Schema | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Sets columns, watermark and primary key."""
            self._schema = schema
            self._draft.columns = list(schema.draft.columns)
            self._draft.watermark = schema.draft.watermark
            self._draft.key = schema.draft.key
            return self

        def option(self, key: Any, value: Any) -> TableDescriptor.Builder:
            """Sets an option of the connector."""
            self._draft.options[_option_name(key)] = _option_text(value)
            return self

        def format(self, format: str | FormatDescriptor, format_option: Any = "format") -> TableDescriptor.Builder:
            """Sets the format, or that of another option, such as `key.format`."""
            name = _option_name(format_option)
            if not isinstance(format, FormatDescriptor):
                return self.option(name, format)
            before = name.removesuffix("format") + format.get_format()
            for key, value in format.get_options().items():
                self.option(f"{before}.{key}", value)
            return self.option(name, format.get_format())

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Sets the partition columns."""
            self._draft.partition_keys = partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """Sets the comment."""
            self._draft.comment = comment
            return self

        def build(self) -> TableDescriptor:
            """Returns the descriptor."""
            return TableDescriptor(self._draft, self._schema)
