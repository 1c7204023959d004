"""Numbers for the keys that a batch meets, and what follows from each key."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.records import Column, column
from penstock.runtime.state.backend import StateBackend

_MOST_NAMES = 200_000


class KeyCodes:
    """The keys of a batch by number, and the other way round.

    A key's `suffix` is its hash and bytes: how tables that are ordered by time name it, so that keys of one time stand in the
    order in which their timers fire (time.md 3.2).
    """

    def __init__(self, backend: StateBackend) -> None:
        self._backend = backend
        self._names: dict[bytes, Any] = {}  # suffix to key; outlives batches
        self.begin()

    def begin(self) -> None:
        """Forgets the numbers of the last batch."""
        self._codes: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.suffixes: list[bytes] = []
        self._hashes: list[int] = []

    def of(self, keys: list[Any]) -> Column:
        """The number of each key."""
        known, codes = self._codes, []
        for key in keys:
            code = known.get(key)
            codes.append(self._add(key) if code is None else code)
        return column(codes)

    def named(self, suffixes: list[bytes]) -> Column:
        """The number of each key by its suffix, as tables have it."""
        if len(self._names) > _MOST_NAMES:
            self._names.clear()
        names, keys = self._names, []
        for suffix in suffixes:
            if suffix not in names:
                names[suffix] = self._backend.key_of(suffix[8:])
            keys.append(names[suffix])
        return self.of(keys)

    def _add(self, key: Any) -> int:
        code = self._codes[key] = len(self.keys)
        identity = self._backend.keys[key]
        suffix = identity.hash.to_bytes(8, "big") + identity.encoded
        self.keys.append(key)
        self.suffixes.append(suffix)
        self._names[suffix] = key
        self._hashes.append(identity.hash)
        return code

    def different(self, *codes: Column) -> Column:
        """The different ones of some codes, in order."""
        there = np.zeros(len(self.keys), bool)
        for some in codes:
            there[some] = True
        return np.flatnonzero(there)

    def numbered(self, codes: Column) -> tuple[Column, Column]:
        """The different ones of some codes, in order, and for each code the place of its like among them."""
        different = self.different(codes)
        places = np.empty(len(self.keys), np.int64)
        places[different] = np.arange(len(different))
        return different, places[codes]

    def hashes(self, codes: Column) -> Column:
        return column(self._hashes)[codes]

    def in_order(self, codes: Column, *times: Column, windows: Column | None = None) -> Any:
        """The places of some keys in the order of their timers: by times, the first ones first, then by hash and bytes.

        `windows` are numbers in the order of windows, for keys of which several windows fire at once.
        """
        last = np.zeros(len(codes), np.int64) if windows is None else windows
        hashes = self.hashes(codes)
        columns = (*times, hashes)
        order = np.lexsort((last, *columns[::-1]))
        alike = codes[order][1:] != codes[order][:-1]  # different keys of one hash: only their bytes tell
        for ranked in (c[order] for c in columns):
            alike &= ranked[1:] == ranked[:-1]
        if not alike.any():
            return order
        numbers, listed, ranks = codes.tolist(), [c.tolist() for c in times], last.tolist()
        places = range(len(numbers))
        return np.array(
            sorted(places, key=lambda i: (*(c[i] for c in listed), self.suffixes[numbers[i]], ranks[i])), np.int64
        )
