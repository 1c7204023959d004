"""Rows as bytes in state."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.types.logical.kinds import (
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    FloatType,
    IntegerType,
    LogicalType,
    TimestampType,
    TimeType,
)

_PLAIN = (BinaryType, BooleanType, CharType, DateType, FloatType, IntegerType, TimestampType, TimeType)
_DECIMAL, _BIG_INT = 4, 1


def _extension(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return msgspec.msgpack.Ext(_DECIMAL, str(value).encode())
    if isinstance(value, int):
        return msgspec.msgpack.Ext(_BIG_INT, b"%x" % value)
    raise NotImplementedError(type(value).__name__)


def _from_extension(code: int, data: memoryview) -> Any:
    return decimal.Decimal(bytes(data).decode()) if code == _DECIMAL else int(bytes(data), 16)


_encode = msgspec.msgpack.Encoder(enc_hook=_extension, decimal_format="string").encode
_decode = msgspec.msgpack.Decoder(ext_hook=_from_extension).decode


def pack(values: Any) -> bytes:
    """Encodes lists of plain values: None, bool, int, float, str, bytes, Decimal and lists of them.

    >>> unpack(pack([1, "a", decimal.Decimal("1.50"), 2**70]))
    [1, 'a', Decimal('1.50'), 1180591620717411303424]
    """
    try:
        return _encode(_wrap(values))
    except OverflowError:
        return _encode(_wrap(values, big=True))


def unpack(data: bytes) -> Any:
    """Decodes what `pack` encoded. Tuples come back as lists."""
    return _decode(data)


def _wrap(value: Any, big: bool = False) -> Any:
    """Decimals and integers of more than 64 bits as extensions, because msgpack has neither."""
    if isinstance(value, list | tuple):
        return [_wrap(v, big) for v in value]
    if isinstance(value, decimal.Decimal):
        return _extension(value)
    if big and isinstance(value, int) and not -(2**63) <= value < 2**64:
        return _extension(value)
    return value


class RowCodec:
    """Encodes rows of given types, and decodes many of them into columns.

    >>> from penstock.types.logical.kinds import INT, STRING
    >>> codec = RowCodec([INT, STRING])
    >>> stored = codec.encode([pa.array([1, None], pa.int32()), pa.array(["a", "b"])])
    >>> [column.to_pylist() for column in codec.decode(stored)]
    [[1, None], ['a', 'b']]
    """

    def __init__(self, types: Sequence[LogicalType]) -> None:
        self.types = list(types)
        self._plain = all(isinstance(t, _PLAIN) for t in types)

    def encode(self, columns: Sequence[pa.Array]) -> list[bytes]:
        """Returns the bytes of each row."""
        if not self.types:
            raise ValueError("rows without columns have no length")
        values = [to_values(c, t) for c, t in zip(columns, self.types, strict=True)]
        if self._plain:  # nothing to wrap, which would take most of the time
            try:
                return list(map(_encode, zip(*values, strict=True)))
            except OverflowError:  # nanoseconds of a timestamp after the year 2262
                pass
        return [pack(row) for row in zip(*values, strict=True)]

    def decode(self, rows: Sequence[bytes]) -> list[pa.Array]:
        """Returns the columns of rows."""
        decoded = list(map(_decode, rows))
        return [from_values([row[i] for row in decoded], t) for i, t in enumerate(self.types)]
