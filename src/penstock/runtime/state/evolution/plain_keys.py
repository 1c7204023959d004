"""Stored keys as plain values of their type, by its shape alone: what `resolve` changes and `natural` reads.

A key's bytes have one form for equal keys (`runtime/keys.py`), so 1.0 stands there as 1, and an object as the list of its parts.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from penstock.runtime.evolution.shape import Shape
from penstock.runtime.key_parts import labelled, members, opened

Read = Callable[[Any], Any]

_decode = msgspec.msgpack.decode


def key_reader(shape: Shape) -> Callable[[bytes], Any]:
    """Makes the plain value of a key's bytes.

    >>> from penstock.runtime.keys import encode_key
    >>> key_reader(Shape("tuple", of=[Shape("float"), Shape("date")]))(encode_key((1.0, datetime.date(2026, 1, 2)))[0])
    [1.0, '2026-01-02']
    """
    read = _Reading().of(shape)
    return lambda encoded: read(_decode(encoded))


class _Reading:
    def __init__(self) -> None:
        self._within: dict[str, list[Read]] = {}

    def of(self, shape: Shape) -> Read:
        """None stays None: it may be a part of a key."""
        read = self._of(shape)
        return lambda part: None if part is None else read(part)

    def _of(self, shape: Shape) -> Read:
        if (leaf := _LEAVES.get(shape.kind)) is not None:
            return leaf
        if shape.kind == "enum":
            by_name = dict(zip(shape.names, shape.values, strict=False))
            return lambda part: by_name[labelled(part)[1]] if isinstance(part, msgspec.msgpack.Ext) else part
        if shape.kind == "tuple":
            return _array([self.of(s) for s in shape.of])
        if shape.kind == "sequence":
            each = self.of(shape.of[0])
            return lambda part: [each(p) for p in part]
        if shape.kind == "frozenset":
            member = self.of(shape.of[0])
            return lambda part: [member(p) for p in members(part)]
        if shape.kind == "union":
            return self._union(shape)
        if shape.kind == "self":
            around = self._within[shape.name]
            return lambda part: around[0](part)
        return self._record(shape) if shape.kind == "record" else opened

    def _record(self, shape: Shape) -> Read:
        outer, this = self._within.get(shape.name), list[Read]()
        self._within[shape.name] = this
        reads = {f.name: self.of(f.type) for f in shape.fields}
        if outer is not None:
            self._within[shape.name] = outer
        if shape.named_tuple:
            this.append(_array(list(reads.values())))
        elif shape.form == "row":
            this.append(_row(reads))
        else:
            this.append(_object(shape, reads))
        return this[0]

    def _union(self, shape: Shape) -> Read:
        """Members are told by the name that stands before their parts, or by what their values are."""
        reads = [(_names(member), self.of(member)) for member in shape.of]

        def read(part: Any) -> Any:
            name = _name(part)
            found = next((read for names, read in reads if name in names), None)
            return opened(part) if found is None else found(part)

        return read


def _array(reads: list[Read]) -> Read:
    return lambda part: [read(p) for read, p in zip(reads, part, strict=True)]


def _row(reads: dict[str, Read]) -> Read:
    """Its parts stand in the order of their names."""
    ordered = sorted(reads)
    places = [ordered.index(name) for name in reads]
    each = _array([reads[name] for name in ordered])

    def read(part: Any) -> Any:
        kind, *parts = labelled(part)[1]
        values = each(parts)
        return [kind, [values[at] for at in places]]

    return read


def _object(shape: Shape, reads: dict[str, Read]) -> Read:
    each, names = _array(list(reads.values())), list(reads)
    if shape.form == "array":
        tag = shape.tag[1:]
        return lambda part: [*tag, *each(labelled(part)[1])]
    tagged = {shape.tag[0]: shape.tag[1]} if shape.tag else {}
    return lambda part: tagged | dict(zip(names, each(labelled(part)[1]), strict=True))


def _name(part: Any) -> str:
    if isinstance(part, msgspec.msgpack.Ext):
        return "int" if part.code == 1 else "frozenset" if part.code == 3 else labelled(part)[0]
    return type(part).__name__


def _names(member: Shape) -> tuple[str, ...]:
    """What `_name` may find in keys of a union's member."""
    if member.kind == "enum":
        return (member.name, *{type(v).__name__ for v in member.values})
    if member.kind in ("tuple", "sequence") or (member.kind == "record" and member.named_tuple):
        return ("list",)
    if member.kind in ("record", "self"):
        return ("Row",) if member.form == "row" else (member.name,)
    return _KINDS.get(member.kind, (member.kind,))


def _decimal(part: Any) -> str:
    return str(Decimal(part) if isinstance(part, float) else opened(part))


def _datetime(part: Any) -> Any:
    """One with a time zone is a timestamp of msgpack's own, one without is text."""
    text = labelled(part)[1]
    found = datetime.datetime.fromisoformat(text)
    return text if found.tzinfo is None else found


def _text(part: Any) -> str:
    return labelled(part)[1]  # type: ignore[no-any-return]


def _same(part: Any) -> Any:
    return part


_LEAVES: dict[str, Read] = {
    "int": opened,
    "bool": bool,
    "float": lambda part: float(opened(part)),
    "str": _same,
    "bytes": _same,
    "bigint": lambda part: str(opened(part)),
    "decimal": _decimal,
    "date": _text,
    "time": _text,
    "datetime": _datetime,
    "instant": lambda part: labelled(part)[1],
    "uuid": lambda part: str(uuid.UUID(hex=labelled(part)[1])),
}
_KINDS = {
    "float": ("float", "int"),
    "bool": ("int",),
    "decimal": ("Decimal", "float", "int"),
    "bigint": ("int",),
    "uuid": ("UUID",),
    "instant": ("Instant",),
}
