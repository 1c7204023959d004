"""Decodes encoded keys without the class of the key, which may have changed or no longer exist."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import msgspec

_decode = msgspec.msgpack.decode
_READERS: dict[str, Any] = {
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "UUID": lambda content: uuid.UUID(hex=content),
    "Decimal": lambda content: Decimal((content[0], tuple(map(int, content[1])), content[2])),
}


def key_parts(encoded: bytes) -> Any:
    """Decodes a key to plain values; an object becomes a tuple of its class name and its fields.

    >>> from penstock.runtime.state.keys import encode_key
    >>> key_parts(encode_key((1, datetime.date(2026, 1, 2)))[0])
    (1, datetime.date(2026, 1, 2))
    """
    return decode_part(_decode(encoded))


def decode_part(part: Any) -> Any:
    """The same for a part that msgpack has already decoded."""
    if isinstance(part, list):
        return tuple(decode_part(p) for p in part)
    if not isinstance(part, msgspec.msgpack.Ext):
        return part
    if part.code == 1:
        return int(bytes(part.data), 16)
    if part.code == 3:
        return frozenset(decode_part(member) for member in set_members(part))
    kind, content = object_parts(part)
    if kind in _READERS:
        return _READERS[kind](content)
    fields = content if isinstance(content, list) else [content]
    return (kind, *(decode_part(f) for f in fields))


def object_parts(part: Any) -> tuple[str, Any]:
    """Returns the class name and the content of an object."""
    kind, content = _decode(part.data)
    return kind, content


def set_members(part: Any) -> list[Any]:
    """Returns the members of a set."""
    return [_decode(member) for member in _decode(part.data)]


class KeyText:
    """Shows an encoded key in messages.

    >>> from penstock.runtime.state.keys import encode_key
    >>> KeyText(encode_key(("a", 1))[0])
    ('a', 1)
    """

    def __init__(self, encoded: bytes) -> None:
        self._encoded = encoded

    def __repr__(self) -> str:
        return _text(_decode(self._encoded))


def _text(part: Any) -> str:
    if isinstance(part, list):
        return f"({', '.join(map(_text, part))}{',' if len(part) == 1 else ''})"
    if isinstance(part, msgspec.msgpack.Ext) and part.code == 2:
        kind, content = object_parts(part)
        if kind == "Row":
            return f"Row({', '.join(map(_text, content[1:]))})"
        if kind not in _READERS:
            return f"{kind}.{content}" if isinstance(content, str) else f"{kind}({', '.join(map(_text, content))})"
    return repr(decode_part(part))
