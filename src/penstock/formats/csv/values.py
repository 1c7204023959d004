"""Converts between CSV fields and values of declared types."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from typing import Any

from penstock.errors import PlanError
from penstock.formats.csv.dialect import CsvDialect
from penstock.formats.java_text import (
    format_time,
    format_timestamp,
    from_instant,
    parse_base64,
    parse_date,
    parse_time,
    parse_timestamp,
    parser_for,
    to_instant,
)
from penstock.row import make_row
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    Misfit,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.types.collection import BytesTypeInfo, SequenceTypeInfo
from penstock.types.flink_text import flink_formatter
from penstock.types.visitor import DefaultTypeVisitor

Read = Callable[[str], Any]
Write = Callable[[Any], str]

_TEXTS = (BasicType.STRING, BasicType.CHAR)


def field_reader(kind: TypeInformation, form: CsvDialect, ignore_errors: bool, nested: bool = False) -> Read:
    """Returns the parser of a field. It converts the null literal to None."""
    read = _Readers(form, ignore_errors, nested).visit(kind)
    null = form.null
    if ignore_errors:
        return _or_none(read, null)
    if null is None:
        return read
    return lambda text: None if text == null else read(text)


def _or_none(read: Read, null: str | None) -> Read:
    def read_or_none(text: str) -> Any:
        try:
            return None if text == null else read(text)
        except (ValueError, ArithmeticError):
            return None

    return read_or_none


class _Readers(DefaultTypeVisitor[Read]):
    def __init__(self, form: CsvDialect, ignore_errors: bool, nested: bool) -> None:
        self._form = form
        self._ignore_errors = ignore_errors
        self._nested = nested

    def visit_default(self, type_info: TypeInformation) -> Read:
        raise _unsupported_type(type_info)

    def visit_basic(self, type_info: BasicTypeInfo) -> Read:
        parse = parser_for(type_info.basic_type)
        return _scaled(parse, type_info) if isinstance(type_info, DecimalTypeInfo) else parse

    def visit_instant(self, type_info: BasicTypeInfo) -> Read:
        return lambda text: to_instant(parse_timestamp(text.strip(), " ", "Z"))

    def visit_date(self, type_info: DateTypeInfo) -> Read:
        return _date

    def visit_time(self, type_info: TimeTypeInfo) -> Read:
        return lambda text: parse_time(text.strip())

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> Read:
        return lambda text: parse_timestamp(text.strip(), " ", "")

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> Read:
        return parse_base64

    def visit_list(self, type_info: SequenceTypeInfo) -> Read:
        if self._nested:
            raise _unsupported_type(type_info)
        delimiter = self._form.array_delimiter
        element = field_reader(type_info.element_type, self._form, self._ignore_errors, nested=True)
        return lambda text: [element(part) for part in text.split(delimiter)] if text else []

    def visit_row(self, type_info: RowTypeInfo) -> Read:
        if self._nested:
            raise _unsupported_type(type_info)
        return _row_reader(type_info, self._form, self._ignore_errors)


def _scaled(parse: Read, kind: DecimalTypeInfo) -> Read:
    def read(text: str) -> Any:
        try:
            return kind.convert(parse(text))
        except Misfit as misfit:
            raise ValueError(str(misfit)) from None

    return read


def _date(text: str) -> datetime.date:
    """Parses a date. Months and days may have one digit."""
    parts = text.strip().split("-")
    return parse_date("-".join(part.rjust(2, "0") for part in parts)) if len(parts) == 3 else parse_date(text)


def _row_reader(kind: RowTypeInfo, form: CsvDialect, ignore_errors: bool) -> Read:
    names = kind.get_field_names()
    parts = [field_reader(t, form, ignore_errors, nested=True) for t in kind.field_types]

    def read(text: str) -> Any:
        if not text:
            return None
        fields = text.split(form.array_delimiter)
        if len(fields) != len(parts) and not ignore_errors:
            raise ValueError(f"{len(fields)} parts in {text!r:.80}; expected {len(parts)}")
        values = [part(field) for part, field in zip(parts, fields, strict=False)]
        return make_row(names, values + [None] * (len(parts) - len(values)))

    return read


def _unsupported_type(kind: TypeInformation) -> PlanError:
    return PlanError(
        "CSV_TYPE",
        f"CSV does not support {kind!r}. A field can be a single value, an array of single values, or a row of single values.",
    )


def field_writer(kind: TypeInformation, form: CsvDialect, nested: bool = False) -> Write:
    """Returns the formatter of a type. It does not accept None."""
    return _Writers(form, nested).visit(kind)


class _Writers(DefaultTypeVisitor[Write]):
    def __init__(self, form: CsvDialect, nested: bool) -> None:
        self._form = form
        self._nested = nested

    def visit_default(self, type_info: TypeInformation) -> Write:
        raise _unsupported_type(type_info)

    def visit_basic(self, type_info: BasicTypeInfo) -> Write:
        return str if type_info.basic_type in _TEXTS else flink_formatter(type_info)

    def visit_instant(self, type_info: BasicTypeInfo) -> Write:
        return lambda value: format_timestamp(from_instant(value), " ", "Z")

    def visit_date(self, type_info: DateTypeInfo) -> Write:
        return str

    def visit_time(self, type_info: TimeTypeInfo) -> Write:
        return format_time

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> Write:
        return flink_formatter(type_info)

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> Write:
        return lambda value: base64.b64encode(value).decode()

    def visit_list(self, type_info: SequenceTypeInfo) -> Write:
        if self._nested:
            raise _unsupported_type(type_info)
        element = field_writer(type_info.element_type, self._form, nested=True)
        null, delimiter = self._form.null or "", self._form.array_delimiter
        return lambda values: delimiter.join(null if v is None else element(v) for v in values)

    def visit_row(self, type_info: RowTypeInfo) -> Write:
        if self._nested:
            raise _unsupported_type(type_info)
        parts = [field_writer(t, self._form, nested=True) for t in type_info.field_types]
        null, delimiter = self._form.null or "", self._form.array_delimiter
        return lambda row: delimiter.join(null if v is None else part(v) for part, v in zip(parts, row, strict=True))


def may_need_quotes(kind: TypeInformation) -> bool:
    """Whether a field may need quotes. Numbers and booleans never do."""
    return not (isinstance(kind, BasicTypeInfo) and kind.basic_type not in (*_TEXTS, BasicType.INSTANT))
