"""Bulk format of CSV files, with optional headers."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import IO, Any, Self

from penstock.errors import ConfigError, warn_ignored
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory
from penstock.formats.column_type import column_type
from penstock.formats.csv.dialect import CsvDialect
from penstock.formats.csv.rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from penstock.types import RowTypeInfo, TypeInformation, Types

_BLOCK_SIZE = 4096  # rows


@dataclass(frozen=True)
class CsvSchema:
    """Columns and dialect of CSV files.

    >>> CsvSchema.builder().add_number_column("id").add_string_column("name").build().row_type()
    RowTypeInfo(id: Long, name: String)
    """

    columns: tuple[tuple[str, TypeInformation], ...] = ()
    form: CsvDialect = field(default_factory=CsvDialect)
    header: bool = False
    strict_header: bool = False
    skip_first_row: bool = False
    array_delimiters: Mapping[str, str] = field(default_factory=dict)  # by column

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Returns a builder."""
        return CsvSchemaBuilder()

    def row_type(self) -> RowTypeInfo:
        """Returns the type of the rows."""
        return Types.ROW_NAMED([name for name, _ in self.columns], [kind for _, kind in self.columns])

    def size(self) -> int:
        """Returns the number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """Builds a CsvSchema."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, TypeInformation]] = []
        self._form = CsvDialect()
        self._settings: dict[str, bool] = {}
        self._array_delimiters: dict[str, str] = {}  # of array columns that have their own

    def build(self) -> CsvSchema:
        """Builds the schema."""
        self._form.check()
        if self._settings.get("strict_header") and not self._settings.get("header"):
            warn_ignored("CsvSchema: set_strict_headers() has no effect without set_use_header(). No header is read.")
        return CsvSchema(
            tuple(self._columns), self._form, array_delimiters=dict(self._array_delimiters), **self._settings
        )

    def _add(self, name: str, kind: TypeInformation) -> Self:
        self._columns.append((name, kind))
        return self

    def _set(self, **settings: Any) -> Self:
        self._form = replace(self._form, **settings)
        return self

    def add_array_column(self, name: str, separator: str | None = None, element_type: Any = None) -> Self:
        """Adds an array column. Without a separator of its own, it has that of the schema, a semicolon unless it is set."""
        kind = Types.STRING() if element_type is None else column_type(element_type)
        if separator is not None:
            self._array_delimiters[name] = separator
        return self._add(name, Types.LIST(kind))

    def add_boolean_column(self, name: str) -> Self:
        """Adds a boolean column."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> Self:
        """Adds a number column. The default type is LONG."""
        return self._add(name, Types.LONG() if number_type is None else column_type(number_type))

    def add_string_column(self, name: str) -> Self:
        """Adds a string column."""
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> Self:
        """Adds the columns of another schema."""
        self._columns += schema.columns
        self._array_delimiters.update(schema.array_delimiters)
        return self

    def clear_columns(self) -> Self:
        """Removes all columns."""
        self._columns.clear()
        self._array_delimiters.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> Self:
        """Sets whether lines that start with # are skipped."""
        return self._set(comments=allow)

    def set_array_element_separator(self, separator: str) -> Self:
        """Sets the separator of elements for array columns that do not have their own."""
        return self._set(array_delimiter=separator)

    def set_column_separator(self, char: str) -> Self:
        """Sets the separator of columns. The default is a comma."""
        return self._set(delimiter=char)

    def disable_escape_char(self) -> Self:
        """Disables the escape character."""
        return self._set(escape=None)

    def set_escape_char(self, char: str) -> Self:
        """Sets the escape character."""
        return self._set(escape=char)

    def set_line_separator(self, separator: str) -> Self:
        """Sets the line separator for writing."""
        return self._set(line_delimiter=separator)

    def set_null_value(self, null_value: str) -> Self:
        """Sets the string that represents None."""
        return self._set(null=null_value)

    def disable_quote_char(self) -> Self:
        """Disables quotes."""
        return self._set(quote=None)

    def set_quote_char(self, char: str) -> Self:
        """Sets the quote character."""
        return self._set(quote=char)

    def set_skip_first_data_row(self, skip: bool = True) -> Self:
        """Sets whether the first row of a file is skipped."""
        self._settings["skip_first_row"] = skip
        return self

    def set_strict_headers(self, strict: bool = True) -> Self:
        """Sets whether the header must contain exactly the declared columns in the same order."""
        self._settings["strict_header"] = strict
        return self

    def set_use_header(self, use: bool = True) -> Self:
        """Sets whether the first line is a header.

        If it contains the names of all columns, they may be in any order. If it contains none of them, columns are read by
        their position.
        """
        self._settings["header"] = use
        return self

    def size(self) -> int:
        """Returns the number of columns."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class CsvReaderFormat(BulkFormat):
    """Reads CSV files as rows. One task reads a file, because quoted fields may contain line breaks."""

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        self.output_type = schema.row_type()
        self._rows = CsvRowDeserializationSchema(
            self.output_type, schema.form, array_delimiters=schema.array_delimiters
        )
        self.output_is_exact = self._rows.output_is_exact

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Returns the format of a schema."""
        return CsvReaderFormat(schema)

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        lines = io.TextIOWrapper(file_object, "utf-8", newline="")
        try:
            form = self._schema.form
            content = (line for line in lines if not line.lstrip().startswith("#")) if form.comments else lines
            fields = filter(None, form.reader(content))
            order = self._order(next(fields, None)) if self._schema.header else None
            if self._schema.skip_first_row:
                next(fields, None)
            while block := list(itertools.islice(fields, _BLOCK_SIZE)):
                yield self._rows.rows(block if order is None else [[row[i] for i in order] for row in block])
        except (csv.Error, IndexError) as error:
            raise ValueError(f"the CSV cannot be read: {error}") from error
        finally:
            lines.detach()

    def _order(self, header: list[str] | None) -> list[int] | None:
        """Returns the index of each column in the file, or None if the order is the same."""
        names = [name for name, _ in self._schema.columns]
        if header is None or header == names:
            return None
        if not self._schema.strict_header and not set(header) & set(names):
            return None
        if self._schema.strict_header or set(header) < set(names):
            raise ValueError(f"the header of the CSV file is {header}; expected the columns {names}")
        if missing := [name for name in names if name not in header]:
            raise ValueError(f"the header of the CSV file is {header}; the columns {missing} are missing")
        return [header.index(name) for name in names]


class _CsvWriter(BulkWriter):
    def __init__(self, schema: CsvSchema, file_object: IO[bytes]) -> None:
        self._rows = CsvRowSerializationSchema(schema.row_type(), schema.form, schema.array_delimiters)
        self._file = file_object
        if schema.header:
            self._file.write(schema.form.line([name for name, _ in schema.columns]).encode())

    def write(self, values: list[Any]) -> None:
        self._file.write("".join(self._rows.lines(values)).encode())

    def finish(self) -> None:
        """Does nothing, because lines are written immediately."""


class _CsvWriters(BulkWriterFactory):
    extension = ".csv"

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        if not schema.form.line_delimiter:
            raise ConfigError(
                "CSV_SIGN", "The line delimiter of a CSV file is empty, so rows could not be separated. Set one."
            )

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        return _CsvWriter(self._schema, file_object)


class CsvBulkWriters:
    """Creates writers of CSV files."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Returns a writer factory for rows of a schema."""
        return _CsvWriters(schema)
