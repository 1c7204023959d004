"""Reads stored values as Python values by their shape, since the classes that wrote them may no longer exist.

Objects are read as dicts of their fields, rows as rows, and enumeration members as their values.
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
from penstock.runtime.state.evolution.reader_builder import Read, ReaderBuilder, identity
from penstock.runtime.state.evolution.shape import Shape
from penstock.runtime.state.evolution.unions import member_selector
from penstock.time import Instant

_untyped = msgspec.msgpack.Decoder().decode
_ROW_KINDS = tuple(RowKind)


def value_reader(shape: Shape) -> Callable[[bytes], Any]:
    """Returns a function that decodes the output of a codec: a format byte and the value.

    >>> from penstock.runtime.state.codec import codec_of
    >>> from penstock.types import Types
    >>> value_reader(Shape("date"))(codec_of(Types.SQL_DATE()).encode(datetime.date(2026, 1, 31)))
    datetime.date(2026, 1, 31)
    """
    read = python_value_reader(shape)

    def decode(data: bytes) -> Any:
        if data[0] == 0:
            return pickle.loads(memoryview(data)[1:])
        return read(_untyped(data[1:]))

    return decode


def python_value_reader(shape: Shape) -> Read:
    """Returns a function that converts plain values to Python values."""
    return _PythonValues().build(shape)


class _PythonValues(ReaderBuilder):
    def build_scalar(self, kind: str) -> Read:
        return _SCALARS.get(kind, identity)

    def build_enum(self, shape: Shape) -> Read:
        return identity

    def build_collection(self, kind: str, element: Read) -> Read:
        collection = _COLLECTIONS[kind]
        return lambda values: collection(map(element, values))

    def build_tuple(self, parts: list[Read]) -> Read:
        return lambda values: tuple(read(v) for read, v in zip(parts, values, strict=False))

    def build_map(self, key: Read, value: Read) -> Read:
        return lambda entries: {key(k): value(v) for k, v in entries.items()}

    def build_union(self, members: list[Shape], readers: list[Read]) -> Read:
        select = member_selector(members)
        return lambda value: readers[select(value)](value)

    def build_record(self, shape: Shape, fields: dict[str, Read]) -> Read:
        names, parts, start = list(fields), list(fields.values()), len(shape.tag) // 2

        def read_map(value: Any) -> Any:
            return {n: fields[n](v) for n, v in value.items() if n in fields}

        def read_array(value: Any) -> Any:
            return {n: p(v) for n, p, v in zip(names, parts, value[start:], strict=False)}

        def read_row(value: Any) -> Any:
            return make_row(names, [p(v) for p, v in zip(parts, value[1], strict=True)], _ROW_KINDS[value[0]])

        return {"map": read_map, "array": read_array, "row": read_row}[shape.form]


def _datetime(value: Any) -> datetime.datetime:
    """A datetime with a time zone is stored as a msgpack timestamp, one without as text."""
    return value if isinstance(value, datetime.datetime) else datetime.datetime.fromisoformat(value)


_SCALARS: dict[str, Read] = {
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
