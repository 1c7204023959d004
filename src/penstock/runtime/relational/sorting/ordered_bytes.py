"""Values as bytes that sort like the values, for sub keys of state tables and for comparing rows.

The bytes of a row's sort keys are never a prefix of those of another row, so something can follow them. They are stored in
savepoints: their encoding must never change.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.errors import PlanError
from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.types.logical.kinds import LogicalType

_INVERTED = bytes(range(255, -1, -1))
Matrix = NDArray[np.uint8]


def ordered_bytes(columns: Sequence[pa.Array], order: Sequence[SortKey], length: int) -> list[bytes]:
    """Returns the bytes of the sort keys of each row.

    >>> rows = [pa.array([3, None, -1]), pa.array(["a", "b", "b"])]
    >>> keys = ordered_bytes(rows, [SortKey(1, ascending=False), SortKey(0)], 3)
    >>> sorted(range(3), key=keys.__getitem__)
    [1, 2, 0]
    """
    if not order:
        return [b""] * length
    parts = [_encode(columns[key.column], key) for key in order]
    if all(isinstance(part, np.ndarray) for part in parts):
        return _rows(np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0])
    lists = [_rows(part) if isinstance(part, np.ndarray) else part for part in parts]
    return lists[0] if len(lists) == 1 else [b"".join(row) for row in zip(*lists, strict=True)]


def can_order(type_: LogicalType) -> bool:
    """Returns whether values of a type can be sorted."""
    return type(type_).__name__ not in ("MapType", "MultisetType", "RawType", "BitmapType", "VariantType")


def _rows(matrix: Any) -> list[bytes]:
    data, width = matrix.tobytes(), matrix.shape[1]
    return [data[i : i + width] for i in range(0, len(data), width)]


def _encode(column: pa.Array, key: SortKey) -> Matrix | list[bytes]:
    """Returns a matrix with a row of bytes per value, or a list if values have different lengths."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_null(column.type):
        return np.zeros((len(column), 1), np.uint8)
    fixed = _fixed(column)
    if fixed is None:
        return _variable(column, key)
    if not key.ascending:
        fixed = 255 - fixed
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    matrix = np.empty((len(column), fixed.shape[1] + 1), np.uint8)
    matrix[:, 0] = valid if key.nulls_first else ~valid
    matrix[:, 1:] = np.where(valid[:, None], fixed, 0)
    return matrix


def _fixed(column: pa.Array) -> Matrix | None:
    """The bytes of values of types with a fixed width, ascending."""
    type_, n = column.type, len(column)
    if pa.types.is_boolean(type_):
        return column.cast(pa.uint8()).fill_null(0).to_numpy(zero_copy_only=False).reshape(n, 1)  # type: ignore[no-any-return]
    if pa.types.is_decimal128(type_):
        whole = np.frombuffer(column.buffers()[1], "<u8", 2 * (n + column.offset))[2 * column.offset :].reshape(n, 2)
        big = np.empty((n, 2), ">u8")
        big[:, 0] = whole[:, 1] ^ np.uint64(1 << 63)
        big[:, 1] = whole[:, 0]
        return big.view(np.uint8).reshape(n, 16)
    if pa.types.is_floating(type_):
        values = column.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0  # -0.0 equals 0.0
        wide = type_.bit_width
        values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)  # one NaN, above all numbers
        bits = values.view(f"u{wide // 8}")
        sign = bits.dtype.type(1 << (wide - 1))
        flipped = np.where(bits & sign, ~bits, bits | sign)
        return flipped.astype(f">u{wide // 8}").view(np.uint8).reshape(n, wide // 8)
    width = 0
    if pa.types.is_integer(type_) or pa.types.is_temporal(type_) or pa.types.is_duration(type_):
        width = type_.bit_width
    if width not in (8, 16, 32, 64):
        return None
    numbers = column.cast(pa.int64() if width == 64 else pa.int32() if width == 32 else type_)
    signed = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    plain = signed.astype(f"i{width // 8}").view(f"u{width // 8}")
    plain = plain ^ plain.dtype.type(1 << (width - 1))
    return plain.astype(f">u{width // 8}").view(np.uint8).reshape(n, width // 8)  # type: ignore[no-any-return]


def _variable(column: pa.Array, key: SortKey) -> list[bytes]:
    null, value = (b"\0", b"\1") if key.nulls_first else (b"\1", b"\0")

    def marked(data: bytes) -> bytes:
        return value + (data if key.ascending else data.translate(_INVERTED))

    if not pa.types.is_nested(column.type):
        coded = pc.dictionary_encode(column.cast(pa.binary()))
        words = [marked(_text(v)) for v in coded.dictionary.to_pylist()]
        return [null if i is None else words[i] for i in coded.indices.to_pylist()]
    part = _part(column.type)
    return [null if v is None else marked(part(v)) for v in column.to_pylist()]


def _text(data: bytes) -> bytes:
    return data.replace(b"\0", b"\0\xff") + b"\0\0"


def _part(type_: pa.DataType) -> Callable[[Any], bytes]:
    """Returns the function that encodes a value inside an array or row."""
    if pa.types.is_list(type_):
        element = _nullable(_part(type_.value_type))
        return lambda values: b"".join([b"\1" + element(v) for v in values]) + b"\0"
    if pa.types.is_struct(type_):
        fields = [_nullable(_part(type_.field(i).type)) for i in range(type_.num_fields)]
        names = [type_.field(i).name for i in range(type_.num_fields)]
        return lambda row: b"".join([f(row[name]) for f, name in zip(fields, names, strict=True)])
    if pa.types.is_string(type_):
        return lambda value: _text(value.encode())
    if pa.types.is_binary(type_):
        return _text
    if pa.types.is_integer(type_):
        return lambda value: struct.pack(">Q", value + (1 << 63))
    if pa.types.is_map(type_) or pa.types.is_null(type_):
        raise PlanError("SORT_TYPE", f"Values of the Arrow type {type_} cannot be sorted. Sort by another column.")
    return lambda value: _rows(_fixed(pa.array([value], type_)))[0]


def _nullable(part: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    return lambda value: b"\0" if value is None else b"\1" + part(value)
