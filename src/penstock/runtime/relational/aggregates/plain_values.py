"""Plain values as bytes, without checking each value where its type makes that unnecessary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from penstock.runtime.relational.state.row_codec import pack
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

_SIMPLE = (BooleanType, IntegerType, FloatType, CharType, BinaryType, DateType, TimeType, TimestampType)
_encode = msgspec.msgpack.Encoder().encode


def packer(types: Sequence[LogicalType]) -> Callable[[Any], bytes]:
    """Returns a function with the results of `row_codec.pack` for values of some types, which is faster if none is a decimal.

    >>> from penstock.types.logical.kinds import INT
    >>> packer([INT])([1, 2**70]) == pack([1, 2**70])
    True
    """
    return _pack_simple if all(isinstance(t, _SIMPLE) for t in types) else pack


def _pack_simple(values: Any) -> bytes:
    try:
        return _encode(values)
    except OverflowError:  # an integer of more than 64 bits
        return pack(values)
