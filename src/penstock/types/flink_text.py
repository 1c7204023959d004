"""Elements of a declared type as Flink writes them: what its Java values give as `toString`."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.row import Row
from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.collection import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.fields import RowTypeInfo, TupleTypeInfo
from penstock.types.information import TypeInformation
from penstock.types.temporal import InstantTypeInfo, TimestampTypeInfo

Text = Callable[[Any], str]
_LISTS = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


def flink_text(kind: TypeInformation) -> Text:
    """How Flink writes a value of a type.

    >>> from penstock.types import Types
    >>> flink_text(Types.TUPLE([Types.STRING(), Types.BOOLEAN(), Types.DOUBLE()]))(("a", True, 1e10))
    '(a,true,1.0E10)'
    >>> flink_text(Types.ROW([Types.STRING(), Types.INT()]))(Row("a", None))
    '+I[a, null]'
    """
    of_value = _of(kind)
    return lambda value: "null" if value is None else of_value(value)


def printed_text(kind: TypeInformation) -> Text:
    """How PyFlink's `print` writes a value of a type: rows with Python's words, all else as Flink does.

    >>> from penstock.types import Types
    >>> printed_text(Types.ROW([Types.STRING(), Types.INT()]))(Row("a", None))
    '+I[a,None]'
    """
    if isinstance(kind, RowTypeInfo):
        return lambda row: f"{row.get_row_kind()}[{','.join(map(str, row))}]"
    return flink_text(kind)


def _of(kind: TypeInformation) -> Text:
    if isinstance(kind, InstantTypeInfo):
        return _instant
    if isinstance(kind, BasicTypeInfo):
        return _BASIC.get(kind.basic_type, str)
    if isinstance(kind, TupleTypeInfo):
        parts = [flink_text(t) for t in kind.field_types]
        return lambda value: f"({','.join(part(v) for part, v in zip(parts, value, strict=False))})"
    if isinstance(kind, RowTypeInfo):
        return _row([flink_text(t) for t in kind.field_types])
    if isinstance(kind, MapTypeInfo):
        key, value_of = flink_text(kind.key_type), flink_text(kind.value_type)
        return lambda value: "{" + ", ".join(f"{key(k)}={value_of(v)}" for k, v in value.items()) + "}"
    if isinstance(kind, _LISTS):
        element = flink_text(kind.element_type)
        return lambda value: f"[{', '.join(map(element, value))}]"
    if isinstance(kind, TimestampTypeInfo):
        return _timestamp
    return str


def _row(parts: list[Text]) -> Text:
    def text(row: Row) -> str:
        return f"{row.get_row_kind()}[{', '.join(part(v) for part, v in zip(parts, row, strict=False))}]"

    return text


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _double(value: float) -> str:
    """
    >>> [_double(x) for x in (1.0, 0.001, 0.0001, 12345678.9, 1e7, -0.0)]
    ['1.0', '0.001', '1.0E-4', '1.23456789E7', '1.0E7', '-0.0']
    """
    return _real(value, np.float64)


def _single(value: float) -> str:
    """
    >>> _single(110.0999984741211)
    '110.1'
    """
    return _real(value, np.float32)


def _real(value: float, kind: Any) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    number = kind(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return np.format_float_positional(number, unique=True, trim="0")
    mantissa, _, exponent = np.format_float_scientific(number, unique=True, trim="0").partition("e")
    return f"{mantissa}E{int(exponent)}"


def _timestamp(value: datetime.datetime) -> str:
    """
    >>> _timestamp(datetime.datetime(2024, 1, 2, 3, 4, 5, 60_000))
    '2024-01-02 03:04:05.06'
    """
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"


def _instant(value: Any) -> str:
    """
    >>> from penstock.time import Instant
    >>> _instant(Instant.of_epoch_milli(1500))
    '1970-01-01T00:00:01.500Z'
    """
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    fraction = f"{value.nanos:09d}"
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{moment:%Y-%m-%dT%H:%M:%S}{'.' + fraction if fraction else ''}Z"


_BASIC: dict[BasicType, Text] = {
    BasicType.BOOLEAN: _truth,
    BasicType.FLOAT: _single,
    BasicType.DOUBLE: _double,
}
