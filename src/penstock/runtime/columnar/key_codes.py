"""Integer codes for the keys of a batch, with the hash and the stored form of each key."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.loop.records import Column, column
from penstock.runtime.state.backend import KeyedStateStore

_MAX_CACHED_KEYS = 200_000


class KeyCodes:
    """The keys of a batch by code, and the codes by key.

    The suffix of a key is its hash followed by its encoded bytes. Tables ordered by time use it to name the key, so that the
    keys of one time are stored in the order in which their timers fire (time-rules 3.2).
    """

    def __init__(self, backend: KeyedStateStore) -> None:
        self._backend = backend
        self._keys_by_suffix: dict[bytes, Any] = {}  # kept across batches
        self.begin_batch()

    def begin_batch(self) -> None:
        """Discards the codes of the last batch."""
        self._codes: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.suffixes: list[bytes] = []
        self._hashes: list[int] = []

    def encode(self, keys: list[Any]) -> Column:
        """Returns the code of each key. New keys get new codes."""
        known, codes = self._codes, []
        for key in keys:
            code = known.get(key)
            codes.append(self._add(key) if code is None else code)
        return column(codes)

    def encode_suffixes(self, suffixes: list[bytes]) -> Column:
        """Returns the code of each key, given by its suffix."""
        if len(self._keys_by_suffix) > _MAX_CACHED_KEYS:
            self._keys_by_suffix.clear()
        cached, keys = self._keys_by_suffix, []
        for suffix in suffixes:
            if suffix not in cached:
                cached[suffix] = self._backend.decode_key(suffix[8:])
            keys.append(cached[suffix])
        return self.encode(keys)

    def _add(self, key: Any) -> int:
        code = self._codes[key] = len(self.keys)
        identity = self._backend.keys[key]
        suffix = identity.hash.to_bytes(8, "big") + identity.encoded
        self.keys.append(key)
        self.suffixes.append(suffix)
        self._keys_by_suffix[suffix] = key
        self._hashes.append(identity.hash)
        return code

    def distinct(self, *codes: Column) -> Column:
        """Returns the distinct codes, ascending."""
        present = np.zeros(len(self.keys), bool)
        for some in codes:
            present[some] = True
        return np.flatnonzero(present)

    def distinct_with_inverse(self, codes: Column) -> tuple[Column, Column]:
        """Returns the distinct codes, ascending, and for each code its index among them."""
        distinct = self.distinct(codes)
        indices = np.empty(len(self.keys), np.int64)
        indices[distinct] = np.arange(len(distinct))
        return distinct, indices[codes]

    def hashes(self, codes: Column) -> Column:
        """Returns the hash of each key."""
        return column(self._hashes)[codes]

    def timer_order(self, codes: Column, *times: Column, windows: Column | None = None) -> Any:
        """Returns the indices of keys in timer order: by the given times, then by the hash and bytes of the key.

        `windows` are ranks in window order, for keys that fire several windows at the same time.
        """
        last = np.zeros(len(codes), np.int64) if windows is None else windows
        hashes = self.hashes(codes)
        columns = (*times, hashes)
        order = np.lexsort((last, *columns[::-1]))
        colliding = codes[order][1:] != codes[order][:-1]  # different keys with one hash are ordered by their bytes
        for ranked in (c[order] for c in columns):
            colliding &= ranked[1:] == ranked[:-1]
        if not colliding.any():
            return order
        numbers, listed, ranks = codes.tolist(), [c.tolist() for c in times], last.tolist()
        indices = range(len(numbers))
        return np.array(
            sorted(indices, key=lambda i: (*(c[i] for c in listed), self.suffixes[numbers[i]], ranks[i])), np.int64
        )
