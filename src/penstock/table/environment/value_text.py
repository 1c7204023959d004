"""The text of a value as Flink prints it."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from penstock.runtime.relational.java.numbers import double_text, float_text
from penstock.types.logical.kinds import (
    ArrayType,
    BinaryType,
    BooleanType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

_DAY = 86_400_000


def value_text(value: Any, type_: LogicalType, null: str = "NULL") -> str:
    """Returns the text of a Python value of a type.

    >>> from penstock.types.logical.kinds import BOOLEAN, INT
    >>> value_text(True, BOOLEAN), value_text([1, None], ArrayType(INT)), value_text(b"AB", BinaryType())
    ('TRUE', '[1, NULL]', "x'4142'")
    """
    if value is None:
        return null
    match type_:
        case BooleanType():
            return "TRUE" if value else "FALSE"
        case FloatType():
            return double_text(value) if type_.bits == 64 else float_text(value)
        case DecimalType():
            return format(value if isinstance(value, decimal.Decimal) else decimal.Decimal(value), "f")
        case BinaryType():
            return f"x'{bytes(value).hex()}'"
        case TimestampType() if isinstance(value, datetime.datetime):
            return f"{value.year:04d}-{value.month:02d}-{value.day:02d} {_clock(value, type_.precision)}"
        case TimeType() if isinstance(value, datetime.time):
            return _clock(value, type_.precision)
        case YearMonthIntervalType() if isinstance(value, int):
            return f"{'-' if value < 0 else '+'}{abs(value) // 12}-{abs(value) % 12:02d}"
        case DayTimeIntervalType():
            return _interval(value)
        case ArrayType():
            return f"[{', '.join(value_text(v, type_.element) for v in value)}]"
        case MultisetType():
            return f"{{{', '.join(f'{value_text(k, type_.element)}={n}' for k, n in value.items())}}}"
        case MapType():
            pairs = (f"{value_text(k, type_.key)}={value_text(v, type_.value)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        case RowType():
            parts = (value_text(v, f.type) for v, f in zip(value, type_.fields, strict=True))
            return f"({', '.join(parts)})"
    return str(value)


def _clock(value: datetime.datetime | datetime.time, digits: int) -> str:
    text = f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}"
    return f"{text}.{f'{value.microsecond:06d}000'[:digits]}" if digits else text


def _interval(value: datetime.timedelta | int) -> str:
    millis = value if isinstance(value, int) else value // datetime.timedelta(milliseconds=1)
    sign, millis = ("-", -millis) if millis < 0 else ("+", millis)
    days, rest = divmod(millis, _DAY)
    seconds, fraction = divmod(rest, 1000)
    return f"{sign}{days} {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:03d}"
