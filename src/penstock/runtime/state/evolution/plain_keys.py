"""Reads encoded keys as plain values of their type, by its shape: the input of `compare` and `python_value_reader`.

Equal keys have the same encoding (`runtime/state/keys.py`), so 1.0 is encoded as 1, and an object as the list of its parts.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from penstock.runtime.state.evolution.reader_builder import Read, ReaderBuilder, identity
from penstock.runtime.state.evolution.shape import Shape
from penstock.runtime.state.key_parts import decode_part, object_parts, set_members

_decode = msgspec.msgpack.decode


def key_reader(shape: Shape) -> Callable[[bytes], Any]:
    """Returns a function that decodes a key to its plain value.

    >>> from penstock.runtime.state.keys import encode_key
    >>> key_reader(Shape("tuple", of=[Shape("float"), Shape("date")]))(encode_key((1.0, datetime.date(2026, 1, 2)))[0])
    [1.0, '2026-01-02']
    """
    read = _PlainKeys().build(shape)
    return lambda encoded: read(_decode(encoded))


class _PlainKeys(ReaderBuilder):
    def build_scalar(self, kind: str) -> Read:
        return _SCALARS.get(kind, decode_part)

    def build_enum(self, shape: Shape) -> Read:
        by_name = dict(zip(shape.names, shape.values, strict=False))
        return lambda part: by_name[object_parts(part)[1]] if isinstance(part, msgspec.msgpack.Ext) else part

    def build_collection(self, kind: str, element: Read) -> Read:
        if kind == "sequence":
            return lambda part: [element(p) for p in part]
        if kind == "frozenset":
            return lambda part: [element(p) for p in set_members(part)]
        return decode_part  # lists and sets cannot be keys

    def build_tuple(self, parts: list[Read]) -> Read:
        return _array(parts)

    def build_map(self, key: Read, value: Read) -> Read:
        return decode_part  # maps cannot be keys

    def build_union(self, members: list[Shape], readers: list[Read]) -> Read:
        """Selects the member by the class name that precedes the parts, or by the type of the value."""
        by_name = [(_type_names(member), read) for member, read in zip(members, readers, strict=True)]

        def read(part: Any) -> Any:
            name = _type_name(part)
            selected = next((read for names, read in by_name if name in names), decode_part)
            return selected(part)

        return read

    def build_record(self, shape: Shape, fields: dict[str, Read]) -> Read:
        if shape.named_tuple:
            return _array(list(fields.values()))
        return _row(fields) if shape.form == "row" else _object(shape, fields)


def _array(reads: list[Read]) -> Read:
    return lambda part: [read(p) for read, p in zip(reads, part, strict=True)]


def _row(fields: dict[str, Read]) -> Read:
    """The parts of an encoded row are ordered by field name."""
    ordered = sorted(fields)
    indexes = [ordered.index(name) for name in fields]
    read_parts = _array([fields[name] for name in ordered])

    def read(part: Any) -> Any:
        kind, *parts = object_parts(part)[1]
        values = read_parts(parts)
        return [kind, [values[at] for at in indexes]]

    return read


def _object(shape: Shape, fields: dict[str, Read]) -> Read:
    read_parts, names = _array(list(fields.values())), list(fields)
    if shape.form == "array":
        tag = shape.tag[1:]
        return lambda part: [*tag, *read_parts(object_parts(part)[1])]
    tag_field = {shape.tag[0]: shape.tag[1]} if shape.tag else {}
    return lambda part: tag_field | dict(zip(names, read_parts(object_parts(part)[1]), strict=True))


def _type_name(part: Any) -> str:
    if isinstance(part, msgspec.msgpack.Ext):
        return "int" if part.code == 1 else "frozenset" if part.code == 3 else object_parts(part)[0]
    return type(part).__name__


def _type_names(member: Shape) -> tuple[str, ...]:
    """Returns the results of `_type_name` for keys of a union member."""
    if member.kind == "enum":
        return (member.name, *{type(v).__name__ for v in member.values})
    if member.kind in ("tuple", "sequence") or (member.kind == "record" and member.named_tuple):
        return ("list",)
    if member.kind in ("record", "self"):
        return ("Row",) if member.form == "row" else (member.name,)
    return _TYPE_NAMES.get(member.kind, (member.kind,))


def _decimal(part: Any) -> str:
    return str(Decimal(part) if isinstance(part, float) else decode_part(part))


def _datetime(part: Any) -> Any:
    """The plain form of a datetime with a time zone is a datetime, of one without it is text."""
    text = object_parts(part)[1]
    value = datetime.datetime.fromisoformat(text)
    return text if value.tzinfo is None else value


def _text(part: Any) -> str:
    return object_parts(part)[1]  # type: ignore[no-any-return]


_SCALARS: dict[str, Read] = {
    "int": decode_part,
    "bool": bool,
    "float": lambda part: float(decode_part(part)),
    "str": identity,
    "bytes": identity,
    "bigint": lambda part: str(decode_part(part)),
    "decimal": _decimal,
    "date": _text,
    "time": _text,
    "datetime": _datetime,
    "instant": lambda part: object_parts(part)[1],
    "uuid": lambda part: str(uuid.UUID(hex=object_parts(part)[1])),
}
_TYPE_NAMES = {
    "float": ("float", "int"),
    "bool": ("int",),
    "decimal": ("Decimal", "float", "int"),
    "bigint": ("int",),
    "uuid": ("UUID",),
    "instant": ("Instant",),
}
