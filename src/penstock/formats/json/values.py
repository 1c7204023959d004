"""From what JSON holds to values of declared types, and back: as Flink's JSON format converts."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.formats.java_text import (
    base64_of,
    date_of,
    decimal_of,
    instant_of,
    is_binary,
    moment_of_instant,
    real,
    single,
    truth,
    whole,
)
from penstock.formats.json_times import TimestampForm
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
from penstock.types.collection import SequenceTypeInfo
from penstock.types.flink_text import flink_text

Convert = Callable[[Any], Any]
_double_text = flink_text(Types.DOUBLE())


class FromJson:
    """Makes converters from plain JSON values. A part that does not convert is None where errors are ignored."""

    def __init__(self, form: TimestampForm, fail_on_missing_field: bool = False, ignore_errors: bool = False) -> None:
        self._form = form
        self._fail_on_missing_field = fail_on_missing_field
        self._ignore_errors = ignore_errors

    def of(self, kind: TypeInformation) -> Convert:
        """The converter of a type; None stays None."""
        convert = self._of(kind)
        if not self._ignore_errors:
            return lambda value: None if value is None else convert(value)

        def or_none(value: Any) -> Any:
            try:
                return None if value is None else convert(value)
            except (ValueError, TypeError, ArithmeticError, msgspec.ValidationError):
                return None

        return or_none

    def _of(self, kind: TypeInformation) -> Convert:
        form = self._form
        if isinstance(kind, BasicTypeInfo):
            if kind.basic_type is BasicType.INSTANT:
                read = form.read_instant or form.read
                return lambda value: instant_of(read(value))
            return _basic(kind.basic_type)
        if isinstance(kind, DateTypeInfo):
            return lambda value: date_of(_as_text(value))
        if isinstance(kind, TimeTypeInfo):
            return lambda value: form.read_clock(_as_text(value))
        if isinstance(kind, TimestampTypeInfo):
            return form.read
        if is_binary(kind):
            return lambda value: base64_of(_checked(value, str, "a string"))
        if isinstance(kind, RowTypeInfo):
            return self._row(kind)
        if isinstance(kind, TupleTypeInfo):
            return self._tuple(kind)
        if isinstance(kind, SequenceTypeInfo):
            primitive = isinstance(kind, PrimitiveArrayTypeInfo)
            element = self._of(kind.element_type) if primitive else self.of(kind.element_type)
            return lambda value: [element(v) for v in _checked(value, list, "an array")]
        if isinstance(kind, MapTypeInfo):
            key, part = self.of(kind.key_type), self.of(kind.value_type)
            return lambda value: {key(k): part(v) for k, v in _checked(value, dict, "an object").items()}
        if isinstance(kind, PythonTypeInfo):
            return lambda value: msgspec.convert(value, kind.python_type)
        return lambda value: value

    def _row(self, kind: RowTypeInfo) -> Convert:
        names = kind.get_field_names()
        fields = [(n, self.of(t)) for n, t in zip(names, kind.field_types, strict=True)]
        fails = self._fail_on_missing_field

        def row(value: Any) -> Row:
            _checked(value, dict, "an object")
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

    def _tuple(self, kind: TupleTypeInfo) -> Convert:
        parts = [self.of(t) for t in kind.field_types]

        def fields(value: Any) -> tuple[Any, ...]:
            if len(_checked(value, list, "an array")) != len(parts):
                raise ValueError(f"{len(value)} elements, and {kind.name} has {len(parts)}")
            return tuple(part(v) for part, v in zip(parts, value, strict=True))

        return fields


def _checked(value: Any, kind: type, told: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{value!r:.80} is not {told}")
    return value


def _as_text(value: Any) -> str:
    """What a JSON value is as text: strings as they are, all else as JSON writes it."""
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


def _whole(kind: BasicType) -> Convert:
    """INT and LONG take a number with a fraction and cut it off, as Flink does; BYTE, SHORT and BIG_INT do not."""
    cuts = kind in (BasicType.INT, BasicType.LONG)

    def convert(value: Any) -> int:
        if cuts and isinstance(value, (float, decimal.Decimal)):
            if not math.isfinite(value):
                raise ValueError(f"{value} is no whole number")
            return whole(str(int(value)), kind)
        return whole(_as_text(value), kind)

    return convert


def _basic(kind: BasicType) -> Convert:
    if kind in (BasicType.STRING, BasicType.CHAR):
        return _as_text
    if kind is BasicType.BOOLEAN:
        return lambda value: value if type(value) is bool else truth(_as_text(value))
    if kind is BasicType.DOUBLE:
        return lambda value: value if type(value) is float else real(_as_text(value))
    if kind is BasicType.FLOAT:
        return lambda value: single(_as_text(value))
    if kind is BasicType.BIG_DEC:
        return lambda value: value if isinstance(value, decimal.Decimal) else decimal_of(_as_text(value))
    return _whole(kind)


def to_json(kind: TypeInformation, form: TimestampForm) -> Convert | None:
    """What turns a value (not None) into one that msgspec writes as Flink does; None where it is one already."""
    if isinstance(kind, BasicTypeInfo):
        if kind.basic_type in (BasicType.DOUBLE, BasicType.FLOAT):
            return _finite
        if kind.basic_type is BasicType.INSTANT:
            write = form.write_instant or form.write
            return lambda value: write(moment_of_instant(value))
        return None
    if isinstance(kind, DateTypeInfo):
        return lambda value: value.isoformat()
    if isinstance(kind, TimeTypeInfo):
        return form.write_clock
    if isinstance(kind, TimestampTypeInfo):
        return form.write
    if isinstance(kind, (RowTypeInfo, TupleTypeInfo)):
        parts = [_or_null(to_json(t, form)) for t in kind.field_types]
        if isinstance(kind, TupleTypeInfo):
            return lambda value: [part(v) for part, v in zip(parts, value, strict=True)]
        names = kind.get_field_names()
        return lambda row: {n: part(v) for n, part, v in zip(names, parts, row, strict=True)}
    if isinstance(kind, SequenceTypeInfo) and not is_binary(kind):
        element = to_json(kind.element_type, form)
        if element is None:
            return None
        each = _or_null(element)
        return lambda value: [each(v) for v in value]
    if isinstance(kind, MapTypeInfo):
        part = _or_null(to_json(kind.value_type, form))
        return lambda value: {str(k): part(v) for k, v in value.items()}
    return None


def _or_null(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _finite(value: float) -> Any:
    """JSON has no word for what is no number; Flink writes it as a string."""
    return value if math.isfinite(value) else _double_text(value)
