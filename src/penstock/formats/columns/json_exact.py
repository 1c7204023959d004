"""Reads JSON values as Flink's JSON format does: numbers in strings, strings in numbers, and so on. Slow and exact.

The results are the structs of `json_struct`, so that records of both paths become columns together.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from penstock.errors import ElementError
from penstock.formats.columns.json_struct import StructColumns
from penstock.formats.columns.record_error import misfit, shown, unreadable
from penstock.formats.java_text import parse_decimal
from penstock.runtime.relational.java.numbers import double_text, parse_double
from penstock.types.logical.kinds import (
    INT,
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
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)

Convert = Callable[[Any], Any]
_INTEGER = re.compile(r"[+-]?\d+")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_CLOCK = re.compile(r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{0,9}))?)?")
_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class NumberText(str):
    """A number of a JSON text, as it is written."""

    __slots__ = ()


def load_json(text: bytes | str) -> Any:
    """Parses the first JSON value of a text and keeps its numbers as they are written. What follows it is ignored, as in Flink."""
    try:
        return _PARSER.raw_decode((text.decode() if isinstance(text, bytes) else str(text)).lstrip())[0]
    except (ValueError, RecursionError) as error:
        raise unreadable("JSON", error) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


_PARSER = json.JSONDecoder(strict=False, parse_float=NumberText, parse_int=NumberText, parse_constant=_refuse_constant)


class ExactReader:
    """Converts JSON objects to structs.

    >>> columns = StructColumns([Field("a", INT)], " ")
    >>> ExactReader([Field("a", INT)], columns, " ").read(b'{"a": " 7 "}')
    [Record(f0=7)]
    """

    def __init__(
        self,
        fields: Sequence[Field],
        columns: StructColumns,
        separator: str,
        required: bool = False,
        lenient: bool = False,
    ) -> None:
        self._separator = separator
        self._required = required
        self._lenient = lenient  # values that cannot be converted become null
        self._row = self._row_converter(fields, columns, "")

    def read(self, text: bytes | str) -> list[Any]:
        """Returns the structs of a record: one of an object, several of an array. Raises ElementError if it does not fit."""
        value = load_json(text)
        return [self.convert(v) for v in value] if isinstance(value, list) else [self.convert(value)]

    def convert(self, value: Any) -> Any:
        """Returns the struct of a parsed object."""
        if not isinstance(value, dict):
            raise unreadable("a JSON object", f"it is {shown(value)}")
        return self._row(value)

    def _converter(self, type_: LogicalType, columns: StructColumns | None, path: str) -> Convert:
        convert = self._plain_converter(type_, columns, path)

        def checked(value: Any) -> Any:
            if value is None:
                return None
            try:
                return convert(value)
            except ElementError:
                if not self._lenient:
                    raise
            except (ValueError, TypeError, ArithmeticError):
                if not self._lenient:
                    raise misfit(path, type_, _plain(value)) from None
            return None

        return checked

    def _plain_converter(self, type_: LogicalType, columns: Any, path: str) -> Convert:
        match type_:
            case BooleanType():
                return lambda value: value if isinstance(value, bool) else _text(value).strip().lower() == "true"
            case IntegerType():
                return lambda value: integer_of(value, type_.bits)
            case FloatType():
                return float_of
            case DecimalType():
                return decimal_of
            case CharType():
                return text_of
            case BinaryType():
                return bytes_of
            case DateType():
                return lambda value: date_of(_text(value))
            case TimeType():
                return lambda value: clock_of(_text(value), False)
            case TimestampType():
                return self._timestamp_converter(type_)
            case ArrayType():
                element = self._converter(type_.element, columns, path)
                return lambda value: [element(v) for v in _kind(value, list)]
            case MapType():
                item = self._converter(type_.value, columns, path)
                return lambda value: {k: item(v) for k, v in _kind(value, dict).items()}
            case MultisetType():
                count = self._converter(INT, None, path)
                return lambda value: {k: count(v) for k, v in _kind(value, dict).items()}
            case RowType():
                return self._row_converter(type_.fields, columns, path)
        return lambda value: None

    def _timestamp_converter(self, type_: TimestampType) -> Convert:
        separator, suffix = self._separator, "Z" if type_.local else ""
        iso = separator == "T"

        def timestamp(value: Any) -> str:
            text = _text(value)
            if not text.endswith(suffix) or text[10:11] != separator:
                raise ValueError
            return (
                f"{date_of(text[:10], not iso)}{separator}{clock_of(text[11 : len(text) - len(suffix)], iso)}{suffix}"
            )

        return timestamp

    def _row_converter(self, fields: Sequence[Field], columns: StructColumns, path: str) -> Convert:
        fields = [fields[i] for i in columns.read]
        names = [field.name for field in fields]
        prefix = f"{path}." if path else ""
        converts = [
            self._converter(field.type, nested, f"{prefix}{field.name}")
            for field, nested in zip(fields, columns.nested, strict=True)
        ]
        struct, required = columns.struct, self._required

        def row(value: Any) -> Any:
            _kind(value, dict)
            if required:
                for name in names:
                    if name not in value:
                        raise ElementError(
                            "RECORD_FIELD",
                            f"The record has no field '{prefix}{name}'. Add it, or remove 'fail-on-missing-field'.",
                        )
            return struct(*[convert(value.get(name)) for name, convert in zip(names, converts, strict=True)])

        return row


def _kind(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError
    return value


def _text(value: Any) -> str:
    """Returns the text of a scalar. Fails for arrays and objects."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    raise ValueError


def text_of(value: Any) -> str:
    """Returns a value as text; arrays and objects as compact JSON."""
    return _text(value) if isinstance(value, (str, bool)) else _json(value)


def _json(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case NumberText():
            return str(value) if _INTEGER.fullmatch(value) else double_text(float(value))
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{','.join(map(_json, value))}]"
    return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{_json(v)}" for k, v in value.items()) + "}"


def integer_of(value: Any, bits: int) -> int:
    """Reads an integer; the fraction of a number is cut, and a text must be an integer."""
    text = _text(value).strip()
    if _INTEGER.fullmatch(text):
        number = int(text)
    elif isinstance(value, NumberText) and bits >= 32:
        number = int(Decimal(text))
    else:
        raise ValueError
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError
    return number


def float_of(value: Any) -> float:
    """Reads a number as Double.parseDouble does."""
    number = parse_double(_text(value))
    if number is None or isinstance(value, bool):
        raise ValueError
    return number


def decimal_of(value: Any) -> Decimal:
    """Reads a decimal without rounding."""
    return parse_decimal(_text(value))


def bytes_of(value: Any) -> bytes:
    """Reads base64 with padding."""
    if not isinstance(value, str) or isinstance(value, NumberText):
        raise ValueError
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError from None


def date_of(text: str, clamp: bool = False) -> str:
    """Checks a date such as 2024-05-01. With `clamp`, day 31 of a shorter month is its last day, as in Flink's SQL timestamps."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError
    year, month, day = map(int, match.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise ValueError
    last = _MONTHS[month - 1] - (month == 2 and not leap)
    if day > last:
        if not clamp:
            raise ValueError
        return f"{text[:8]}{last}"
    return text


def clock_of(text: str, seconds_optional: bool) -> str:
    """Checks a time of day and returns it with seconds."""
    match = _CLOCK.fullmatch(text)
    if match is None or (match[3] is None and not seconds_optional):
        raise ValueError
    if int(match[1]) > 23 or int(match[2]) > 59 or int(match[3] or 0) > 59:
        raise ValueError
    return f"{match[1]}:{match[2]}:{match[3] or '00'}" + (f".{match[4]}" if match[4] else "")


def _plain(value: Any) -> Any:
    """Returns a value for a message: numbers without quotes."""
    if isinstance(value, NumberText):
        return Decimal(value) if not _INTEGER.fullmatch(value) else int(value)
    return value
