"""Fast decoder of JSON rows for the common case that all values already have the declared types."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from penstock.formats.java_text import parse_date, to_instant
from penstock.formats.json.timestamps import TimestampFormat
from penstock.row import Row, make_row
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.types.collection import BytesTypeInfo, SequenceTypeInfo
from penstock.types.visitor import DefaultTypeVisitor

Convert = Callable[[Any], Any]
StrictType = tuple[Any, Convert | None]  # an annotation for msgspec, and the conversion of the decoded value

_BASIC: dict[BasicType, Any] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: bool,
    BasicType.DOUBLE: float,
    BasicType.BIG_INT: int,
    BasicType.BIG_DEC: decimal.Decimal,
}


class StrictRowDecoder:
    """Decodes messages to rows. Raises an exception for values of another type, even if they could be converted."""

    def __init__(self, struct: Any, convert: Convert) -> None:
        self._decode = msgspec.json.Decoder(struct).decode
        self._convert = convert

    def __call__(self, message: bytes) -> Row:
        row: Row = self._convert(self._decode(message))
        return row


def strict_row_decoder(
    kind: RowTypeInfo, timestamp_format: TimestampFormat, fail_on_missing_field: bool
) -> StrictRowDecoder | None:
    """Returns the fast decoder of a row type, or None if one of its types is not supported."""
    strict = _StrictTypes(timestamp_format, fail_on_missing_field).visit(kind)
    return None if strict is None or strict[1] is None else StrictRowDecoder(strict[0], strict[1])


class _StrictTypes(DefaultTypeVisitor[StrictType | None]):
    def __init__(self, timestamp_format: TimestampFormat, required: bool) -> None:
        self._timestamp_format = timestamp_format
        self._required = required

    def visit_default(self, type_info: TypeInformation) -> StrictType | None:
        return None

    def visit_basic(self, type_info: BasicTypeInfo) -> StrictType | None:
        if type_info.range is not None:
            return Annotated[int, msgspec.Meta(ge=type_info.range[0], le=type_info.range[1])], None
        if type_info.basic_type is BasicType.FLOAT:
            return float, type_info.convert
        return _BASIC[type_info.basic_type], None

    def visit_instant(self, type_info: BasicTypeInfo) -> StrictType | None:
        read = self._timestamp_format.read_instant or self._timestamp_format.read
        return (str | int), lambda value: to_instant(read(value))

    def visit_date(self, type_info: DateTypeInfo) -> StrictType | None:
        return str, parse_date

    def visit_time(self, type_info: TimeTypeInfo) -> StrictType | None:
        return str, self._timestamp_format.read_time

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> StrictType | None:
        return (str | int), self._timestamp_format.read

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> StrictType | None:
        return bytes, None

    def visit_list(self, type_info: SequenceTypeInfo) -> StrictType | None:
        element = self.visit(type_info.element_type)
        if element is None:
            return None
        annotation, convert = element
        part = annotation if isinstance(type_info, PrimitiveArrayTypeInfo) else annotation | None
        return list[part], None if convert is None else _each(convert)  # type: ignore[valid-type]

    def visit_map(self, type_info: MapTypeInfo) -> StrictType | None:
        value = self.visit(type_info.value_type) if _is_text(type_info.key_type) else None
        if value is None:
            return None
        annotation, convert = value
        return dict[str, annotation | None], None if convert is None else _each_value(convert)  # type: ignore[valid-type]

    def visit_row(self, type_info: RowTypeInfo) -> StrictType | None:
        names = type_info.get_field_names()
        parts = [self.visit(t) for t in type_info.field_types]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or len(set(names)) < len(names):
            return None
        fields: list[Any] = [
            (f"f{i}", annotation | None) if self._required else (f"f{i}", annotation | None, None)
            for i, (annotation, _) in enumerate(known)
        ]
        struct = msgspec.defstruct("Row", fields, rename={f"f{i}": name for i, name in enumerate(names)}, gc=False)
        converts = [(i, convert) for i, (_, convert) in enumerate(known) if convert is not None]
        return struct, _row_converter(names, converts)


def _row_converter(names: list[str], converts: list[tuple[int, Convert]]) -> Convert:
    fields_of = msgspec.structs.astuple
    if not converts:
        return lambda struct: make_row(names, list(fields_of(struct)))

    def row(struct: Any) -> Row:
        values = list(fields_of(struct))
        for at, convert in converts:
            if values[at] is not None:
                values[at] = convert(values[at])
        return make_row(names, values)

    return row


def _each(convert: Convert) -> Convert:
    return lambda values: [None if v is None else convert(v) for v in values]


def _each_value(convert: Convert) -> Convert:
    return lambda values: {k: None if v is None else convert(v) for k, v in values.items()}


def _is_text(kind: TypeInformation) -> bool:
    return isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.STRING
