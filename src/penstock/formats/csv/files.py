"""Files of CSV, with headers, under Flink's names."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Any, Self

from penstock.errors import ConfigError
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory
from penstock.formats.column_type import column_type
from penstock.formats.csv_form import CsvForm
from penstock.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from penstock.types import RowTypeInfo, TypeInformation, Types

_ROWS = 4096


@dataclass(frozen=True)
class CsvSchema:
    """The columns of files of CSV, and their signs.

    >>> CsvSchema.builder().add_number_column("id").add_string_column("name").build().row_type()
    RowTypeInfo(id: Long, name: String)
    """

    columns: tuple[tuple[str, TypeInformation], ...] = ()
    form: CsvForm = field(default_factory=CsvForm)
    header: bool = False
    strict_header: bool = False
    skip_first_row: bool = False

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Collects columns and signs."""
        return CsvSchemaBuilder()

    def row_type(self) -> RowTypeInfo:
        """The type of the rows."""
        return Types.ROW_NAMED([name for name, _ in self.columns], [kind for _, kind in self.columns])

    def size(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """Collects the columns and signs of files of CSV."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, TypeInformation]] = []
        self._form = CsvForm()
        self._settings: dict[str, bool] = {}

    def build(self) -> CsvSchema:
        """The schema."""
        self._form.check()
        return CsvSchema(tuple(self._columns), self._form, **self._settings)

    def _add(self, name: str, kind: TypeInformation) -> Self:
        self._columns.append((name, kind))
        return self

    def _signs(self, **signs: Any) -> Self:
        self._form = replace(self._form, **signs)
        return self

    def add_array_column(self, name: str, separator: str = ";", element_type: Any = None) -> Self:
        """A column of arrays. All of them have one separator, as the last call says."""
        kind = Types.STRING() if element_type is None else column_type(element_type)
        return self._signs(array_delimiter=separator)._add(name, Types.LIST(kind))

    def add_boolean_column(self, name: str) -> Self:
        """A column of truth values."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> Self:
        """A column of numbers; of LONG unless another type is given."""
        return self._add(name, Types.LONG() if number_type is None else column_type(number_type))

    def add_string_column(self, name: str) -> Self:
        """A column of text."""
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> Self:
        """The columns of another schema."""
        self._columns += schema.columns
        return self

    def clear_columns(self) -> Self:
        """No columns."""
        self._columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> Self:
        """Lines that begin with # are left out."""
        return self._signs(comments=allow)

    def set_array_element_separator(self, separator: str) -> Self:
        """The sign between the elements of arrays."""
        return self._signs(array_delimiter=separator)

    def set_column_separator(self, char: str) -> Self:
        """The sign between columns; a comma unless it is set."""
        return self._signs(delimiter=char)

    def disable_escape_char(self) -> Self:
        """No sign is before signs that are meant as they are."""
        return self._signs(escape=None)

    def set_escape_char(self, char: str) -> Self:
        """The sign before signs that are meant as they are."""
        return self._signs(escape=char)

    def set_line_separator(self, separator: str) -> Self:
        """What ends lines that are written."""
        return self._signs(line_delimiter=separator)

    def set_null_value(self, null_value: str) -> Self:
        """The text that stands for None."""
        return self._signs(null=null_value)

    def disable_quote_char(self) -> Self:
        """Nothing is quoted."""
        return self._signs(quote=None)

    def set_quote_char(self, char: str) -> Self:
        """The sign around fields that hold other signs."""
        return self._signs(quote=char)

    def set_skip_first_data_row(self, skip: bool = True) -> Self:
        """The first row of a file is left out."""
        self._settings["skip_first_row"] = skip
        return self

    def set_strict_headers(self, strict: bool = True) -> Self:
        """The header must have just these columns, in this order."""
        self._settings["strict_header"] = strict
        return self

    def set_use_header(self, use: bool = True) -> Self:
        """The first line has the names of the columns: they may stand in any order."""
        self._settings["header"] = use
        return self

    def size(self) -> int:
        """How many columns there are so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class CsvReaderFormat(BulkFormat):
    """Reads files of CSV as rows. Fields between quotes may hold ends of lines, so a file is read by one task."""

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        self.output_type = schema.row_type()
        self._rows = CsvRowDeserializationSchema(self.output_type, schema.form)
        self.output_is_exact = self._rows.output_is_exact

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """A format for files of a schema."""
        return CsvReaderFormat(schema)

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        lines = io.TextIOWrapper(file_object, "utf-8", newline="")
        try:
            form = self._schema.form
            wanted = (line for line in lines if not line.lstrip().startswith("#")) if form.comments else lines
            fields = filter(None, form.reader(wanted))
            order = self._order(next(fields, None)) if self._schema.header else None
            if self._schema.skip_first_row:
                next(fields, None)
            while some := list(itertools.islice(fields, _ROWS)):
                yield self._rows.rows(some if order is None else [[row[i] for i in order] for row in some])
        except (csv.Error, IndexError) as error:
            raise ValueError(f"the CSV cannot be read: {error}") from error
        finally:
            lines.detach()

    def _order(self, header: list[str] | None) -> list[int] | None:
        """Where each column stands, if not in its own place."""
        names = [name for name, _ in self._schema.columns]
        if header is None or header == names:
            return None
        if self._schema.strict_header or set(header) < set(names):
            raise ValueError(f"the header of the CSV is {header}, and the columns {names} are declared")
        if missing := [name for name in names if name not in header]:
            raise ValueError(f"the header of the CSV is {header}, and has no columns {missing}")
        return [header.index(name) for name in names]


class _CsvWriter(BulkWriter):
    def __init__(self, schema: CsvSchema, file_object: IO[bytes]) -> None:
        self._rows = CsvRowSerializationSchema(schema.row_type(), schema.form)
        self._file = file_object
        if schema.header:
            self._file.write(schema.form.line([name for name, _ in schema.columns]).encode())

    def write(self, values: list[Any]) -> None:
        self._file.write("".join(self._rows.lines(values)).encode())

    def finish(self) -> None:
        """Nothing is left: lines are written as they come."""


class _CsvWriters(BulkWriterFactory):
    extension = ".csv"

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        if not schema.form.line_delimiter:
            raise ConfigError(
                "CSV_SIGN", "The line delimiter of a file of CSV is empty: its rows could not be told apart."
            )

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        return _CsvWriter(self._schema, file_object)


class CsvBulkWriters:
    """Makes writers of files of CSV."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Of rows of a schema."""
        return _CsvWriters(schema)
