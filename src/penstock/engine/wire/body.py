"""Elements as bytes, between our own processes: Arrow where their type is known, whole columns where elements have one
shape, a plain pickle else.

A pickle of lists of strings and numbers runs in C without a call per element; a pickle of a hundred thousand objects does not.
"""

from __future__ import annotations

import pickle
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

from penstock.engine.arrow import ArrowPacker, unpack_arrow
from penstock.errors import ElementError
from penstock.runtime.failure import shortened

_PLAIN, _TUPLES, _STRUCTS, _ARROW = 0, 1, 2, 3
_LEAST = 16
_LEAST_ARROW = 256  # below it, making a record batch takes longer than pickling

_known: dict[type, tuple[str, ...] | None] = {}


def pack_body(keys: list[Any] | None, values: list[Any], packer: ArrowPacker | None = None) -> bytes:
    """Keys and values in one pickle: a key that is part of its value is written once.

    With a packer of their type they are an Arrow record batch in it, where they fit the type.

    >>> unpack_body(pack_body(["a"], [("a", 1)]))
    (['a'], [('a', 1)])
    """
    if packer is not None and len(values) >= _LEAST_ARROW:
        packed = packer.pack(keys, values)
        if packed is not None:
            return pickle.dumps((_ARROW, None, packed), 5)
    if len(values) >= _LEAST:
        kinds = set(map(type, values))
        if len(kinds) == 1:
            kind = kinds.pop()
            if kind is tuple and len(set(map(len, values))) == 1 and values[0]:
                columns = [list(map(itemgetter(i), values)) for i in range(len(values[0]))]
                return pickle.dumps((_TUPLES, keys, columns), 5)
            if (fields := _fields(kind, values[0])) is not None:
                columns = [list(map(attrgetter(f), values)) for f in fields]
                return pickle.dumps((_STRUCTS, keys, (kind, columns)), 5)
    return pickle.dumps((_PLAIN, keys, values), 5)


def unpicklable_element(to: str, values: list[Any], error: Exception) -> ElementError:
    """The error of elements that cannot be packed: names the first of them."""
    found: Any = values
    for value in values:
        try:
            pickle.dumps(value, 5)
        except Exception as its_own:
            found, error = value, its_own
            break
    return ElementError(
        "ELEMENT_NOT_PICKLABLE",
        f"Element {shortened(found)} on its way to '{to}' is a {type(found).__name__} and cannot be pickled: {error}. Elements "
        "travel between processes: emit plain values or objects of classes that stand at the top of a module.",
    )


def unpack_body(body: bytes) -> tuple[list[Any] | None, list[Any]]:
    """Keys and values."""
    shape, keys, packed = pickle.loads(body)
    if shape == _ARROW:
        return unpack_arrow(packed)
    if shape == _TUPLES:
        return keys, list(zip(*packed, strict=True))
    if shape == _STRUCTS:
        kind, columns = packed
        return keys, list(map(kind, *columns))
    return keys, packed


def _fields(kind: type, example: Any) -> tuple[str, ...] | None:
    """The fields of a Struct whose constructor takes them in this order; None when it is not such a type."""
    if kind not in _known:
        _known[kind] = None
        if issubclass(kind, msgspec.Struct) and not hasattr(kind, "__post_init__") and kind.__struct_fields__:
            fields = kind.__struct_fields__
            values = [getattr(example, f) for f in fields]
            try:
                same = kind(*values)
            except TypeError:
                return None
            if all(getattr(same, f) is v for f, v in zip(fields, values, strict=True)):
                _known[kind] = fields
    return _known[kind]
