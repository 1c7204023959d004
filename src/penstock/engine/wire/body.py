"""Encodes elements for other Penstock processes: as Arrow if their type is known, as columns, or as a plain pickle.

Encoding columns of strings and numbers runs in C without a call per element. Pickling many objects does not.
"""

from __future__ import annotations

import pickle
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

from penstock.engine.wire.arrow import ArrowPacker, unpack_arrow
from penstock.engine.wire.change_body import pack_changes, unpack_changes
from penstock.engine.wire.plain_columns import Column, decode_column, encode_column, find_column
from penstock.errors import ElementError
from penstock.runtime.failure import short_repr
from penstock.runtime.pickling import dumps
from penstock.runtime.relational.changes import Changes

_PLAIN, _TUPLES, _STRUCTS, _ARROW, _CHANGES = 0, 1, 2, 3, 4
_MIN_COLUMNS = 16  # with fewer elements, columns are not faster
_MIN_ARROW = 256  # with fewer elements, pickling is faster than a record batch

_struct_fields: dict[type, tuple[str, ...] | None] = {}


def pack_body(keys: list[Any] | None, values: list[Any] | Changes, packer: ArrowPacker | None = None) -> bytes:
    """Encodes keys and values together, so that a key that is part of its value is written once.

    With a packer, elements that have its type are encoded as an Arrow record batch.

    >>> unpack_body(pack_body(["a"], [("a", 1)]))
    (['a'], [('a', 1)])
    """
    if isinstance(values, Changes):
        return dumps((_CHANGES, None, pack_changes(values)))
    if packer is not None and len(values) >= _MIN_ARROW:
        packed = packer.pack(keys, values)
        if packed is not None:
            return dumps((_ARROW, None, packed))
    if len(values) >= _MIN_COLUMNS:
        kinds = set(map(type, values))
        if len(kinds) == 1:
            kind = kinds.pop()
            if kind is tuple and len(set(map(len, values))) == 1 and values[0]:
                columns = [list(map(itemgetter(i), values)) for i in range(len(values[0]))]
                return dumps((_TUPLES, *_encode_columns(keys, columns)))
            if (fields := _fields(kind, values[0])) is not None:
                keys_or_column, encoded = _encode_columns(keys, [list(map(attrgetter(f), values)) for f in fields])
                return dumps((_STRUCTS, keys_or_column, (kind, encoded)))
    return dumps((_PLAIN, keys, values))


def unpicklable_element(to: str, values: list[Any], error: Exception) -> ElementError:
    """The error for elements that cannot be pickled. It names the first of them."""
    element: Any = values
    for value in values:
        try:
            dumps(value)
        except Exception as element_error:
            element, error = value, element_error
            break
    return ElementError(
        "ELEMENT_NOT_PICKLABLE",
        f"Element {short_repr(element)} sent to '{to}' is a {type(element).__name__} and cannot be pickled: {error}. Elements are "
        "sent between processes. Emit plain values, or objects of classes that the program defines before it starts, without "
        "locks, connections and open files.",
    )


def unpack_body(body: bytes) -> tuple[list[Any] | None, list[Any]]:
    """Decodes keys and values."""
    shape, keys, packed = pickle.loads(body)
    if shape == _ARROW:
        return unpack_arrow(packed)
    if shape == _CHANGES:
        return None, unpack_changes(packed)  # type: ignore[return-value] # only relational operators and sinks get them
    if shape == _TUPLES:
        keys, columns = _decode_columns(keys, packed)
        return keys, list(zip(*columns, strict=True))
    if shape == _STRUCTS:
        kind, packed = packed
        keys, columns = _decode_columns(keys, packed)
        return keys, list(map(kind, *columns))
    return keys, packed


def _encode_columns(keys: list[Any] | None, columns: list[list[Any]]) -> tuple[Column | int | None, list[Column]]:
    """Encodes keys and columns. Keys that are one of the columns are replaced by its number."""
    if keys is None:
        return None, list(map(encode_column, columns))
    number = find_column(keys, columns)
    return encode_column(keys) if number is None else number, list(map(encode_column, columns))


def _decode_columns(keys: Column | int | None, columns: list[Column]) -> tuple[list[Any] | None, list[list[Any]]]:
    decoded = list(map(decode_column, columns))
    if keys is None:
        return None, decoded
    return decoded[keys] if isinstance(keys, int) else decode_column(keys), decoded


def _fields(kind: type, example: Any) -> tuple[str, ...] | None:
    """The fields of a Struct whose constructor takes them in this order; None for other types."""
    if kind not in _struct_fields:
        _struct_fields[kind] = None
        if issubclass(kind, msgspec.Struct) and not hasattr(kind, "__post_init__") and kind.__struct_fields__:
            fields = kind.__struct_fields__
            values = [getattr(example, f) for f in fields]
            try:
                same = kind(*values)
            except TypeError:
                return None
            if all(getattr(same, f) is v for f, v in zip(fields, values, strict=True)):
                _struct_fields[kind] = fields
    return _struct_fields[kind]
