"""The text of values of all types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.values import to_values
from penstock.runtime.relational.functions import zones
from penstock.runtime.relational.java.numbers import double_text, float_text
from penstock.types.logical.kinds import (
    INT,
    ArrayType,
    BinaryType,
    BitmapType,
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
    NullType,
    RawType,
    RowType,
    TimestampType,
    TimeType,
    VariantType,
    YearMonthIntervalType,
)


def to_text(column: pa.Array, source: LogicalType, session: Session) -> pa.Array:
    """Returns the texts of the values of a column, not yet cut to a length."""
    match source:
        case CharType() | VariantType():
            return column
        case IntegerType():
            return column.cast(pa.string())
        case BooleanType():
            return pc.if_else(column, "TRUE", "FALSE")
        case DateType():
            return column.cast(pa.string())
        case TimeType():
            # A time of day has no zeros at its end, unlike a timestamp, except for one behind the point.
            short = pc.replace_substring_regex(
                _cut(column.cast(pa.string()), 8, source.precision), r"^(.{8}(?:\.\d*[1-9])?)\.?0*$", r"\1"
            )
            whole = pc.equal(pc.utf8_length(short), 8)
            return pc.if_else(whole, pc.binary_join_element_wise(short, ".0", ""), short) if source.precision else short
        case TimestampType():
            local = zones.to_local(column, session.zone) if source.local else column
            return _cut(local.cast(pa.string()), 19, source.precision)
        case BinaryType():
            return by_distinct(column, lambda value: value.decode("utf-8", "replace"), to_values(column, source))
        case NullType():
            return pa.nulls(len(column), pa.string())
    return by_distinct(column, text_function(source, session), to_values(column, source))


def _cut(texts: pa.Array, seconds_end: int, precision: int) -> pa.Array:
    """Leaves as many digits of the second as the precision says."""
    end = seconds_end + (1 + precision if precision else 0)
    if len(texts) and pc.min(pc.utf8_length(texts)).as_py() is not None and pc.min(pc.utf8_length(texts)).as_py() < end:
        return pc.utf8_rpad(texts, end, "0")
    return pc.utf8_slice_codeunits(texts, 0, end)


def by_distinct(column: pa.Array, function: Callable[[Any], str], values: list[Any]) -> pa.Array:
    """Calls a function once per distinct value."""
    memo: dict[Any, str] = {}
    results: list[str | None] = []
    for value in values:
        if value is None:
            results.append(None)
            continue
        try:
            text = memo.get(value)
        except TypeError:  # a list is not hashable
            results.append(function(value))
            continue
        if text is None:
            text = memo[value] = function(value)
        results.append(text)
    return pa.array(results, pa.string())


def text_function(source: LogicalType, session: Session) -> Callable[[Any], str]:
    """Returns the function from a Python value that is not None to its text."""
    match source:
        case BooleanType():
            return lambda value: "TRUE" if value else "FALSE"
        case FloatType():
            return float_text if source.bits == 32 else double_text
        case DecimalType():
            return lambda value: format(value, "f")
        case BinaryType():
            return lambda value: value.decode("utf-8", "replace")
        case DateType() | TimeType() | TimestampType():
            return lambda value: _single(value, source, session)
        case YearMonthIntervalType():
            return months_text
        case DayTimeIntervalType():
            return milliseconds_text
        case ArrayType():
            element = nested_text(source.element, session)
            return lambda values: f"[{', '.join(element(v) for v in values)}]"
        case MapType() | MultisetType():
            key = nested_text(source.key if isinstance(source, MapType) else source.element, session)
            item = nested_text(source.value if isinstance(source, MapType) else INT, session)
            return lambda pairs: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in pairs) + "}"
        case RowType():
            fields = [nested_text(field.type, session) for field in source.fields]
            return lambda row: f"({', '.join(f(v) for f, v in zip(fields, row, strict=True))})"
        case BitmapType():
            return lambda values: "{" + ",".join(map(str, values)) + "}"
        case RawType() | NullType() | CharType() | VariantType() | IntegerType():
            return str


def nested_text(source: LogicalType, session: Session) -> Callable[[Any], str]:
    """Returns the function for a value inside a collection, where null is NULL."""
    function = text_function(source, session)
    return lambda value: "NULL" if value is None else function(value)


def _single(value: int, source: LogicalType, session: Session) -> str:
    from penstock.runtime.relational.expressions.values import from_values

    return str(to_text(from_values([value], source), source, session)[0].as_py())


def months_text(months: int) -> str:
    """
    >>> months_text(27), months_text(-14)
    ('+2-03', '-1-02')
    """
    years, rest = divmod(abs(months), 12)
    return f"{'-' if months < 0 else '+'}{years}-{rest:02d}"


def milliseconds_text(milliseconds: int) -> str:
    """
    >>> milliseconds_text(86_400_000 + 3_723_004)
    '+1 01:02:03.004'
    """
    seconds, milli = divmod(abs(milliseconds), 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{'-' if milliseconds < 0 else '+'}{days} {hour:02d}:{minute:02d}:{second:02d}.{milli:03d}"
