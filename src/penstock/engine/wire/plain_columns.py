"""Encodes columns of strings and numbers with msgpack, which takes a fraction of the time of pickle.

Other columns stay lists, which the caller pickles: msgpack would change values of other classes.
"""

from __future__ import annotations

from operator import is_
from typing import Any

import msgspec

Column = list[Any] | bytes

# Exactly these classes are decoded as they were encoded. A subclass, such as an enum of strings, is not.
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
_SAMPLE = 64

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


def encode_column(values: list[Any]) -> Column:
    """Returns the values as msgpack if they are plain, else the list itself.

    A column that repeats few objects stays a list too, because pickle writes each object once.

    >>> encode_column([1, 2, None])
    b'\\x93\\x01\\x02\\xc0'
    >>> encode_column([1, (2, 3)])
    [1, (2, 3)]
    """
    if type(values[0]) not in _PLAIN or not _PLAIN.issuperset(set(map(type, values))) or _repeats_objects(values):
        return values
    try:
        return _encode(values)
    except (OverflowError, UnicodeEncodeError):  # an int of more than 64 bits, or half of a surrogate pair
        return values


def decode_column(column: Column) -> list[Any]:
    """Returns the values of a column.

    >>> decode_column(encode_column(["a", 1.5, None]))
    ['a', 1.5, None]
    """
    return _decode(column) if type(column) is bytes else column  # type: ignore[return-value]


def find_column(keys: list[Any], columns: list[list[Any]]) -> int | None:
    """Returns the number of the column that contains the same objects as the keys. None if there is none."""
    first = keys[0]
    for number, column in enumerate(columns):
        if column[0] is first and all(map(is_, keys, column)):
            return number
    return None


def _repeats_objects(values: list[Any]) -> bool:
    """Whether a sample contains the same string or bytes object again and again."""
    sample = values[:_SAMPLE]
    return type(sample[0]) in (str, bytes) and 2 * len(set(map(id, sample))) < len(sample)
