"""Whether no two old keys became one: all pairs of their hashes, sixteen bytes each, so that any number of keys fits."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import xxhash

_hash = xxhash.xxh3_64_intdigest
_AT_ONCE = 1 << 20  # pairs; the same ones may come again and again


class OneToOne:
    """Old and new keys by their bytes.

    >>> pairs = OneToOne()
    >>> pairs.add(b"a", b"x"); pairs.add(b"b", b"y"); pairs.add(b"a", b"x"); pairs.suspects()
    set()
    >>> pairs.add(b"c", b"y"); pairs.suspects() == {_hash(b"y")}
    True
    """

    def __init__(self) -> None:
        self._fresh = array("Q")  # new, old, new, old, ...
        self._known: Any = np.empty((0, 2), np.uint64)

    def add(self, old: bytes, new: bytes) -> None:
        self._fresh.extend((_hash(new), _hash(old)))
        if len(self._fresh) >= 2 * _AT_ONCE:
            self._settle()

    def _settle(self) -> None:
        fresh = np.frombuffer(self._fresh.tobytes(), np.uint64).reshape(-1, 2)
        self._known = np.unique(np.concatenate((self._known, fresh)), axis=0)
        self._fresh = array("Q")

    def suspects(self) -> set[int]:
        """The hashes of new keys that several old keys became; very seldom one of them is innocent."""
        self._settle()
        new = self._known[:, 0]
        return set(new[1:][new[1:] == new[:-1]].tolist())

    def __len__(self) -> int:
        """How many different pairs there are."""
        self._settle()
        return len(self._known)

    @staticmethod
    def hashed(new: bytes) -> int:
        """The hash by which `suspects` names a new key."""
        return _hash(new)
