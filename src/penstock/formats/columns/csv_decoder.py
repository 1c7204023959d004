"""The decoder of CSV records."""

from __future__ import annotations

import base64
import binascii
import datetime
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import ElementError
from penstock.formats.columns.interface import Decoded
from penstock.formats.columns.json_exact import clock_of, date_of, float_of, integer_of
from penstock.formats.columns.json_struct import Build, decimal_column, list_column
from penstock.formats.columns.record_error import misfit, no_such_type, unreadable
from penstock.formats.columns.temporal_text import parse_dates, parse_times, parse_timestamps
from penstock.formats.csv.dialect import CsvDialect
from penstock.formats.java_text import parse_decimal
from penstock.runtime.relational.changes import Changes
from penstock.types.logical.arrow import arrow_type, timestamp_unit
from penstock.types.logical.kinds import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    Field,
    FloatType,
    IntegerType,
    LogicalType,
    RowType,
    TimestampType,
    TimeType,
)

Texts = list[str | None]
Read = Callable[[str], Any]  # a text to a value that `Build` takes; raises ValueError
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_UNSAFE = "[^0-9eE+. -]"  # characters of numbers that Arrow and Java may read differently


class CsvDecoder:
    """Decodes one CSV line per record.

    `fields` are all fields of the lines; `wanted` are the positions of those that become columns.

    >>> from penstock.types.logical.kinds import INT, STRING
    >>> decoder = CsvDecoder([Field("a", INT), Field("b", STRING)])
    >>> decoded = decoder.decode([b'1,"x,y"', b"z,", b"2"])
    >>> [c.to_pylist() for c in decoded.changes.columns], [at for at, _ in decoded.bad]
    ([[1], ['x,y']], [1, 2])
    """

    def __init__(
        self,
        fields: Sequence[Field],
        wanted: Sequence[int] | None = None,
        dialect: CsvDialect | None = None,
        ignore_parse_errors: bool = False,
    ) -> None:
        self.fields = tuple(fields)
        self.wanted = tuple(range(len(fields)) if wanted is None else wanted)
        self.dialect = dialect or CsvDialect()
        self.dialect.check()
        self.lenient = ignore_parse_errors
        _ = self._columns  # refuses types that CSV does not have

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_columns"}

    @cached_property
    def _columns(self) -> list[_Column]:
        return [_Column(self.fields[i], self.dialect) for i in self.wanted]

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes the elements of one chunk: bytes or text."""
        lines, origins, bad = self._lines(elements)
        columns: list[pa.Array] = []
        misfits: dict[int, Exception] = {}
        cells = list(zip(*lines, strict=True)) if lines else [()] * len(self.fields)
        for at, column in zip(self.wanted, self._columns, strict=True):
            columns.append(column.build(list(cells[at]), self.lenient, misfits))
        count = len(lines)
        if misfits:
            kept = np.array([i for i in range(count) if i not in misfits], np.int64)
            bad += [(origins[i], error) for i, error in misfits.items()]
            columns = [column.take(pa.array(kept)) for column in columns]
            origins, count = [origins[i] for i in kept], len(kept)
        bad.sort(key=lambda entry: entry[0])
        same = count == len(elements)
        return Decoded(
            Changes(columns, count), None if same else np.array(origins, np.int64), [] if self.lenient else bad
        )

    def _lines(self, elements: list[Any]) -> tuple[list[list[Any]], list[int], list[tuple[int, Exception]]]:
        """Returns the cells of each line that has as many as there are fields, with its position."""
        bad: list[tuple[int, Exception]] = []
        try:
            texts = [e if isinstance(e, str) else str(e, "utf-8") for e in elements]
            rows: list[Any] = self.dialect.fields(texts)
        except Exception:
            texts, rows = [], []
            for at, element in enumerate(elements):
                texts.append("")
                rows.append(None)
                if element is None:
                    continue
                try:
                    texts[-1] = element if isinstance(element, str) else str(element, "utf-8")
                    rows[-1] = self.dialect.fields([texts[-1]])[0]
                except Exception as error:
                    bad.append((at, unreadable("a CSV line", error)))
        count = len(self.fields)
        if not self.dialect.comments and all(row is not None and len(row) == count for row in rows):
            return rows, list(range(len(rows))), bad
        kept, origins = [], []
        for at, row in enumerate(rows):
            if row is None or (self.dialect.comments and texts[at].lstrip().startswith("#")):
                continue
            row = row or [""]
            if len(row) < count and self.lenient:
                row = [*row, *[None] * (count - len(row))]
            if len(row) != count:
                bad.append((at, _wrong_count(len(row), count)))
                continue
            kept.append(row)
            origins.append(at)
        return kept, origins, bad


def _wrong_count(found: int, expected: int) -> ElementError:
    return ElementError("RECORD_FORMAT", f"Row length mismatch. {expected} fields expected but was {found}.")


class _Column:
    """Converts the cells of a column, all at once if that succeeds, else one by one."""

    def __init__(self, field: Field, dialect: CsvDialect) -> None:
        self._field = field
        self._null = dialect.null
        self._fast = _fast_builder(field.type)
        self._read, self._build = _reader(field.type, dialect)

    def build(self, texts: Texts, lenient: bool, misfits: dict[int, Exception]) -> pa.Array:
        if self._null is not None:
            texts = [None if text == self._null else text for text in texts]
        if self._fast is not None:
            try:
                return self._fast(texts)
            except Exception:  # a text is not a value; the exact way below finds out which one
                pass
        values: list[Any] = []
        for at, text in enumerate(texts):
            try:
                values.append(None if text is None else self._read(text))
            except ValueError:
                values.append(None)
                if not lenient:
                    misfits.setdefault(at, misfit(self._field.name, self._field.type, text))
        return self._build(values)


def _fast_builder(type_: LogicalType) -> Callable[[Texts], pa.Array] | None:
    """Returns a function that converts cells by columns. It raises an exception if one of them is unusual."""
    arrow = arrow_type(type_)
    match type_:
        case CharType():
            return lambda texts: pa.array(texts, pa.string())
        case BooleanType():
            return lambda texts: pc.equal(pc.utf8_lower(_trimmed(texts)), "true")
        case IntegerType() | FloatType():
            return lambda texts: _checked(_trimmed(texts)).cast(arrow)
        case DateType():
            return lambda texts: parse_dates(pa.array(texts, pa.string()))
        case TimeType():
            return lambda texts: parse_times(pa.array(texts, pa.string()))
        case TimestampType():
            unit, suffix = timestamp_unit(type_.precision), "Z" if type_.local else ""
            return lambda texts: parse_timestamps(pa.array(texts, pa.string()), unit, " ", suffix)
    return None


def _trimmed(texts: Texts) -> pa.Array:
    return pc.utf8_trim(pa.array(texts, pa.string()), characters=" \t\r\n")


def _checked(texts: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(texts, _UNSAFE)).as_py():
        raise ValueError
    return texts


def _reader(type_: LogicalType, dialect: CsvDialect) -> tuple[Read, Build]:
    """Returns the exact conversion of one cell, and the column of its results."""
    arrow = arrow_type(type_)
    match type_:
        case CharType():
            return str, lambda values: pa.array(values, arrow)
        case BooleanType():
            return lambda text: text.strip().lower() == "true", lambda values: pa.array(values, arrow)
        case IntegerType():
            return lambda text: integer_of(text, type_.bits), lambda values: pa.array(values, arrow)
        case FloatType():
            return float_of, lambda values: pa.array(values, arrow)
        case DecimalType():
            return _decimal, lambda values: decimal_column(values, type_)
        case BinaryType():
            return _bytes, lambda values: pa.array(values, arrow)
        case DateType():
            return _date, lambda values: parse_dates(pa.array(values, pa.string()))
        case TimeType():
            return lambda text: clock_of(text, True), lambda values: parse_times(pa.array(values, pa.string()))
        case TimestampType():
            unit, suffix = timestamp_unit(type_.precision), "Z" if type_.local else ""
            return _timestamp(suffix), lambda values: parse_timestamps(pa.array(values, pa.string()), unit, " ", suffix)
        case ArrayType():
            read, build = _reader(type_.element, dialect)
            delimiter, null = dialect.array_delimiter, dialect.null
            return (
                lambda text: [None if part == null else read(part) for part in (text.split(delimiter) if text else ())],
                lambda values: list_column(values, build),
            )
        case RowType():
            return _row_reader(type_, dialect)
    raise no_such_type("csv", type_)


def _row_reader(type_: RowType, dialect: CsvDialect) -> tuple[Read, Build]:
    parts = [_reader(field.type, dialect) for field in type_.fields]
    delimiter, null, kind = dialect.array_delimiter, dialect.null, arrow_type(type_)

    def read(text: str) -> list[Any]:
        cells = text.split(delimiter)
        if len(cells) != len(parts):
            raise ValueError
        return [None if c == null else read_part(c) for c, (read_part, _) in zip(cells, parts, strict=True)]

    def build(values: list[Any]) -> pa.Array:
        mask = pa.array([v is None for v in values], pa.bool_())
        empty: list[Any] = [None] * len(parts)
        columns = [part([(v or empty)[i] for v in values]) for i, (_, part) in enumerate(parts)]
        return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)

    return read, build


def _decimal(text: str) -> Decimal:
    if text != text.strip():  # Java's decimals have no blanks around them
        raise ValueError
    return parse_decimal(text)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError from None


def _date(text: str) -> str:
    """Reads a date as java.sql.Date.valueOf does: months and days may have one digit, and day 31 may be in the next month."""
    match = _DATE.fullmatch(text)
    if match is None or not 1 <= int(match[3]) <= 31:
        raise ValueError
    first = datetime.date(int(match[1]), int(match[2]), 1)
    return str(first + datetime.timedelta(days=int(match[3]) - 1))


def _timestamp(suffix: str) -> Read:
    def read(text: str) -> str:
        if text[10:11] != " " or not text.endswith(suffix):
            raise ValueError
        return f"{date_of(text[:10], True)} {clock_of(text[11 : len(text) - len(suffix)], False)}{suffix}"

    return read
