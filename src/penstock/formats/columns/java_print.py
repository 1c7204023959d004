"""Values as the toString of Java's classes prints them: what the connector 'print' writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.runtime.relational.java.numbers import double_text, float_text
from penstock.types.logical.kinds import (
    INT,
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

Print = Callable[[Any], str]
_DAY = 86_400 * 10**9


def printed_column(column: pa.Array, type_: LogicalType) -> list[str]:
    """Returns the text of each value; null is "null".

    >>> printed_column(pa.array([1_704_067_200_000, None], pa.timestamp("ms")), TimestampType(3))
    ['2024-01-01T00:00', 'null']
    """
    if isinstance(type_, (IntegerType, CharType)):
        return ["null" if v is None else str(v) for v in column.to_pylist()]
    show = printer(type_)
    return [show(v) for v in _plain(column).to_pylist()]


def _plain(column: pa.Array) -> pa.Array:
    """Returns a column whose dates and times are numbers, which are exact and never out of the range of Python's dates."""
    return column.cast(_numbers(column.type)) if _numbers(column.type) != column.type else column


def _numbers(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_map(kind):
        return pa.map_(_numbers(kind.key_type), _numbers(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_numbers(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _numbers(f.type)) for f in kind])
    return kind


def printer(type_: LogicalType) -> Print:
    """Returns the function from a value, whose dates and times are numbers, to its text."""
    show = _present(type_)
    return lambda value: "null" if value is None else show(value)


def _present(type_: LogicalType) -> Print:
    match type_:
        case BooleanType():
            return lambda value: "true" if value else "false"
        case FloatType():
            return float_text if type_.bits == 32 else double_text
        case DecimalType() | IntegerType() | CharType():
            return str
        case BinaryType():
            return lambda value: f"[{', '.join(str(b - 256 if b > 127 else b) for b in value)}]"
        case DateType():
            return date_text
        case TimeType():
            return lambda value: clock_text(value * 10**6)
        case TimestampType():
            unit = 10**6 if type_.precision <= 3 else 10**3 if type_.precision <= 6 else 1
            return lambda value: timestamp_text(value * unit, type_.local)
        case YearMonthIntervalType():
            return months_text
        case DayTimeIntervalType():
            return duration_text
        case ArrayType():
            element = printer(type_.element)
            return lambda value: f"[{', '.join(map(element, value))}]"
        case MapType() | MultisetType():
            key = printer(type_.key if isinstance(type_, MapType) else type_.element)
            item = printer(type_.value if isinstance(type_, MapType) else INT)
            return lambda value: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in value) + "}"
        case RowType():
            fields = [(field.name, printer(field.type)) for field in type_.fields]
            return lambda value: f"+I[{', '.join(show(value[name]) for name, show in fields)}]"
    return str


def date_text(days: int) -> str:
    """
    >>> date_text(19_782)
    '2024-02-29'
    """
    number = days + 719_468  # days since 0000-03-01
    era, of_era = divmod(number, 146_097)
    of_cycle = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * of_cycle + of_cycle // 4 - of_cycle // 100)
    month_index = (5 * of_year + 2) // 153
    day = of_year - (153 * month_index + 2) // 5 + 1
    month = month_index + 3 if month_index < 10 else month_index - 9
    year = of_cycle + era * 400 + (month <= 2)
    return f"{year:04d}-{month:02d}-{day:02d}"


def clock_text(nanoseconds: int, with_seconds: bool = False) -> str:
    """Returns the text of a time of day. Seconds are left out if they are 0, and the fraction has 3, 6 or 9 digits.

    >>> clock_text(45_000_000_000), clock_text(60 * 10**9), clock_text(500_000_000)
    ('00:00:45', '00:01', '00:00:00.500')
    """
    seconds, fraction = divmod(nanoseconds, 10**9)
    minutes, second = divmod(seconds, 60)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}"
    if second or fraction or with_seconds:
        text += f":{second:02d}"
    if fraction:
        digits = 3 if fraction % 10**6 == 0 else 6 if fraction % 1000 == 0 else 9
        text += f".{fraction:09d}"[: digits + 1]
    return text


def timestamp_text(nanoseconds: int, local: bool) -> str:
    """Returns the text of a LocalDateTime, or of an Instant if it is local."""
    days, rest = divmod(nanoseconds, _DAY)
    return f"{date_text(days)}T{clock_text(rest, local)}{'Z' if local else ''}"


def months_text(months: int) -> str:
    """
    >>> months_text(27), months_text(0), months_text(-14)
    ('P2Y3M', 'P0D', 'P-1Y-2M')
    """
    years, rest = divmod(abs(months), 12)
    sign = "-" if months < 0 else ""
    text = (f"{sign}{years}Y" if years else "") + (f"{sign}{rest}M" if rest else "")
    return f"P{text or '0D'}"


def duration_text(milliseconds: int) -> str:
    """
    >>> duration_text(90_061_500), duration_text(0)
    ('PT25H1M1.5S', 'PT0S')
    """
    sign = "-" if milliseconds < 0 else ""
    seconds, milli = divmod(abs(milliseconds), 1000)
    hours, rest = divmod(seconds, 3600)
    minutes, second = divmod(rest, 60)
    text = (f"{sign}{hours}H" if hours else "") + (f"{sign}{minutes}M" if minutes else "")
    if second or milli:
        text += f"{sign}{second}" + (f".{milli:03d}".rstrip("0") if milli else "") + "S"
    return f"PT{text or '0S'}"
