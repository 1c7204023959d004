"""The Arrow columns of stored types, and the conversion of stored values to Arrow."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from penstock.runtime.state.evolution.shape import Shape
from penstock.types.arrow import LEAF_TYPES, ArrowColumn, Convert, list_column, map_column, struct_column


def shape_column(shape: Shape) -> ArrowColumn | None:
    """Returns the column of a stored type, or None for pickled values, whose type is unknown.

    >>> shape_column(Shape("tuple", of=[Shape("str"), Shape("int", bits=32)])).arrow
    StructType(struct<f0: string, f1: int32>)
    """
    if shape.kind == "pickle":
        return None
    if shape.kind in ("int", "float"):
        return _leaf(f"{shape.kind}{shape.bits or 64}")
    if shape.kind in LEAF_TYPES:
        return _leaf(shape.kind)
    return _NESTED.get(shape.kind, _json)(shape)


def _leaf(leaf: str) -> ArrowColumn:
    return ArrowColumn(LEAF_TYPES[leaf].file, _ENCODERS.get(leaf))


def _part(shape: Shape) -> ArrowColumn:
    return shape_column(shape) or _json(shape)


def _list(shape: Shape) -> ArrowColumn:
    return list_column(_part(shape.of[0]))


def _map(shape: Shape) -> ArrowColumn:
    return map_column(_part(shape.of[0]), _part(shape.of[1]))


def _tuple(shape: Shape) -> ArrowColumn:
    return _struct([f"f{i}" for i in range(len(shape.of))], shape.of, list)


def _record(shape: Shape) -> ArrowColumn:
    names = [f.name for f in shape.fields]
    types = [f.type for f in shape.fields]
    if shape.form == "row":
        return _struct(names, types, lambda found: found[1])
    if shape.form == "array":
        tagged = 1 if shape.tag else 0
        return _struct(names, types, lambda found: [*found[tagged:], *([None] * len(names))][: len(names)])
    if any(_part(t).encode for t in types):
        return _struct(names, types, lambda found: [found.get(n) for n in names])
    return ArrowColumn(_struct(names, types, list).arrow)  # Arrow takes dicts as they are


def _struct(names: list[str], types: list[Shape], split: Callable[[Any], list[Any]]) -> ArrowColumn:
    return struct_column(names, [_part(t) for t in types], split)


def _enum(shape: Shape) -> ArrowColumn:
    classes = {type(v) for v in shape.values}
    if classes == {str}:
        return ArrowColumn(pa.string())
    return ArrowColumn(pa.int64()) if classes == {int} else _json(shape)


def _json(shape: Shape) -> ArrowColumn:
    """Returns the column of values of several types, or of a type that contains itself. They are written as JSON."""
    return ArrowColumn(pa.string(), lambda value: msgspec.json.encode(value, enc_hook=repr).decode())


def _converter(python_class: Any) -> Convert:
    return lambda value: msgspec.convert(value, python_class)


def _to_naive_datetime(value: Any) -> datetime.datetime:
    """Converts a datetime with a time zone to UTC, because a column has one time zone or none."""
    moment = msgspec.convert(value, datetime.datetime)
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _to_micros(seconds_and_nanos: Any) -> int:
    return int(seconds_and_nanos[0]) * 1_000_000 + int(seconds_and_nanos[1]) // 1000


_ENCODERS: dict[str, Convert] = {
    "bigint": decimal.Decimal,
    "decimal": decimal.Decimal,
    "date": _converter(datetime.date),
    "time": _converter(datetime.time),
    "datetime": _to_naive_datetime,
    "timedelta": _converter(datetime.timedelta),
    "uuid": lambda value: str(msgspec.convert(value, uuid.UUID)),
    "instant": _to_micros,
}
_NESTED: dict[str, Callable[[Shape], ArrowColumn]] = {
    "list": _list,
    "sequence": _list,
    "set": _list,
    "frozenset": _list,
    "map": _map,
    "tuple": _tuple,
    "record": _record,
    "enum": _enum,
}
