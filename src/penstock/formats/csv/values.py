"""From the fields of CSV to values of declared types, and back."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from typing import Any

from penstock.errors import PlanError
from penstock.formats.csv_form import CsvForm
from penstock.formats.java_text import (
    clock_of,
    clock_text,
    date_of,
    instant_of,
    is_binary,
    moment_of,
    moment_of_instant,
    moment_text,
    parse_of,
)
from penstock.row import make_row
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.types.collection import SequenceTypeInfo
from penstock.types.flink_text import flink_text

Read = Callable[[str], Any]
Write = Callable[[Any], str]

_TEXTS = (BasicType.STRING, BasicType.CHAR)


def reader_of(kind: TypeInformation, form: CsvForm, ignore_errors: bool, nested: bool = False) -> Read:
    """What reads a field of a type; the null literal is None."""
    read = _reader(kind, form, ignore_errors, nested)
    null = form.null
    if ignore_errors:
        return _or_none(read, null)
    if null is None:
        return read
    return lambda text: None if text == null else read(text)


def _or_none(read: Read, null: str | None) -> Read:
    def tried(text: str) -> Any:
        try:
            return None if text == null else read(text)
        except (ValueError, ArithmeticError):
            return None

    return tried


def _reader(kind: TypeInformation, form: CsvForm, ignore_errors: bool, nested: bool) -> Read:
    if isinstance(kind, TimestampTypeInfo):
        return lambda text: moment_of(text.strip(), " ", "")
    if isinstance(kind, DateTypeInfo):
        return _date
    if isinstance(kind, TimeTypeInfo):
        return lambda text: clock_of(text.strip())
    if isinstance(kind, InstantTypeInfo):
        return lambda text: instant_of(moment_of(text.strip(), " ", "Z"))
    if (parse := parse_of(kind)) is not None:
        return parse
    if nested or not isinstance(kind, (RowTypeInfo, SequenceTypeInfo)):
        raise _not_in_csv(kind)
    if isinstance(kind, SequenceTypeInfo):
        element = reader_of(kind.element_type, form, ignore_errors, nested=True)
        return lambda text: [element(part) for part in text.split(form.array_delimiter)] if text else []
    return _row_reader(kind, form, ignore_errors)


def _date(text: str) -> datetime.date:
    """A date; months and days may have one digit."""
    parts = text.strip().split("-")
    return date_of("-".join(part.rjust(2, "0") for part in parts)) if len(parts) == 3 else date_of(text)


def _row_reader(kind: RowTypeInfo, form: CsvForm, ignore_errors: bool) -> Read:
    names = kind.get_field_names()
    parts = [reader_of(t, form, ignore_errors, nested=True) for t in kind.field_types]

    def read(text: str) -> Any:
        if not text:
            return None
        fields = text.split(form.array_delimiter)
        if len(fields) != len(parts) and not ignore_errors:
            raise ValueError(f"{len(fields)} parts in {text!r:.80}, and {len(parts)} are declared")
        values = [part(field) for part, field in zip(parts, fields, strict=False)]
        return make_row(names, values + [None] * (len(parts) - len(values)))

    return read


def _not_in_csv(kind: TypeInformation) -> PlanError:
    return PlanError(
        "CSV_TYPE",
        f"CSV has no form for {kind!r}. A field may be a single value, an array of single values, or a row of single values.",
    )


def writer_of(kind: TypeInformation, form: CsvForm, nested: bool = False) -> Write:
    """What writes a value (not None) of a type."""
    if isinstance(kind, TimestampTypeInfo):
        return flink_text(kind)
    if isinstance(kind, TimeTypeInfo):
        return clock_text
    if isinstance(kind, InstantTypeInfo):
        return lambda value: moment_text(moment_of_instant(value), " ", "Z")
    if is_binary(kind):
        return lambda value: base64.b64encode(value).decode()
    if isinstance(kind, BasicTypeInfo):
        return str if kind.basic_type in _TEXTS else flink_text(kind)
    if isinstance(kind, RowTypeInfo) and not nested:
        parts = [writer_of(t, form, nested=True) for t in kind.field_types]
        return lambda row: form.array_delimiter.join(
            (form.null or "") if v is None else part(v) for part, v in zip(parts, row, strict=True)
        )
    if isinstance(kind, SequenceTypeInfo) and not nested:
        element = writer_of(kind.element_type, form, nested=True)
        return lambda values: form.array_delimiter.join((form.null or "") if v is None else element(v) for v in values)
    if isinstance(kind, DateTypeInfo):
        return str
    raise _not_in_csv(kind)


def quotable(kind: TypeInformation) -> bool:
    """Whether a field may need quotes: numbers and truth values never do."""
    return not (isinstance(kind, BasicTypeInfo) and kind.basic_type not in (*_TEXTS, BasicType.INSTANT))
