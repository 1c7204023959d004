"""Plain forms: typed values as values that msgpack can encode. State of declared types is stored in this form."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from dataclasses import dataclass
from types import GenericAlias
from typing import Annotated, Any

import msgspec

from penstock.row import Row, RowKind, make_row
from penstock.time import Instant
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    PythonTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.basic import RANGES
from penstock.types.collection import BytesTypeInfo, SequenceTypeInfo
from penstock.types.visitor import DefaultTypeVisitor

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class PlainForm:
    """The type that msgspec decodes, and the conversions from and to it; None where no conversion is needed."""

    kind: Any
    immutable: bool = False
    pack: Convert | None = None
    unpack: Convert | None = None


def plain_form(type_info: TypeInformation, version: int = 2) -> PlainForm | None:
    """Returns the plain form of a type in a version of the format; None for types that are pickled.

    >>> from penstock.types import Types
    >>> plain_form(Types.TUPLE([Types.STRING(), Types.DOUBLE()])).kind
    tuple[str | None, float | None]
    """
    return _PlainForms(version).visit(type_info)


# msgspec decodes these from text or numbers too, so values are converted before they are written.
_LENIENT = (decimal.Decimal, datetime.date, datetime.time, datetime.datetime)
_KINDS: dict[BasicType, Any] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: bool,
    BasicType.FLOAT: float,
    BasicType.DOUBLE: float,
    BasicType.BIG_DEC: decimal.Decimal,
}


class _PlainForms(DefaultTypeVisitor[PlainForm | None]):
    def __init__(self, version: int) -> None:
        self._version = version

    def visit_default(self, type_info: TypeInformation) -> PlainForm | None:
        return None

    def visit_basic(self, type_info: BasicTypeInfo) -> PlainForm:
        kind = type_info.basic_type
        if kind in RANGES:
            if self._version == 1:  # without bounds
                return PlainForm(int, True)
            low, high = RANGES[kind]
            return PlainForm(Annotated[int, msgspec.Meta(ge=low, le=high)], True)
        if kind is BasicType.BIG_INT:
            return PlainForm(str, True, lambda n: str(type_info.convert(n)), int)
        if kind in (BasicType.BIG_DEC, BasicType.CHAR):
            return PlainForm(_KINDS[kind], True, type_info.convert)
        return PlainForm(_KINDS[kind], True)

    def visit_instant(self, type_info: BasicTypeInfo) -> PlainForm:
        if self._version == 1:
            return PlainForm(datetime.datetime, True, None, _instant_of_version_1)
        return PlainForm(tuple[int, int], True, lambda i: (i.seconds, i.nanos), lambda p: Instant(*p))

    def visit_date(self, type_info: DateTypeInfo) -> PlainForm:
        return PlainForm(datetime.date, True, type_info.convert)

    def visit_time(self, type_info: TimeTypeInfo) -> PlainForm:
        return PlainForm(datetime.time, True, type_info.convert)

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> PlainForm:
        return PlainForm(datetime.datetime, True, type_info.convert)

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> PlainForm:
        if isinstance(type_info, PrimitiveArrayTypeInfo):
            return PlainForm(bytes, True)
        return PlainForm(bytes, True, type_info.convert)

    def visit_list(self, type_info: SequenceTypeInfo) -> PlainForm | None:
        element = self.visit(type_info.element_type)
        if element is None:
            return None
        nullable = not isinstance(type_info, PrimitiveArrayTypeInfo)
        kind = GenericAlias(list, (element.kind | None if nullable else element.kind,))
        return PlainForm(kind, False, _convert_elements(element.pack), _convert_elements(element.unpack))

    def visit_map(self, type_info: MapTypeInfo) -> PlainForm | None:
        key, value = self.visit(type_info.key_type), self.visit(type_info.value_type)
        if key is None or value is None:
            return None
        kind = GenericAlias(dict, (key.kind, value.kind | None))
        return PlainForm(kind, False, _convert_map(key.pack, value.pack), _convert_map(key.unpack, value.unpack))

    def visit_tuple(self, type_info: TupleTypeInfo) -> PlainForm | None:
        return self._fields(type_info.field_types)

    def visit_row(self, type_info: RowTypeInfo) -> PlainForm | None:
        names, inner = type_info.get_field_names(), self._fields(type_info.field_types)
        if inner is None:
            return None

        def pack(row: Row) -> tuple[Any, ...]:
            values = row.get_fields_by_names(names)
            return (row.get_row_kind().value, values if inner.pack is None else inner.pack(values))

        def unpack(stored: tuple[int, tuple[Any, ...]]) -> Row:
            kind, values = stored
            return make_row(names, list(values if inner.unpack is None else inner.unpack(values)), _ROW_KINDS[kind])

        kind = GenericAlias(tuple, (Annotated[int, msgspec.Meta(ge=0, le=3)], inner.kind))
        return PlainForm(kind, False, pack, unpack)

    def visit_python(self, type_info: PythonTypeInfo) -> PlainForm | None:
        kind = type_info.python_type
        if _has_custom_type(msgspec.inspect.type_info(kind)):
            return None
        return PlainForm(kind, _is_immutable_annotation(kind), type_info.convert if kind in _LENIENT else None)

    def _fields(self, types: list[TypeInformation]) -> PlainForm | None:
        forms = [self.visit(t) for t in types]
        known = [f for f in forms if f is not None]
        if len(known) < len(forms):
            return None
        kind = GenericAlias(tuple, tuple(f.kind | None for f in known) or ((),))
        immutable = all(f.immutable for f in known)
        return PlainForm(
            kind, immutable, _convert_tuple([f.pack for f in known]), _convert_tuple([f.unpack for f in known])
        )


def _instant_of_version_1(value: datetime.datetime) -> Instant:
    """Version 1 stored datetimes."""
    return InstantTypeInfo().convert(value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC))


def _convert_elements(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda values: [None if v is None else convert(v) for v in values]


def _convert_map(key: Convert | None, value: Convert | None) -> Convert | None:
    if key is None and value is None:
        return None
    convert_key, convert_value = key or _identity, value or _identity
    return lambda entries: {convert_key(k): None if v is None else convert_value(v) for k, v in entries.items()}


def _identity(value: Any) -> Any:
    return value


def _convert_tuple(converts: list[Convert | None]) -> Convert | None:
    if not any(converts):
        return None
    each = [c or _identity for c in converts]
    return lambda values: tuple(None if v is None else c(v) for c, v in zip(each, values, strict=True))


_ROW_KINDS = tuple(RowKind)


def _has_custom_type(node: Any, parents: tuple[int, ...] = ()) -> bool:
    """Whether a type contains a class that msgspec does not know. A class may contain itself."""
    if isinstance(node, msgspec.inspect.CustomType):
        return True
    return id(node) not in parents and any(_has_custom_type(part, (*parents, id(node))) for part in _parts(node))


def _parts(node: Any) -> list[Any]:
    parts: list[Any] = []
    for name in ("item_type", "key_type", "value_type", "type"):
        part = getattr(node, name, None)
        if isinstance(part, (msgspec.inspect.Type, msgspec.inspect.Field)):
            parts.append(part)
    for name in ("item_types", "types", "fields"):
        parts += getattr(node, name, ())
    return parts


_IMMUTABLE = {str, int, float, bool, bytes, decimal.Decimal, datetime.date, datetime.time, datetime.datetime}


def _is_immutable_annotation(annotation: Any) -> bool:
    """Whether all values of an annotation are immutable: plain values, and tuples of them."""
    if annotation in _IMMUTABLE or annotation is type(None):
        return True
    return getattr(annotation, "__origin__", None) is tuple and all(
        _is_immutable_annotation(a) for a in annotation.__args__ if a is not ...
    )
