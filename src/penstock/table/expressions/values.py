"""Values of Python as nodes of the dialect, with their types in Flink."""

from __future__ import annotations

import array
import datetime
import decimal
import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from sqlglot import exp

from penstock.errors import PlanError
from penstock.row import Row
from penstock.table.dialect import nodes
from penstock.table.element_inference import infer_type
from penstock.types.logical.kinds import (
    DOUBLE,
    MILLISECONDS,
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
from penstock.types.logical.text import summary

_DAY = 86_400_000_000_000
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def value_node(value: Any, inner: Callable[[object], exp.Expr]) -> exp.Expr:
    """Returns the node of a value. `inner` makes those of the elements of lists, rows and maps.

    >>> print(value_node(1.5, value_node).sql(), value_node(datetime.date(2024, 1, 31), value_node).args)
    1.5E0 {'this': 'DATE', 'text': '2024-01-31'}
    """
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            return _signed(str(abs(value)), value < 0)
        case float():
            return _float(value)
        case str():
            return exp.Literal.string(value)
        case bytes() | bytearray():
            return exp.HexString(this=value.hex())
        case decimal.Decimal():
            return _decimal(value)
        case datetime.datetime() if value.tzinfo is None:
            return nodes.DateTimeLiteral(this="TIMESTAMP", text=_plain(value.isoformat(" ")))
        case datetime.datetime():
            digits = len(f"{value.microsecond:06}".rstrip("0"))
            return _typed(_instant(value), TimestampType(digits, local=True, nullable=False))
        case datetime.date():
            return nodes.DateTimeLiteral(this="DATE", text=value.isoformat())
        case datetime.time():
            return nodes.DateTimeLiteral(this="TIME", text=_plain(value.isoformat()))
        case datetime.timedelta():
            return _typed(_milliseconds(value), MILLISECONDS.with_nullable(False))
        case Row() | tuple():
            return nodes.RowValue(expressions=[inner(v) for v in value], explicit=True)
        case Mapping():
            parts = [inner(part) for pair in value.items() for part in pair]
            return nodes.MapConstructor(expressions=parts)
        case list():
            return nodes.ArrayConstructor(expressions=[inner(v) for v in value])
        case array.array():
            found = infer_type(value)
            assert isinstance(found, ArrayType)
            return literal_node(value, ArrayType(found.element.with_nullable(True), nullable=False))
    if hasattr(value, "item") and type(value).__module__ == "numpy":
        return value_node(value.item(), inner)
    raise PlanError(
        "TABLE_EXPRESSION",
        f"A value of the type {type(value).__name__} cannot be part of an expression: {value!r}. Use a number, text, bytes, a "
        "boolean, a date, a time, None, or lists, rows and maps of them.",
    )


def _typed(value: Any, type_: LogicalType) -> nodes.TypedLiteral:
    return nodes.TypedLiteral(this=value, to=type_)


def _signed(digits: str, negative: bool) -> exp.Expr:
    number = exp.Literal.number(digits)
    return exp.Neg(this=number) if negative else number


def _float(value: float) -> exp.Expr:
    if math.isnan(value) or math.isinf(value) or value == 0:
        return _typed(value, DOUBLE.with_nullable(False))
    text = repr(abs(value))
    return _signed(text if "e" in text else f"{text}E0", value < 0)


def _decimal(value: decimal.Decimal) -> exp.Expr:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise PlanError("TABLE_EXPRESSION", f"{value} is no number that DECIMAL has.")
    if exponent > 0:
        value, exponent = value.quantize(decimal.Decimal(1)), 0
    precision = max(len(value.as_tuple().digits), 1 - exponent if exponent else 0)
    return _typed(value, DecimalType(precision, -exponent, nullable=False))


def _plain(text: str) -> str:
    """Removes zeros behind the last digit of a fraction, because the number of digits is the precision of the type."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _milliseconds(value: datetime.timedelta) -> int:
    return value // datetime.timedelta(milliseconds=1)


def _instant(value: datetime.datetime) -> int:
    """Nanoseconds since 1970; a value without a time zone counts as UTC."""
    moment = value if value.tzinfo is None else value.astimezone(datetime.UTC)
    return (moment.toordinal() - _EPOCH) * _DAY + _clock(moment.time())


def _clock(value: datetime.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return (seconds * 1_000_000 + value.microsecond) * 1000


def literal_node(value: Any, type_: LogicalType) -> exp.Expr:
    """Returns the node of a value with a given type, which must fit.

    >>> literal_node(1, IntegerType(64)).args["this"]
    1
    """
    return _typed(_converted(value, type_), type_)


def _converted(value: Any, type_: LogicalType) -> Any:
    """Returns a value as the constants of a type have it."""
    if value is None:
        if not type_.nullable:
            raise PlanError("TABLE_EXPRESSION", f"None is no value of {summary(type_)}. Use a type that allows NULL.")
        return None
    match type_, value:
        case BooleanType(), bool():
            return value
        case IntegerType(), int() if not isinstance(value, bool) and value.bit_length() < type_.bits:
            return value
        case FloatType(), int() | float():
            return float(value)
        case DecimalType(), int() | float() | decimal.Decimal():
            return decimal.Decimal(str(value)).quantize(decimal.Decimal(1).scaleb(-type_.scale), decimal.ROUND_HALF_UP)
        case CharType(), str():
            return value if type_.varying else value.ljust(type_.length)
        case BinaryType(), bytes() | bytearray():
            return bytes(value)
        case DateType(), datetime.date():
            return value.toordinal() - _EPOCH
        case TimeType(), datetime.time():
            return _clock(value) // 1_000_000
        case TimestampType(), datetime.datetime() if value.tzinfo is not None and not type_.local:
            return _instant(value.astimezone().replace(tzinfo=None))  # the clock of this machine, as in PyFlink
        case TimestampType(), datetime.datetime():
            return _instant(value)
        case DayTimeIntervalType(), datetime.timedelta():
            return _milliseconds(value)
        case DayTimeIntervalType() | YearMonthIntervalType(), int():
            return value
        case ArrayType(), Sequence() if not isinstance(value, str | bytes | bytearray):
            return tuple(_converted(v, type_.element) for v in value)  # nodes have hashes, which lists do not
        case MapType(), Mapping():
            return tuple((_converted(k, type_.key), _converted(v, type_.value)) for k, v in value.items())
        case MultisetType(), Mapping():
            return tuple((_converted(k, type_.element), int(v)) for k, v in value.items())
        case RowType(), list() | tuple() | Row() if len(value) == len(type_.fields):
            return tuple(_converted(v, f.type) for v, f in zip(value, type_.fields, strict=True))
    raise PlanError("TABLE_EXPRESSION", f"{value!r} is no value of the type {summary(type_)}.")


def value_text(value: Any, inner: Callable[[object], str]) -> str:
    """Returns a value as Flink prints it inside an expression.

    >>> print(value_text("a", str), value_text(True, str), value_text(1e10, str))
    'a' true 1.0E10
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float():
            return _java_float(value)
        case str():
            return f"'{value}'"
        case bytes() | bytearray():
            return str(list(value))
        case Enum():
            return str(value.name)
        case Row() | tuple():
            return f"row({', '.join(inner(v) for v in value)})"
        case Mapping():
            return f"map({', '.join(inner(part) for pair in value.items() for part in pair)})"
        case list() | array.array():
            return f"array({', '.join(inner(v) for v in value)})"
        case datetime.datetime() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return str(_milliseconds(value))
    return str(value)


def _java_float(value: float) -> str:
    from penstock.runtime.relational.java.numbers import double_text

    return double_text(value)
