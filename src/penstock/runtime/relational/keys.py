"""Keys of rows: groups of rows with equal keys, and the bytes of a key.

The bytes of a key are a msgpack array of its values, in the encoding of `runtime/state/keys.py`, so that key groups, savepoints
and rescaling work as for all keyed state. Keys are stored in savepoints: their encoding must never change.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from penstock.runtime.relational.expressions.values import NANOSECONDS, from_values, to_values
from penstock.types.logical.kinds import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)

_HASH_MASK = np.uint64((1 << 63) - 1)
_BIG_INT = 1  # msgpack extension of runtime/state/keys.py
_encode = msgspec.msgpack.Encoder().encode
_NAN = float("nan")
_SAME = (CharType, BinaryType, IntegerType, DateType, TimeType)  # types whose values `_plain` does not change


class RowGroups:
    """Rows grouped by equal keys. Groups are numbered in the order of their first rows.

    codes: the number of the group of each row. first: the position of the first row of each group.
    """

    __slots__ = ("codes", "first")

    def __init__(self, codes: NDArray[np.int64], first: NDArray[np.int64]) -> None:
        self.codes = codes
        self.first = first

    def __len__(self) -> int:
        return len(self.first)

    def order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the positions of all rows ordered by group (rows of a group keep their order), and where each group starts.

        >>> order, starts = group_rows([pa.array(["b", "a", "b"])], 3).order()
        >>> order.tolist(), starts.tolist()
        ([0, 2, 1], [0, 2])
        """
        order = np.argsort(self.codes, kind="stable")
        return order, np.searchsorted(self.codes[order], np.arange(len(self.first)))


def group_rows(columns: Sequence[pa.Array], length: int) -> RowGroups:
    """Groups rows by the values of some columns. NULL equals NULL. Without columns, all rows are one group.

    >>> groups = group_rows([pa.array(["b", "a", "b", None])], 4)
    >>> groups.codes.tolist(), groups.first.tolist()
    ([0, 1, 0, 2], [0, 1, 3])
    """
    if not columns or length == 0:
        return RowGroups(np.zeros(length, np.int64), np.zeros(min(length, 1), np.int64))
    codes, count = _codes(columns[0])
    for column in columns[1:]:
        more, width = _codes(column)
        codes = codes * width + more
        if count * width > 2**40:  # renumber before the product overflows
            _, codes = np.unique(codes, return_inverse=True)
            count = len(codes)
        else:
            count *= width
    if len(columns) > 1:  # dictionary codes are numbered in the order of their first rows
        codes, count = _codes(pa.array(codes))
    first = np.empty(count, np.int64)
    first[codes[::-1]] = np.arange(length - 1, -1, -1)  # the last assignment counts
    return RowGroups(codes, first)


def _codes(column: pa.Array) -> tuple[NDArray[np.int64], int]:
    """Numbers the distinct values of a column in the order of their first rows."""
    if pa.types.is_nested(column.type):
        seen: dict[bytes, int] = {}
        codes = [seen.setdefault(_encode(_nested(v)), len(seen)) for v in column.to_pylist()]
        return np.array(codes, np.int64), max(len(seen), 1)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), 1
    if pa.types.is_floating(column.type):
        column = pc.if_else(
            pc.is_nan(column), pa.scalar(_NAN, column.type), pc.add(column, pa.scalar(0.0, column.type))
        )
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), max(len(encoded.dictionary), 1)


def _nested(value: Any) -> Any:
    if isinstance(value, dict):
        return [[k, _nested(v)] for k, v in value.items()]
    if isinstance(value, list | tuple):
        return [_nested(v) for v in value]
    return value if isinstance(value, int | float | str | bytes | type(None)) else repr(value)


def encode_keys(columns: Sequence[pa.Array], types: Sequence[LogicalType], length: int) -> list[bytes]:
    """Returns the bytes of the key of each row. Pass the first rows of groups, so that each key is encoded once.

    >>> from penstock.types.logical.kinds import INT, STRING
    >>> encode_keys([pa.array([1], pa.int32()), pa.array(["a"])], [INT, STRING], 1)
    [b'\\x92\\x01\\xa1a']
    """
    if not columns:
        return [_encode(())] * length
    plain = []
    for column, type_ in zip(columns, types, strict=True):
        values = to_values(column, type_)
        same = isinstance(type_, _SAME) or (isinstance(type_, TimestampType) and _fits(column))
        plain.append(values if same else [_plain(v, type_) for v in values])
    return list(map(_encode, zip(*plain, strict=True)))


def _fits(timestamps: pa.Array) -> bool:
    """Whether the nanoseconds of timestamps have at most 64 bits."""
    found = pc.min_max(timestamps.cast(pa.int64()))
    nanos = NANOSECONDS[timestamps.type.unit]
    low, high = found["min"].as_py(), found["max"].as_py()
    return low is None or (low >= -(2**63 // nanos) and high < 2**63 // nanos)


def _plain(value: Any, type_: LogicalType) -> Any:
    """A value that msgpack encodes in exactly one way."""
    if value is None or isinstance(value, str | bytes):
        return value
    match type_:
        case BooleanType():
            return int(value)
        case FloatType():
            return _NAN if value != value else value + 0.0
        case DecimalType():
            return _integer(int(value.scaleb(type_.scale)))
        case ArrayType():
            return [_plain(v, type_.element) for v in value]
        case MapType():
            return [[_plain(k, type_.key), _plain(v, type_.value)] for k, v in value]
        case MultisetType():
            return [[_plain(k, type_.element), n] for k, n in value]
        case RowType():
            return [_plain(v, f.type) for v, f in zip(value, type_.fields, strict=True)]
    return _integer(value) if isinstance(value, int) else value


def _restored(value: Any, type_: LogicalType) -> Any:
    """The inverse of `_plain`."""
    if value is None:
        return None
    match type_:
        case BooleanType():
            return bool(value)
        case DecimalType():
            return decimal.Decimal(value).scaleb(-type_.scale)
        case ArrayType():
            return [_restored(v, type_.element) for v in value]
        case MapType():
            return [(_restored(k, type_.key), _restored(v, type_.value)) for k, v in value]
        case MultisetType():
            return [(_restored(k, type_.element), n) for k, n in value]
        case RowType():
            return tuple(_restored(v, f.type) for v, f in zip(value, type_.fields, strict=True))
    return value


def _integer(value: int) -> Any:
    small = -(2**63) <= value < 2**63
    return value if small else msgspec.msgpack.Ext(_BIG_INT, b"%x" % value)


def key_hashes(encoded: Sequence[bytes]) -> NDArray[np.uint64]:
    """Returns the stable hash of each key, from which its key group follows."""
    return np.fromiter(map(xxhash.xxh3_64_intdigest, encoded), np.uint64, len(encoded)) & _HASH_MASK


def decode_values(encoded: Sequence[bytes], types: Sequence[LogicalType]) -> list[pa.Array]:
    """Returns the columns of keys from their bytes: the inverse of `encode_keys`.

    >>> from penstock.types.logical.kinds import BOOLEAN
    >>> some = pa.array([[True, None], None], pa.list_(pa.bool_()))
    >>> decode_values(encode_keys([some], [ArrayType(BOOLEAN)], 2), [ArrayType(BOOLEAN)])[0].to_pylist()
    [[True, None], None]
    """
    rows = [msgspec.msgpack.decode(data, ext_hook=_big_integer) for data in encoded]
    return [from_values([_restored(row[i], t) for row in rows], t) for i, t in enumerate(types)]


def _big_integer(code: int, data: memoryview) -> Any:
    return int(bytes(data), 16)
