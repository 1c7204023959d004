"""Rows from CSV and to CSV, a message a line, under Flink's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

from penstock.errors import ConfigError
from penstock.formats.csv_form import CsvForm
from penstock.formats.csv_values import Read, quotable, reader_of, writer_of
from penstock.formats.fitting import as_type, no_row_type
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.row import Row, make_row
from penstock.types import BasicType, BasicTypeInfo, RowTypeInfo, TypeInformation


class _Signs:
    """What the builders of both schemas collect."""

    def __init__(self, schema: str, type_info: TypeInformation) -> None:
        if not isinstance(type_info, RowTypeInfo):
            raise no_row_type(schema, type_info)
        self._type_info = type_info
        self._form = CsvForm()

    def set_array_element_delimiter(self, delimiter: str) -> Self:
        """The sign between the elements of an array or of a row in a field; a semicolon unless it is set."""
        self._form = replace(self._form, array_delimiter=delimiter)
        return self

    def set_quote_character(self, c: str) -> Self:
        """The sign around fields that hold other signs; a double quote unless it is set."""
        self._form = replace(self._form, quote=c)
        return self

    def set_escape_character(self, c: str) -> Self:
        """The sign before signs that are meant as they are; there is none unless it is set."""
        self._form = replace(self._form, escape=c)
        return self


class CsvRowDeserializationSchema(DeserializationSchema[Row]):
    """Lines of CSV as rows, field by field.

    >>> from penstock.types import Types
    >>> event = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    >>> schema = CsvRowDeserializationSchema.Builder(event).set_field_delimiter(";").set_null_literal("-").build()
    >>> schema.decode([b'"Ada; Countess";36', b"Grace;-"])
    [Row(name='Ada; Countess', age=36), Row(name='Grace', age=None)]
    """

    def __init__(self, type_info: RowTypeInfo, form: CsvForm | None = None, ignore_parse_errors: bool = False) -> None:
        self.output_type = type_info
        self.output_is_exact = type_info.exact
        self.ignores_errors = ignore_parse_errors
        self.form = form or CsvForm()
        self.form.check()
        _ = self._readers  # a type that CSV has no form for is told at once

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_readers"}

    @cached_property
    def _readers(self) -> list[Read | None]:
        """What reads each field; None where its text is its value."""
        plain = self.form.null is None and not self.ignores_errors
        return [
            None if plain and _is_text(t) else reader_of(t, self.form, self.ignores_errors)
            for t in self.output_type.field_types
        ]

    def deserialize(self, message: bytes) -> Row | None:
        return self.decode([message])[0]

    def decode(self, messages: Sequence[bytes]) -> list[Row | None]:
        lines = [str(message, "utf-8") for message in messages]
        if self.form.comments and any(line.lstrip().startswith("#") for line in lines):
            raise ValueError("the line is a comment, and there is no row in it")
        if "" in lines:
            raise ValueError("the message is empty")
        return self.rows(self.form.fields(lines))

    def rows(self, lines: Sequence[list[str]]) -> list[Row | None]:
        """Rows of the fields of lines."""
        names, count = self.output_type.get_field_names(), len(self._readers)
        lines = [fields or [""] for fields in lines]
        if not all(len(fields) == count for fields in lines):
            lines = [self._of_length(fields, count) for fields in lines]
        columns: list[Any] = []
        for name, read, column in zip(names, self._readers, zip(*lines, strict=True), strict=False):
            try:
                columns.append(column if read is None else [None if text is None else read(text) for text in column])
            except (ValueError, ArithmeticError) as error:
                raise ValueError(f"field '{name}': {error}") from error
        return [make_row(names, list(values)) for values in zip(*columns, strict=True)]

    def _of_length(self, fields: list[str], count: int) -> list[Any]:
        """A line with too few fields is filled up where errors are ignored."""
        if len(fields) < count and self.ignores_errors:
            return [*fields, *[None] * (count - len(fields))]
        if len(fields) != count:
            raise ValueError(f"the line has {len(fields)} fields, and {count} are declared")
        return fields

    class Builder(_Signs):
        """Collects the settings of a schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            super().__init__("CsvRowDeserializationSchema", type_info)
            self._ignores = False

        def set_field_delimiter(self, delimiter: str) -> Self:
            """The sign between fields; a comma unless it is set."""
            self._form = replace(self._form, delimiter=delimiter)
            return self

        def set_allow_comments(self, allow_comments: bool) -> Self:
            """Lines that begin with # are no rows: they do not decode. Ignore errors too to have them dropped."""
            self._form = replace(self._form, comments=allow_comments)
            return self

        def set_null_literal(self, null_literal: str) -> Self:
            """The text that stands for None."""
            self._form = replace(self._form, null=null_literal)
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> Self:
            """Fields that do not convert become None, and lines that cannot be read are dropped and counted."""
            self._ignores = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """The schema."""
            return CsvRowDeserializationSchema(self._type_info, self._form, self._ignores)


class CsvRowSerializationSchema(SerializationSchema[Any]):
    """Rows as lines of CSV.

    >>> from penstock.types import Types
    >>> event = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    >>> CsvRowSerializationSchema.Builder(event).set_null_literal("-").build().encode([Row(name="Ada L.", age=None)])
    [b'"Ada L.",-\\n']
    """

    def __init__(self, type_info: RowTypeInfo, form: CsvForm | None = None) -> None:
        self.type_info = type_info
        self.form = form or CsvForm()
        self.form.check()
        _ = self._writers

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_writers"}

    @cached_property
    def _writers(self) -> list[Any]:
        return [writer_of(t, self.form) for t in self.type_info.field_types]

    def serialize(self, element: Any) -> bytes:
        return self.encode([element])[0]

    def encode(self, values: list[Any]) -> list[bytes]:
        return [line.encode() for line in self.lines(values)]

    def lines(self, values: list[Any]) -> list[str]:
        """The text of each row."""
        writers, line = self._writers, self.form.line
        may_quote = [quotable(t) for t in self.type_info.field_types]
        rows = as_type("CsvRowSerializationSchema", self.type_info, values)
        return [
            line([None if v is None else w(v) for w, v in zip(writers, row, strict=True)], may_quote) for row in rows
        ]

    class Builder(_Signs):
        """Collects the settings of a schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            super().__init__("CsvRowSerializationSchema", type_info)

        def set_field_delimiter(self, c: str) -> Self:
            """The sign between fields; a comma unless it is set."""
            self._form = replace(self._form, delimiter=c)
            return self

        def set_line_delimiter(self, delimiter: str) -> Self:
            """What ends each line; \\n unless it is set."""
            self._form = replace(self._form, line_delimiter=delimiter)
            return self

        def disable_quote_character(self) -> Self:
            """No field is quoted."""
            self._form = replace(self._form, quote=None)
            return self

        def set_null_literal(self, s: str) -> Self:
            """The text that stands for None; an empty one unless it is set."""
            self._form = replace(self._form, null=s)
            return self

        def build(self) -> CsvRowSerializationSchema:
            """The schema."""
            if self._form.delimiter == self._form.quote:
                raise ConfigError(
                    "CSV_SIGN", f"The field delimiter and the quote of CSV are both {self._form.quote!r}."
                )
            return CsvRowSerializationSchema(self._type_info, self._form)


def _is_text(kind: TypeInformation) -> bool:
    return isinstance(kind, BasicTypeInfo) and kind.basic_type in (BasicType.STRING, BasicType.CHAR)
