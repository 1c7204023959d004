"""Typed values as what msgpack knows: the form in which declared types rest in state."""

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

Change = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Plain:
    """What msgspec decodes, and how values become it and come back from it; None where they are it."""

    kind: Any
    immutable: bool = False
    pack: Change | None = None
    unpack: Change | None = None


def plain_of(type_info: TypeInformation, version: int = 2) -> Plain | None:
    """The plain form of a type in a version of the format; None for types that are pickled.

    >>> from penstock.types import Types
    >>> plain_of(Types.TUPLE([Types.STRING(), Types.DOUBLE()])).kind
    tuple[str | None, float | None]
    """
    if isinstance(type_info, InstantTypeInfo):
        if version == 1:
            return Plain(datetime.datetime, True, None, _instant_of_version_1)
        return Plain(tuple[int, int], True, lambda i: (i.seconds, i.nanos), lambda p: Instant(*p))
    if isinstance(type_info, BasicTypeInfo):
        return _basic(type_info, version)
    if type(type_info) in _WHOLE:
        return Plain(_WHOLE[type(type_info)], True, type_info.convert)
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.binary:
        return Plain(bytes, True)
    if isinstance(type_info, SequenceTypeInfo):
        nullable = not isinstance(type_info, PrimitiveArrayTypeInfo)
        return _sequence(plain_of(type_info.element_type, version), nullable)
    if isinstance(type_info, MapTypeInfo):
        return _map(plain_of(type_info.key_type, version), plain_of(type_info.value_type, version))
    if isinstance(type_info, TupleTypeInfo):
        return _tuple([plain_of(t, version) for t in type_info.field_types])
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info.get_field_names(), [plain_of(t, version) for t in type_info.field_types])
    if isinstance(type_info, PythonTypeInfo) and not _has_custom(msgspec.inspect.type_info(type_info.python_type)):
        kind = type_info.python_type
        return Plain(kind, _is_immutable_annotation(kind), type_info.convert if kind in _LENIENT else None)
    return None


# msgspec decodes these from text or numbers too, so what is written must be looked at first.
_LENIENT = (decimal.Decimal, datetime.date, datetime.time, datetime.datetime)
_WHOLE: dict[type, Any] = {
    DateTypeInfo: datetime.date,
    TimeTypeInfo: datetime.time,
    TimestampTypeInfo: datetime.datetime,
    BytesTypeInfo: bytes,
}
_KINDS: dict[BasicType, Any] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: bool,
    BasicType.FLOAT: float,
    BasicType.DOUBLE: float,
    BasicType.BIG_DEC: decimal.Decimal,
}


def _instant_of_version_1(value: datetime.datetime) -> Instant:
    """Version 1 wrote datetimes."""
    return InstantTypeInfo().convert(value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC))


def _basic(type_info: BasicTypeInfo, version: int) -> Plain:
    kind = type_info.basic_type
    if kind in RANGES:
        if version == 1:  # had no bounds
            return Plain(int, True)
        low, high = RANGES[kind]
        return Plain(Annotated[int, msgspec.Meta(ge=low, le=high)], True)
    if kind is BasicType.BIG_INT:
        return Plain(str, True, lambda n: str(type_info.convert(n)), int)
    if kind in (BasicType.FLOAT, BasicType.BIG_DEC):
        return Plain(_KINDS[kind], True, type_info.convert)
    return Plain(_KINDS[kind], True)


def _sequence(element: Plain | None, nullable: bool) -> Plain | None:
    if element is None:
        return None
    kind = GenericAlias(list, (element.kind | None if nullable else element.kind,))
    return Plain(kind, False, _each(element.pack), _each(element.unpack))


def _each(change: Change | None) -> Change | None:
    if change is None:
        return None
    return lambda values: [None if v is None else change(v) for v in values]


def _map(key: Plain | None, value: Plain | None) -> Plain | None:
    if key is None or value is None:
        return None
    kind = GenericAlias(dict, (key.kind, value.kind | None))
    return Plain(kind, False, _both(key.pack, value.pack), _both(key.unpack, value.unpack))


def _both(key: Change | None, value: Change | None) -> Change | None:
    if key is None and value is None:
        return None
    of_key, of_value = key or _same, value or _same
    return lambda found: {of_key(k): None if v is None else of_value(v) for k, v in found.items()}


def _same(value: Any) -> Any:
    return value


def _tuple(fields: list[Plain | None]) -> Plain | None:
    known = [f for f in fields if f is not None]
    if len(known) < len(fields):
        return None
    kind = GenericAlias(tuple, tuple(f.kind | None for f in known) or ((),))
    immutable = all(f.immutable for f in known)
    return Plain(kind, immutable, _into_tuple([f.pack for f in known]), _into_tuple([f.unpack for f in known]))


def _into_tuple(changes: list[Change | None]) -> Change | None:
    if not any(changes):
        return None
    each = [c or _same for c in changes]
    return lambda values: tuple(None if v is None else c(v) for c, v in zip(each, values, strict=True))


def _row(names: list[str], fields: list[Plain | None]) -> Plain | None:
    inner = _tuple(fields)
    if inner is None:
        return None

    def pack(row: Row) -> tuple[Any, ...]:
        values = row.get_fields_by_names(names)
        return (row.get_row_kind().value, values if inner.pack is None else inner.pack(values))

    def unpack(found: tuple[int, tuple[Any, ...]]) -> Row:
        kind, values = found
        return make_row(names, list(values if inner.unpack is None else inner.unpack(values)), _ROW_KINDS[kind])

    return Plain(GenericAlias(tuple, (Annotated[int, msgspec.Meta(ge=0, le=3)], inner.kind)), False, pack, unpack)


_ROW_KINDS = tuple(RowKind)


def _has_custom(node: Any, around: tuple[int, ...] = ()) -> bool:
    """Whether msgspec meets a class that it does not know, somewhere in a type; a class may hold itself."""
    if isinstance(node, msgspec.inspect.CustomType):
        return True
    return id(node) not in around and any(_has_custom(part, (*around, id(node))) for part in _parts(node))


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
    """Whether all values of an annotation are immutable: plain ones, and tuples of such."""
    if annotation in _IMMUTABLE or annotation is type(None):
        return True
    return getattr(annotation, "__origin__", None) is tuple and all(
        _is_immutable_annotation(a) for a in annotation.__args__ if a is not ...
    )
