"""Keys of a savepoint, from their bytes."""

from __future__ import annotations

import datetime
import pickle
import uuid
from decimal import Decimal
from typing import Any

import msgspec

from penstock.errors import KeyError_
from penstock.runtime.keys import decode_key

_READ: dict[str, Any] = {
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "UUID": lambda content: uuid.UUID(hex=content),
    "Decimal": lambda content: Decimal((content[0], tuple(map(int, content[1])), content[2])),
}


class Keys:
    """The keys of one operator. Those that their bytes do not give back are pickled in a table of their own.

    >>> from penstock.runtime.keys import encode_key
    >>> Keys({}).of(encode_key(("a", 1))[0]), Keys({}).of(encode_key(datetime.date(2026, 1, 2))[0])
    (('a', 1), datetime.date(2026, 1, 2))
    """

    def __init__(self, pickled: dict[bytes, bytes]) -> None:
        self._pickled = pickled
        self._known: dict[bytes, Any] = {}

    def of(self, encoded: bytes, frozen: bytes = b"") -> Any:
        """The key; where its class is not here, what is known of it without."""
        try:
            return self._known[encoded]
        except KeyError:
            if len(self._known) > 100_000:
                self._known.clear()
            key = self._known[encoded] = self._read(encoded, frozen or self.pickled(encoded))
            return key

    def pickled(self, encoded: bytes) -> bytes:
        """The pickle of a key that its bytes do not give back."""
        return self._pickled.get(encoded, b"")

    @staticmethod
    def _read(encoded: bytes, frozen: bytes) -> Any:
        if frozen:
            try:
                return pickle.loads(frozen)
            except Exception:  # a class that cannot be imported here may raise anything
                return _described(encoded)
        try:
            return decode_key(encoded)
        except KeyError_:
            return _described(encoded)


def _described(encoded: bytes) -> Any:
    """A key without its class: the fields of an object as a tuple behind the name of its class."""
    return _open(msgspec.msgpack.decode(encoded))


def _open(part: Any) -> Any:
    if isinstance(part, list):
        return tuple(_open(p) for p in part)
    if not isinstance(part, msgspec.msgpack.Ext):
        return part
    if part.code == 1:
        return int(bytes(part.data), 16)
    inner = msgspec.msgpack.decode(part.data)
    if part.code == 3:
        return frozenset(_open(msgspec.msgpack.decode(member)) for member in inner)
    kind, content = inner
    if kind in _READ:
        return _READ[kind](content)
    fields = content if isinstance(content, list) else [content]
    return (kind, *(_open(f) for f in fields))
