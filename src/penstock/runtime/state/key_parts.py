"""A key's bytes taken apart without its class, which may be gone or another one by now."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import msgspec

_decode = msgspec.msgpack.decode
_READ: dict[str, Any] = {
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "UUID": lambda content: uuid.UUID(hex=content),
    "Decimal": lambda content: Decimal((content[0], tuple(map(int, content[1])), content[2])),
}


def key_parts(encoded: bytes) -> Any:
    """A key of plain values; an object is a tuple of its class's name and its fields.

    >>> from penstock.runtime.keys import encode_key
    >>> key_parts(encode_key((1, datetime.date(2026, 1, 2)))[0])
    (1, datetime.date(2026, 1, 2))
    """
    return opened(_decode(encoded))


def opened(part: Any) -> Any:
    """The same of a part that msgpack has decoded."""
    if isinstance(part, list):
        return tuple(opened(p) for p in part)
    if not isinstance(part, msgspec.msgpack.Ext):
        return part
    if part.code == 1:
        return int(bytes(part.data), 16)
    if part.code == 3:
        return frozenset(opened(member) for member in members(part))
    kind, content = labelled(part)
    if kind in _READ:
        return _READ[kind](content)
    fields = content if isinstance(content, list) else [content]
    return (kind, *(opened(f) for f in fields))


def labelled(part: Any) -> tuple[str, Any]:
    """The name and the content of an object."""
    kind, content = _decode(part.data)
    return kind, content


def members(part: Any) -> list[Any]:
    """The members of a set."""
    return [_decode(member) for member in _decode(part.data)]


class KeyText:
    """A key as messages show it.

    >>> from penstock.runtime.keys import encode_key
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
        kind, content = labelled(part)
        if kind == "Row":
            return f"Row({', '.join(map(_text, content[1:]))})"
        if kind not in _READ:
            return f"{kind}.{content}" if isinstance(content, str) else f"{kind}({', '.join(map(_text, content))})"
    return repr(opened(part))
