"""Arrow columns as Python values and back, for functions that have no kernel.

BOOLEAN bool, integers int, FLOAT and DOUBLE float, DECIMAL Decimal, strings str, binary bytes, DATE days since 1970,
TIME milliseconds of the day, TIMESTAMP and TIMESTAMP_LTZ nanoseconds since 1970, intervals months or milliseconds,
ARRAY and BITMAP lists, MAP and MULTISET lists of pairs, ROW tuples, VARIANT its JSON text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.types.logical.arrow import arrow_type, timestamp_unit
from penstock.types.logical.kinds import (
    INT,
    ArrayType,
    DateType,
    DayTimeIntervalType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)

NANOSECONDS = {"ms": 1_000_000, "us": 1_000, "ns": 1}


def to_values(column: pa.Array, type_: LogicalType) -> list[Any]:
    """Returns the values of a column.

    >>> to_values(pa.array([1500], pa.timestamp("ms")), TimestampType(3))
    [1500000000]
    """
    match type_:
        case DateType() | TimeType():
            return column.cast(pa.int32()).to_pylist()  # type: ignore[no-any-return]
        case DayTimeIntervalType():
            return column.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
        case TimestampType():
            factor = NANOSECONDS[column.type.unit]
            return [None if v is None else v * factor for v in column.cast(pa.int64()).to_pylist()]
        case ArrayType():
            return _lists(column, to_values(column.flatten(), type_.element))
        case MapType() | MultisetType():
            key = type_.key if isinstance(type_, MapType) else type_.element
            value = type_.value if isinstance(type_, MapType) else INT
            entries = column.cast(
                pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)]))
            )
            flat = entries.flatten()
            pairs = list(zip(to_values(flat.field(0), key), to_values(flat.field(1), value), strict=True))
            return _lists(entries, pairs)
        case RowType():
            if not type_.fields:
                return [() for _ in range(len(column))]
            fields = [to_values(part, f.type) for part, f in zip(column.flatten(), type_.fields, strict=True)]
            rows: list[Any] = list(zip(*fields, strict=True))
            valid = column.is_valid().to_pylist()
            return [row if v else None for row, v in zip(rows, valid, strict=True)]
    return column.to_pylist()  # type: ignore[no-any-return]


def _lists(column: pa.Array, flat: list[Any]) -> list[Any]:
    lengths, at = pc.list_value_length(column).to_pylist(), 0
    result: list[Any] = []
    for length in lengths:
        if length is None:
            result.append(None)
        else:
            result.append(flat[at : at + length])
            at += length
    return result


def from_values(values: Sequence[Any], type_: LogicalType) -> pa.Array:
    """Returns the column of values.

    >>> from_values([1_500_000_000], TimestampType(3))[0]
    <pyarrow.TimestampScalar: '1970-01-01T00:00:01.500'>
    """
    encode = _encoder(type_)
    return pa.array(values if encode is None else [None if v is None else encode(v) for v in values], arrow_type(type_))


@functools.cache
def _encoder(type_: LogicalType) -> Callable[[Any], Any] | None:
    match type_:
        case TimestampType():
            factor = NANOSECONDS[timestamp_unit(type_.precision)]
            return None if factor == 1 else lambda value: value // factor
        case ArrayType():
            element = _encoder(type_.element)
            if element is None:
                return None
            return lambda values: [None if v is None else element(v) for v in values]
        case MapType() | MultisetType():
            key = _nullable(_encoder(type_.key if isinstance(type_, MapType) else type_.element))
            value = _nullable(_encoder(type_.value) if isinstance(type_, MapType) else None)
            return lambda pairs: [(key(k), value(v)) for k, v in pairs]
        case RowType():
            names = [field.name for field in type_.fields]
            fields = [_nullable(_encoder(field.type)) for field in type_.fields]
            if len(set(names)) < len(names):
                return lambda row: tuple(field(v) for field, v in zip(fields, row, strict=True))
            return lambda row: {n: field(v) for n, field, v in zip(names, fields, row, strict=True)}
    return None


def _nullable(encode: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    if encode is None:
        return lambda value: value
    return lambda value: None if value is None else encode(value)


def scalar(value: Any, type_: LogicalType) -> pa.Scalar:
    """Returns a constant as an Arrow scalar."""
    return from_values([value], type_)[0]


def value_of(constant: pa.Scalar, type_: LogicalType) -> Any:
    """Returns the Python value of an Arrow scalar."""
    return to_values(pa.array([constant], constant.type) if constant.is_valid else pa.nulls(1, constant.type), type_)[0]
