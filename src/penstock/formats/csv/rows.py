"""CSV schemas of rows, with one line per message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

from penstock.errors import ConfigError
from penstock.formats.csv.dialect import CsvDialect
from penstock.formats.csv.values import Read, field_reader, field_writer, may_need_quotes
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.formats.type_check import convert_elements_to, row_type_error
from penstock.row import Row, make_row
from penstock.types import BasicType, BasicTypeInfo, RowTypeInfo, TypeInformation


class _DialectSettings:
    """Settings of both builders."""

    def __init__(self, schema: str, type_info: TypeInformation) -> None:
        if not isinstance(type_info, RowTypeInfo):
            raise row_type_error(schema, type_info)
        self._type_info = type_info
        self._form = CsvDialect()

    def set_array_element_delimiter(self, delimiter: str) -> Self:
        """Sets the delimiter of array elements and of the fields of nested rows. The default is a semicolon."""
        self._form = replace(self._form, array_delimiter=delimiter)
        return self

    def set_quote_character(self, c: str) -> Self:
        """Sets the quote character. The default is a double quote."""
        self._form = replace(self._form, quote=c)
        return self

    def set_escape_character(self, c: str) -> Self:
        """Sets the escape character. By default there is none."""
        self._form = replace(self._form, escape=c)
        return self


class CsvRowDeserializationSchema(DeserializationSchema[Row]):
    """Deserializes CSV lines to rows.

    >>> from penstock.types import Types
    >>> event = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    >>> schema = CsvRowDeserializationSchema.Builder(event).set_field_delimiter(";").set_null_literal("-").build()
    >>> schema.decode([b'"Ada; Countess";36', b"Grace;-"])
    [Row(name='Ada; Countess', age=36), Row(name='Grace', age=None)]
    """

    def __init__(
        self,
        type_info: RowTypeInfo,
        form: CsvDialect | None = None,
        ignore_parse_errors: bool = False,
        array_delimiters: Mapping[str, str] | None = None,
    ) -> None:
        self.output_type = type_info
        self.output_is_exact = type_info.exact
        self.ignores_errors = ignore_parse_errors
        self.form = form or CsvDialect()
        self.form.check()
        self._array_delimiters = dict(array_delimiters or {})
        _ = self._readers  # raises an error now if CSV does not support a type

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_readers"}

    @cached_property
    def _readers(self) -> list[Read | None]:
        """The parser of each field, or None if the text itself is the value."""
        plain = self.form.null is None and not self.ignores_errors
        return [
            None if plain and _is_text(t) else field_reader(t, form, self.ignores_errors)
            for t, form in zip(self.output_type.field_types, self._forms(), strict=True)
        ]

    def _forms(self) -> list[CsvDialect]:
        return _forms_of_fields(self.output_type, self.form, self._array_delimiters)

    def deserialize(self, message: bytes) -> Row | None:
        return self.decode([message])[0]

    def decode(self, messages: Sequence[bytes]) -> list[Row | None]:
        lines = [str(message, "utf-8") for message in messages]
        if self.form.comments and any(line.lstrip().startswith("#") for line in lines):
            raise ValueError("the line is a comment and contains no row")
        if "" in lines:
            raise ValueError("the message is empty")
        return self.rows(self.form.fields(lines))

    def rows(self, lines: Sequence[list[str]]) -> list[Row | None]:
        """Converts the fields of lines to rows."""
        names, count = self.output_type.get_field_names(), len(self._readers)
        lines = [fields or [""] for fields in lines]
        if not all(len(fields) == count for fields in lines):
            lines = [self._pad_fields(fields, count) for fields in lines]
        columns: list[Any] = []
        for name, read, column in zip(names, self._readers, zip(*lines, strict=True), strict=False):
            try:
                columns.append(column if read is None else [None if text is None else read(text) for text in column])
            except (ValueError, ArithmeticError) as error:
                raise ValueError(f"field '{name}': {error}") from error
        return [make_row(names, list(values)) for values in zip(*columns, strict=True)]

    def _pad_fields(self, fields: list[str], count: int) -> list[Any]:
        """Adds missing fields if errors are ignored. Raises ValueError for another number of fields."""
        if len(fields) < count and self.ignores_errors:
            return [*fields, *[None] * (count - len(fields))]
        if len(fields) != count:
            raise ValueError(f"the line has {len(fields)} fields; expected {count}")
        return fields

    class Builder(_DialectSettings):
        """Builds the schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            super().__init__("CsvRowDeserializationSchema", type_info)
            self._ignores = False

        def set_field_delimiter(self, delimiter: str) -> Self:
            """Sets the field delimiter. The default is a comma."""
            self._form = replace(self._form, delimiter=delimiter)
            return self

        def set_allow_comments(self, allow_comments: bool) -> Self:
            """Makes lines that start with # invalid. With set_ignore_parse_errors(True), they are dropped."""
            self._form = replace(self._form, comments=allow_comments)
            return self

        def set_null_literal(self, null_literal: str) -> Self:
            """Sets the string that represents None."""
            self._form = replace(self._form, null=null_literal)
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> Self:
            """Sets fields that cannot be parsed to None, and drops and counts lines that cannot be read."""
            self._ignores = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Builds the schema."""
            return CsvRowDeserializationSchema(self._type_info, self._form, self._ignores)


class CsvRowSerializationSchema(SerializationSchema[Any]):
    """Serializes rows to CSV lines.

    >>> from penstock.types import Types
    >>> event = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    >>> CsvRowSerializationSchema.Builder(event).set_null_literal("-").build().encode([Row(name="Ada L.", age=None)])
    [b'"Ada L.",-\\n']
    """

    def __init__(
        self,
        type_info: RowTypeInfo,
        form: CsvDialect | None = None,
        array_delimiters: Mapping[str, str] | None = None,
    ) -> None:
        self.type_info = type_info
        self.form = form or CsvDialect()
        self.form.check()
        self._array_delimiters = dict(array_delimiters or {})
        _ = self._writers

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_writers"}

    @cached_property
    def _writers(self) -> list[Any]:
        forms = _forms_of_fields(self.type_info, self.form, self._array_delimiters)
        return [field_writer(t, form) for t, form in zip(self.type_info.field_types, forms, strict=True)]

    def serialize(self, element: Any) -> bytes:
        return self.encode([element])[0]

    def encode(self, values: list[Any]) -> list[bytes]:
        return [line.encode() for line in self.lines(values)]

    def lines(self, values: list[Any]) -> list[str]:
        """Returns the line of each row."""
        writers, line = self._writers, self.form.line
        may_quote = [may_need_quotes(t) for t in self.type_info.field_types]
        rows = convert_elements_to("CsvRowSerializationSchema", self.type_info, values)
        return [
            line([None if v is None else w(v) for w, v in zip(writers, row, strict=True)], may_quote) for row in rows
        ]

    class Builder(_DialectSettings):
        """Builds the schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            super().__init__("CsvRowSerializationSchema", type_info)

        def set_field_delimiter(self, c: str) -> Self:
            """Sets the field delimiter. The default is a comma."""
            self._form = replace(self._form, delimiter=c)
            return self

        def set_line_delimiter(self, delimiter: str) -> Self:
            """Sets the line delimiter. The default is \\n."""
            self._form = replace(self._form, line_delimiter=delimiter)
            return self

        def disable_quote_character(self) -> Self:
            """Disables quotes."""
            self._form = replace(self._form, quote=None)
            return self

        def set_null_literal(self, s: str) -> Self:
            """Sets the string that represents None. The default is an empty string."""
            self._form = replace(self._form, null=s)
            return self

        def build(self) -> CsvRowSerializationSchema:
            """Builds the schema."""
            if self._form.delimiter == self._form.quote:
                raise ConfigError(
                    "CSV_SIGN",
                    f"The field delimiter and the quote character of CSV are both {self._form.quote!r}. Change one of them.",
                )
            return CsvRowSerializationSchema(self._type_info, self._form)


def _forms_of_fields(kind: RowTypeInfo, form: CsvDialect, array_delimiters: Mapping[str, str]) -> list[CsvDialect]:
    """Returns the dialect of each field, which differ only in the delimiter of array elements."""
    return [
        replace(form, array_delimiter=array_delimiters[name]) if name in array_delimiters else form
        for name in kind.get_field_names()
    ]


def _is_text(kind: TypeInformation) -> bool:
    return isinstance(kind, BasicTypeInfo) and kind.basic_type in (BasicType.STRING, BasicType.CHAR)
