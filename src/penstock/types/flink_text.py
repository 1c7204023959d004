"""The text form of elements of a declared type, as `toString` of the Java values in Flink."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.collection import BytesTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo, SequenceTypeInfo
from penstock.types.fields import RowTypeInfo, TupleTypeInfo
from penstock.types.information import TypeInformation
from penstock.types.temporal import TimestampTypeInfo, TimeTypeInfo
from penstock.types.visitor import DefaultTypeVisitor

Formatter = Callable[[Any], str]


def flink_formatter(type_info: TypeInformation) -> Formatter:
    """Returns the function that formats values of a type as Flink does.

    >>> from penstock import Row, Types
    >>> flink_formatter(Types.TUPLE([Types.STRING(), Types.BOOLEAN(), Types.DOUBLE()]))(("a", True, 1e10))
    '(a,true,1.0E10)'
    >>> flink_formatter(Types.ROW([Types.STRING(), Types.INT()]))(Row("a", None))
    '+I[a, null]'
    """
    format_value = _FlinkFormatters().visit(type_info)
    return lambda value: "null" if value is None else format_value(value)


def print_formatter(type_info: TypeInformation) -> Formatter:
    """Returns the function that formats values of a type as `print` of PyFlink does: rows as in Python, other values as in Flink.

    >>> from penstock import Row, Types
    >>> print_formatter(Types.ROW([Types.STRING(), Types.INT()]))(Row("a", None))
    '+I[a,None]'
    """
    if isinstance(type_info, RowTypeInfo):
        return lambda row: f"{row.get_row_kind()}[{','.join(map(str, row))}]"
    return flink_formatter(type_info)


class _FlinkFormatters(DefaultTypeVisitor[Formatter]):
    """The formatters of values that are not None."""

    def visit_default(self, type_info: TypeInformation) -> Formatter:
        return str

    def visit_basic(self, type_info: BasicTypeInfo) -> Formatter:
        return _BASIC.get(type_info.basic_type, str)

    def visit_instant(self, type_info: BasicTypeInfo) -> Formatter:
        return _format_instant

    def visit_time(self, type_info: TimeTypeInfo) -> Formatter:
        return lambda value: f"{value:%H:%M:%S}"  # Java's Time prints no fraction of a second

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> Formatter:
        return _format_timestamp

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> Formatter:
        return str if isinstance(type_info, BytesTypeInfo) else self.visit_list(type_info)

    def visit_list(self, type_info: SequenceTypeInfo) -> Formatter:
        element = flink_formatter(type_info.element_type)
        return lambda value: f"[{', '.join(map(element, value))}]"

    def visit_map(self, type_info: MapTypeInfo) -> Formatter:
        key, item = flink_formatter(type_info.key_type), flink_formatter(type_info.value_type)
        return lambda value: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in value.items()) + "}"

    def visit_tuple(self, type_info: TupleTypeInfo) -> Formatter:
        fields = [flink_formatter(t) for t in type_info.field_types]
        return lambda value: f"({','.join(field(v) for field, v in zip(fields, value, strict=False))})"

    def visit_row(self, type_info: RowTypeInfo) -> Formatter:
        fields = [flink_formatter(t) for t in type_info.field_types]
        return lambda row: f"{row.get_row_kind()}[{', '.join(field(v) for field, v in zip(fields, row, strict=False))}]"


def _format_boolean(value: bool) -> str:
    return "true" if value else "false"


def _format_double(value: float) -> str:
    """
    >>> [_format_double(x) for x in (1.0, 0.001, 0.0001, 12345678.9, 1e7, -0.0)]
    ['1.0', '0.001', '1.0E-4', '1.23456789E7', '1.0E7', '-0.0']
    """
    return _format_real(value, np.float64)


def _format_single(value: float) -> str:
    """
    >>> _format_single(110.0999984741211)
    '110.1'
    """
    return _format_real(value, np.float32)


def _format_real(value: float, numpy_type: Any) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    number = numpy_type(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return np.format_float_positional(number, unique=True, trim="0")
    mantissa, _, exponent = np.format_float_scientific(number, unique=True, trim="0").partition("e")
    return f"{mantissa}E{int(exponent)}"


def _format_timestamp(value: datetime.datetime) -> str:
    """
    >>> _format_timestamp(datetime.datetime(2024, 1, 2, 3, 4, 5, 60_000))
    '2024-01-02 03:04:05.06'
    """
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"


def _format_instant(value: Any) -> str:
    """
    >>> from penstock.time import Instant
    >>> _format_instant(Instant.of_epoch_milli(1500))
    '1970-01-01T00:00:01.500Z'
    """
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    fraction = f"{value.nanos:09d}"
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{moment:%Y-%m-%dT%H:%M:%S}{'.' + fraction if fraction else ''}Z"


_BASIC: dict[BasicType, Formatter] = {
    BasicType.BOOLEAN: _format_boolean,
    BasicType.FLOAT: _format_single,
    BasicType.DOUBLE: _format_double,
}
