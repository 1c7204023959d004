"""Decodes the keys of a savepoint."""

from __future__ import annotations

import pickle
from typing import Any

from penstock.errors import InvalidKeyError
from penstock.runtime.state.key_parts import key_parts
from penstock.runtime.state.keys import decode_key


class KeyDecoder:
    """Decodes the keys of one operator. Keys that cannot be decoded from their bytes are pickled in the key table.

    >>> import datetime
    >>> from penstock.runtime.state.keys import encode_key
    >>> KeyDecoder({}).decode(encode_key(("a", 1))[0]), KeyDecoder({}).decode(encode_key(datetime.date(2026, 1, 2))[0])
    (('a', 1), datetime.date(2026, 1, 2))
    """

    def __init__(self, pickled: dict[bytes, bytes]) -> None:
        self._pickled = pickled
        self._cache: dict[bytes, Any] = {}

    def decode(self, encoded: bytes, frozen: bytes = b"") -> Any:
        """The key. If its class cannot be imported, the parts of the key that are known without it."""
        try:
            return self._cache[encoded]
        except KeyError:
            if len(self._cache) > 100_000:
                self._cache.clear()
            key = self._cache[encoded] = self._read(encoded, frozen or self.find_pickle(encoded))
            return key

    def find_pickle(self, encoded: bytes) -> bytes:
        """The pickle of a key that cannot be decoded from its bytes; empty if there is none."""
        return self._pickled.get(encoded, b"")

    @staticmethod
    def _read(encoded: bytes, frozen: bytes) -> Any:
        if frozen:
            try:
                return pickle.loads(frozen)
            except Exception:  # a class that cannot be imported may raise any error
                return key_parts(encoded)
        try:
            return decode_key(encoded)
        except InvalidKeyError:
            return key_parts(encoded)
