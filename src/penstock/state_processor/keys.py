"""Keys of a savepoint, from their bytes."""

from __future__ import annotations

import pickle
from typing import Any

from penstock.errors import KeyError_
from penstock.runtime.key_parts import key_parts
from penstock.runtime.keys import decode_key


class Keys:
    """The keys of one operator. Those that their bytes do not give back are pickled in a table of their own.

    >>> import datetime
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
                return key_parts(encoded)
        try:
            return decode_key(encoded)
        except KeyError_:
            return key_parts(encoded)
