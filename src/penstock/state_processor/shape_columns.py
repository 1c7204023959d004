"""Columns of stored types: what Arrow calls a shape, and its plain values as what Arrow takes."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from penstock.runtime.evolution.shape import Shape
from penstock.types.arrow import DECIMAL

Convert = Callable[[Any], Any]


class ShapedColumn:
    """A column of values of one shape.

    >>> column = ShapedColumn(pa.list_(pa.int64()))
    >>> column.arrow
    ListType(list<item: int64>)
    """

    __slots__ = ("arrow", "convert")

    def __init__(self, arrow: pa.DataType, convert: Convert | None = None) -> None:
        self.arrow = arrow
        self.convert = convert  # of a value that is not None; None: it stays as it is

    def always(self) -> Convert:
        """The same, for a value that may be None."""
        convert = self.convert
        if convert is None:
            return lambda value: value
        return lambda value: None if value is None else convert(value)


def column_of(shape: Shape) -> ShapedColumn | None:
    """The column of a shape; None for values that are pickled, of which nothing is known.

    >>> column_of(Shape("tuple", of=[Shape("str"), Shape("int", bits=32)])).arrow
    StructType(struct<f0: string, f1: int32>)
    """
    if shape.kind == "pickle":
        return None
    if shape.kind in _NUMBERS:
        return ShapedColumn(_NUMBERS[shape.kind][shape.bits])
    if shape.kind in _LEAVES:
        return ShapedColumn(*_LEAVES[shape.kind])
    return _NESTED.get(shape.kind, _text)(shape)


def _part(shape: Shape) -> ShapedColumn:
    return column_of(shape) or _text(shape)


def _list(shape: Shape) -> ShapedColumn:
    element = _part(shape.of[0])
    if element.convert is None:
        return ShapedColumn(pa.list_(element.arrow))
    each = element.always()
    return ShapedColumn(pa.list_(element.arrow), lambda values: [each(v) for v in values])


def _map(shape: Shape) -> ShapedColumn:
    key, value = _part(shape.of[0]), _part(shape.of[1])
    of_key, of_value = key.always(), value.always()
    return ShapedColumn(
        pa.map_(key.arrow, value.arrow), lambda found: [(of_key(k), of_value(v)) for k, v in found.items()]
    )


def _tuple(shape: Shape) -> ShapedColumn:
    return _struct([f"f{i}" for i in range(len(shape.of))], shape.of, list)


def _record(shape: Shape) -> ShapedColumn:
    names = [f.name for f in shape.fields]
    types = [f.type for f in shape.fields]
    if shape.form == "row":
        return _struct(names, types, lambda found: found[1])
    if shape.form == "array":
        tagged = 1 if shape.tag else 0
        return _struct(names, types, lambda found: [*found[tagged:], *([None] * len(names))][: len(names)])
    made = _struct(names, types, lambda found: [found.get(n) for n in names])
    if not any(_part(t).convert for t in types):
        made.convert = None  # Arrow takes dicts as they are
    return made


def _struct(names: list[str], types: list[Shape], split: Callable[[Any], list[Any]]) -> ShapedColumn:
    parts = [_part(t) for t in types]
    arrow = pa.struct([(n, p.arrow) for n, p in zip(names, parts, strict=True)])
    converts = [p.always() for p in parts]
    return ShapedColumn(arrow, lambda found: {n: c(v) for n, c, v in zip(names, converts, split(found), strict=True)})


def _enum(shape: Shape) -> ShapedColumn:
    kinds = {type(v) for v in shape.values}
    if kinds == {str}:
        return ShapedColumn(pa.string())
    return ShapedColumn(pa.int64()) if kinds == {int} else _text(shape)


def _text(shape: Shape) -> ShapedColumn:
    """Values of several types, or of a type that holds itself: as JSON."""
    return ShapedColumn(pa.string(), lambda value: msgspec.json.encode(value, enc_hook=repr).decode())


def _as(kind: Any) -> Convert:
    return lambda value: msgspec.convert(value, kind)


def _naive(value: Any) -> datetime.datetime:
    """Times with a zone are in UTC: a column has one zone, or none."""
    moment = msgspec.convert(value, datetime.datetime)
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _moment(pair: Any) -> int:
    return int(pair[0]) * 1_000_000 + int(pair[1]) // 1000


_NUMBERS: dict[str, dict[int | None, pa.DataType]] = {
    "int": {None: pa.int64(), 8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()},
    "float": {None: pa.float64(), 32: pa.float32(), 64: pa.float64()},
}
_LEAVES: dict[str, tuple[pa.DataType, Convert | None]] = {
    "str": (pa.string(), None),
    "bool": (pa.bool_(), None),
    "bytes": (pa.binary(), None),
    "none": (pa.null(), None),
    "bigint": (pa.decimal128(38, 0), decimal.Decimal),
    "decimal": (DECIMAL, decimal.Decimal),
    "date": (pa.date32(), _as(datetime.date)),
    "time": (pa.time64("us"), _as(datetime.time)),
    "datetime": (pa.timestamp("us"), _naive),
    "timedelta": (pa.duration("us"), _as(datetime.timedelta)),
    "uuid": (pa.string(), lambda value: str(_as(uuid.UUID)(value))),
    "instant": (pa.timestamp("us", "UTC"), _moment),
}
_NESTED: dict[str, Callable[[Shape], ShapedColumn]] = {
    "list": _list,
    "sequence": _list,
    "set": _list,
    "frozenset": _list,
    "map": _map,
    "tuple": _tuple,
    "record": _record,
    "enum": _enum,
}
