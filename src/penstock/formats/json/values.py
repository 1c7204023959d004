"""Converts between plain JSON values and values of declared types, as Flink's JSON format does."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.formats.java_text import (
    from_instant,
    parse_base64,
    parse_boolean,
    parse_date,
    parse_decimal,
    parse_float,
    parse_integer,
    parse_single,
    to_instant,
)
from penstock.formats.json.timestamps import TimestampFormat
from penstock.row import Row, make_row
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    PythonTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from penstock.types.collection import BytesTypeInfo, SequenceTypeInfo
from penstock.types.flink_text import flink_formatter
from penstock.types.visitor import DefaultTypeVisitor

Convert = Callable[[Any], Any]
_double_text = flink_formatter(Types.DOUBLE())


class FromJsonConverters(DefaultTypeVisitor[Convert]):
    """Creates converters from plain JSON values. If errors are ignored, values that cannot be converted become None."""

    def __init__(self, form: TimestampFormat, fail_on_missing_field: bool = False, ignore_errors: bool = False) -> None:
        self._timestamp_format = form
        self._fail_on_missing_field = fail_on_missing_field
        self._ignore_errors = ignore_errors

    def converter(self, kind: TypeInformation) -> Convert:
        """Returns the converter of a type. It converts None to None."""
        convert = self.visit(kind)
        if not self._ignore_errors:
            return lambda value: None if value is None else convert(value)

        def or_none(value: Any) -> Any:
            try:
                return None if value is None else convert(value)
            except (ValueError, TypeError, ArithmeticError, msgspec.ValidationError):
                return None

        return or_none

    def visit_default(self, type_info: TypeInformation) -> Convert:
        return lambda value: value

    def visit_basic(self, type_info: BasicTypeInfo) -> Convert:
        return _basic_converter(type_info.basic_type)

    def visit_instant(self, type_info: BasicTypeInfo) -> Convert:
        read = self._timestamp_format.read_instant or self._timestamp_format.read
        return lambda value: to_instant(read(value))

    def visit_date(self, type_info: DateTypeInfo) -> Convert:
        return lambda value: parse_date(_as_text(value))

    def visit_time(self, type_info: TimeTypeInfo) -> Convert:
        read_clock = self._timestamp_format.read_time
        return lambda value: read_clock(_as_text(value))

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> Convert:
        return self._timestamp_format.read

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> Convert:
        return lambda value: parse_base64(_check_type(value, str, "a string"))

    def visit_list(self, type_info: SequenceTypeInfo) -> Convert:
        primitive = isinstance(type_info, PrimitiveArrayTypeInfo)
        element = self.visit(type_info.element_type) if primitive else self.converter(type_info.element_type)
        return lambda value: [element(v) for v in _check_type(value, list, "an array")]

    def visit_map(self, type_info: MapTypeInfo) -> Convert:
        key, part = self.converter(type_info.key_type), self.converter(type_info.value_type)
        return lambda value: {key(k): part(v) for k, v in _check_type(value, dict, "an object").items()}

    def visit_python(self, type_info: PythonTypeInfo) -> Convert:
        python_type = type_info.python_type
        return lambda value: msgspec.convert(value, python_type)

    def visit_row(self, type_info: RowTypeInfo) -> Convert:
        names = type_info.get_field_names()
        fields = [(n, self.converter(t)) for n, t in zip(names, type_info.field_types, strict=True)]
        fails = self._fail_on_missing_field

        def row(value: Any) -> Row:
            _check_type(value, dict, "an object")
            values = []
            for name, convert in fields:
                if fails and name not in value:
                    raise ValueError(f"field '{name}' is missing")
                try:
                    values.append(convert(value.get(name)))
                except (ValueError, TypeError, ArithmeticError, msgspec.ValidationError) as error:
                    raise ValueError(f"field '{name}': {error}") from error
            return make_row(names, values)

        return row

    def visit_tuple(self, type_info: TupleTypeInfo) -> Convert:
        parts = [self.converter(t) for t in type_info.field_types]

        def fields(value: Any) -> tuple[Any, ...]:
            if len(_check_type(value, list, "an array")) != len(parts):
                raise ValueError(f"{len(value)} elements; expected {len(parts)} for {type_info.name}")
            return tuple(part(v) for part, v in zip(parts, value, strict=True))

        return fields


def _check_type(value: Any, kind: type, description: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{value!r:.80} is not {description}")
    return value


def _as_text(value: Any) -> str:
    """Returns a JSON value as text: strings unchanged, everything else as JSON."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is float:
        return _double_text(value)
    if isinstance(value, (dict, list)):
        return _compact.encode(value).decode()
    return str(value)


_compact = msgspec.json.Encoder(decimal_format="number")


def _integer_converter(kind: BasicType) -> Convert:
    """INT and LONG truncate numbers with a fraction, as in Flink. BYTE, SHORT and BIG_INT do not accept them."""
    truncates = kind in (BasicType.INT, BasicType.LONG)

    def convert(value: Any) -> int:
        if truncates and isinstance(value, (float, decimal.Decimal)):
            if not math.isfinite(value):
                raise ValueError(f"{value} is not an integer")
            return parse_integer(str(int(value)), kind)
        return parse_integer(_as_text(value), kind)

    return convert


def _basic_converter(kind: BasicType) -> Convert:
    if kind in (BasicType.STRING, BasicType.CHAR):
        return _as_text
    if kind is BasicType.BOOLEAN:
        return lambda value: value if type(value) is bool else parse_boolean(_as_text(value))
    if kind is BasicType.DOUBLE:
        return lambda value: value if type(value) is float else parse_float(_as_text(value))
    if kind is BasicType.FLOAT:
        return lambda value: parse_single(_as_text(value))
    if kind is BasicType.BIG_DEC:
        return lambda value: value if isinstance(value, decimal.Decimal) else parse_decimal(_as_text(value))
    return _integer_converter(kind)


def to_json_converter(kind: TypeInformation, form: TimestampFormat) -> Convert | None:
    """Returns a converter to values that msgspec writes like Flink, or None if no conversion is needed.

    The converter does not accept None.
    """
    return _ToJson(form).visit(kind)


class _ToJson(DefaultTypeVisitor[Convert | None]):
    def __init__(self, form: TimestampFormat) -> None:
        self._timestamp_format = form

    def visit_default(self, type_info: TypeInformation) -> Convert | None:
        return None

    def visit_basic(self, type_info: BasicTypeInfo) -> Convert | None:
        return _finite if type_info.basic_type in (BasicType.DOUBLE, BasicType.FLOAT) else None

    def visit_instant(self, type_info: BasicTypeInfo) -> Convert | None:
        write = self._timestamp_format.write_instant or self._timestamp_format.write
        return lambda value: write(from_instant(value))

    def visit_date(self, type_info: DateTypeInfo) -> Convert | None:
        return lambda value: value.isoformat()

    def visit_time(self, type_info: TimeTypeInfo) -> Convert | None:
        return self._timestamp_format.write_time

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> Convert | None:
        return self._timestamp_format.write

    def visit_tuple(self, type_info: TupleTypeInfo) -> Convert | None:
        parts = [_or_null(self.visit(t)) for t in type_info.field_types]
        return lambda value: [part(v) for part, v in zip(parts, value, strict=True)]

    def visit_row(self, type_info: RowTypeInfo) -> Convert | None:
        names, parts = type_info.get_field_names(), [_or_null(self.visit(t)) for t in type_info.field_types]
        return lambda row: {n: part(v) for n, part, v in zip(names, parts, row, strict=True)}

    def visit_list(self, type_info: SequenceTypeInfo) -> Convert | None:
        element = self.visit(type_info.element_type)
        if element is None:
            return None
        each = _or_null(element)
        return lambda value: [each(v) for v in value]

    def visit_map(self, type_info: MapTypeInfo) -> Convert | None:
        part = _or_null(self.visit(type_info.value_type))
        return lambda value: {str(k): part(v) for k, v in value.items()}


def _or_null(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _finite(value: float) -> Any:
    """Converts NaN and infinity to strings, as in Flink, because JSON has no such numbers."""
    return value if math.isfinite(value) else _double_text(value)
