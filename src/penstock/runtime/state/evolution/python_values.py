"""Stored values as Python values, by their shape alone: the classes that wrote them may be gone.

Objects come as dicts of their fields, rows as rows, members of an enumeration as their values.
"""

from __future__ import annotations

import datetime
import decimal
import pickle
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.row import RowKind, make_row
from penstock.runtime.evolution.members import telling
from penstock.runtime.evolution.shape import Shape
from penstock.time import Instant

Read = Callable[[Any], Any]

_untyped = msgspec.msgpack.Decoder().decode
_KINDS = tuple(RowKind)


def value_reader(shape: Shape) -> Callable[[bytes], Any]:
    """Decodes what a codec wrote: a byte that says how, and the value.

    >>> from penstock.runtime.codec import codec_of
    >>> from penstock.types import Types
    >>> value_reader(Shape("date"))(codec_of(Types.SQL_DATE()).encode(datetime.date(2026, 1, 31)))
    datetime.date(2026, 1, 31)
    """
    read = natural(shape)

    def decode(data: bytes) -> Any:
        if data[0] == 0:
            return pickle.loads(memoryview(data)[1:])
        return read(_untyped(data[1:]))

    return decode


def natural(shape: Shape) -> Read:
    """What makes Python values of plain ones."""
    return _Natural().of(shape)


class _Natural:
    def __init__(self) -> None:
        self._within: dict[str, list[Read]] = {}

    def of(self, shape: Shape) -> Read:
        """None stays None, whether the type has it or not."""
        read = self._of(shape)
        return _same if read is _same else lambda value: None if value is None else read(value)

    def _of(self, shape: Shape) -> Read:
        if (leaf := _LEAVES.get(shape.kind)) is not None:
            return leaf
        if (collection := _COLLECTIONS.get(shape.kind)) is not None:
            each = self.of(shape.of[0])
            return lambda values: collection(map(each, values))
        if shape.kind == "tuple":
            parts = [self.of(s) for s in shape.of]
            return lambda values: tuple(read(v) for read, v in zip(parts, values, strict=False))
        if shape.kind == "map":
            key, value = self.of(shape.of[0]), self.of(shape.of[1])
            return lambda found: {key(k): value(v) for k, v in found.items()}
        if shape.kind == "union":
            members, which = [self.of(s) for s in shape.of], telling(shape.of)
            return lambda value: members[which(value)](value)
        if shape.kind == "self":
            around = self._within[shape.name]
            return lambda value: around[0](value)
        return self._record(shape) if shape.kind == "record" else _same

    def _record(self, shape: Shape) -> Read:
        outer = self._within.get(shape.name)
        this: list[Read] = []
        self._within[shape.name] = this
        names, parts = [f.name for f in shape.fields], [self.of(f.type) for f in shape.fields]
        by_name, before = dict(zip(names, parts, strict=True)), len(shape.tag) // 2

        def of_map(value: Any) -> Any:
            return {n: by_name[n](v) for n, v in value.items() if n in by_name}

        def of_array(value: Any) -> Any:
            return {n: p(v) for n, p, v in zip(names, parts, value[before:], strict=False)}

        def of_row(value: Any) -> Any:
            return make_row(names, [p(v) for p, v in zip(parts, value[1], strict=True)], _KINDS[value[0]])

        this.append({"map": of_map, "array": of_array, "row": of_row}[shape.form])
        if outer is not None:
            self._within[shape.name] = outer
        return this[0]


def _same(value: Any) -> Any:
    return value


def _datetime(value: Any) -> datetime.datetime:
    """One with a time zone is a timestamp of msgpack's own, one without is text."""
    return value if isinstance(value, datetime.datetime) else datetime.datetime.fromisoformat(value)


_LEAVES: dict[str, Read] = {
    "bigint": int,
    "decimal": decimal.Decimal,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "datetime": _datetime,
    "timedelta": lambda value: msgspec.convert(value, datetime.timedelta),
    "instant": lambda value: Instant(*value),
    "uuid": uuid.UUID,
}
_COLLECTIONS: dict[str, Callable[[Any], Any]] = {"list": list, "sequence": tuple, "set": set, "frozenset": frozenset}
