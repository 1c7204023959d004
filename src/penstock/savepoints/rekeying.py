"""Rewrites the keys of an operator whose key type has changed since the savepoint, and detects keys that collide.

The key group follows from the bytes of the key, so a rewritten key may belong to any slot. Each slot reads all entries of the
operator and loads those whose new key is its own.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import xxhash

from penstock.engine.slots.entry_groups import BY_TIME, key_slice, slot_of_group
from penstock.errors import CheckpointError, StateError
from penstock.runtime.failure import short_repr
from penstock.runtime.state.key_parts import KeyText
from penstock.runtime.state.keys import CACHED_KEYS, encode_key, key_group, key_hash, pickle_undecodable
from penstock.runtime.state.tables import StateTable
from penstock.savepoints.evolution import KeyChange, Migrate

_TABLE = 2  # bytes of a table number
_TIME = 8  # bytes of a time

_hash = xxhash.xxh3_64_intdigest
_MAX_PENDING = 1 << 20  # pairs, which may contain duplicates


class KeyPairs:
    """Pairs of saved and new keys, as hashes of 16 bytes per pair, to find saved keys that become equal.

    >>> pairs = KeyPairs()
    >>> pairs.add(b"a", b"x"); pairs.add(b"b", b"y"); pairs.add(b"a", b"x"); pairs.collisions()
    set()
    >>> pairs.add(b"c", b"y"); pairs.collisions() == {_hash(b"y")}
    True
    """

    def __init__(self) -> None:
        self._pending = array("Q")  # new, saved, new, saved, ...
        self._pairs: Any = np.empty((0, 2), np.uint64)

    def add(self, old: bytes, new: bytes) -> None:
        self._pending.extend((_hash(new), _hash(old)))
        if len(self._pending) >= 2 * _MAX_PENDING:
            self._merge_pending()

    def _merge_pending(self) -> None:
        pending = np.frombuffer(self._pending.tobytes(), np.uint64).reshape(-1, 2)
        self._pairs = np.unique(np.concatenate((self._pairs, pending)), axis=0)
        self._pending = array("Q")

    def collisions(self) -> set[int]:
        """The hashes of new keys that several saved keys may become. A collision of hashes is possible, but rare."""
        self._merge_pending()
        new = self._pairs[:, 0]
        return set(new[1:][new[1:] == new[:-1]].tolist())

    def __len__(self) -> int:
        """The number of distinct pairs."""
        self._merge_pending()
        return len(self._pairs)

    @staticmethod
    def hash_key(new: bytes) -> int:
        """The hash of a new key in `collisions`."""
        return _hash(new)


class RewrittenKey(NamedTuple):
    """A new key as it is stored in entries."""

    encoded: bytes
    hash: int
    pickled: bytes  # its pickle, if it cannot be decoded from its bytes; otherwise empty


class KeyRewriter:
    """Rewrites the keys of one operator."""

    def __init__(self, operator: str, change: KeyChange) -> None:
        self._operator = operator
        self._make = change.key_function()
        self._type = change.declared.name
        self._pairs = KeyPairs()

    def rewrite(self, old: bytes) -> RewrittenKey:
        """The new key for the bytes of a saved key.

        Raises:
            CheckpointError: the key cannot be rewritten.
        """
        try:
            key = self._make(old)
            encoded, plain = encode_key(key)
            return RewrittenKey(encoded, key_hash(encoded), pickle_undecodable(key, plain))
        except Exception as error:  # a migrate function may raise anything
            raise self._invalid_key_error(old, error) from error

    def record(self, old: bytes, new: RewrittenKey) -> None:
        """Records a pair for `check_collisions`."""
        self._pairs.add(old, new.encoded)

    @property
    def count(self) -> int:
        """The number of distinct saved keys that were recorded."""
        return len(self._pairs)

    def check_collisions(self, saved_keys: Iterable[bytes]) -> None:
        """Raises an error if two saved keys become equal. `saved_keys` is iterated only if hashes collide."""
        collisions = self._pairs.collisions()
        if not collisions:
            return
        first: dict[bytes, bytes] = {}
        for old, _ in groupby(saved_keys):
            new = self.rewrite(old).encoded
            if KeyPairs.hash_key(new) in collisions and first.setdefault(new, old) != old:
                raise self._collision_error(first[new], old, new)

    def _invalid_key_error(self, old: bytes, error: Exception) -> CheckpointError:
        reason = (
            f"{type(error).__name__}: {error}. Nothing was restored. Declare a migrate function that accepts such keys."
        )
        if isinstance(error, StateError):  # of a migrate function, with its own advice
            reason = error.text
        return CheckpointError(
            "SAVEPOINT_KEY_REFUSED",
            f"Key {_format_key(old)} of operator '{self._operator}' cannot be converted to type {self._type}: {reason} "
            "'penstock savepoints check --values' checks all keys.",
        )

    def _collision_error(self, first: bytes, second: bytes, new: bytes) -> CheckpointError:
        return CheckpointError(
            "SAVEPOINT_KEYS_COLLIDE",
            f"Keys {_format_key(first)} and {_format_key(second)} of operator '{self._operator}' both become "
            f"{_format_key(new)}, and state of different keys is never merged. Nothing was restored. Keep the fields that "
            "distinguish them in the key type, or in the result of its migrate function. 'penstock savepoints check --values' "
            "checks all keys. To merge their state, write a new savepoint with penstock.state_processor.",
        )


def _format_key(encoded: bytes) -> str:
    return short_repr(KeyText(encoded))


class SlotKeys(NamedTuple):
    """The keys of an operator that belong to a slot."""

    slot: int
    width: int
    max_parallelism: int

    def contains(self, hashed: int) -> bool:
        return slot_of_group(key_group(hashed, self.max_parallelism), self.width, self.max_parallelism) == self.slot

    def entry_prefix(self, kind: str, name: bytes, hashed: int) -> bytes:
        """The bytes before the key in the name of an entry: time and hash, or the key group."""
        if kind in BY_TIME:
            return name[:_TIME] + hashed.to_bytes(8, "big")
        return key_group(hashed, self.max_parallelism).to_bytes(2, "big")


class RekeyedEntries:
    """Rewrites the entries of one operator for one slot. `read_names` returns the names of all its entries."""

    def __init__(
        self,
        keys: KeyRewriter,
        key_table: StateTable,
        slot_keys: SlotKeys,
        read_names: Callable[[], Iterable[tuple[str, list[bytes]]]],  # with the kind of their table
    ) -> None:
        self._keys = keys
        self._key_table = key_table.number.to_bytes(_TABLE, "big")
        self._slot_keys = slot_keys
        self._read_names = read_names
        self._cache: dict[bytes, RewrittenKey | None] = {}  # by saved key; None: it belongs to another slot
        self._pickled: dict[bytes, bytes] = {}  # new keys that cannot be decoded from their bytes, since the last block

    def rewrite(
        self, table: StateTable, names: list[bytes], values: list[bytes], migrate: Migrate | None
    ) -> list[list[bytes]]:
        """The entries of a block with their new keys, and the entries of the key table, each as key, value, key, value, ..."""
        prefix, kind = table.number.to_bytes(_TABLE, "big"), table.kind
        rewritten: list[bytes] = []
        for name, value in zip(names, values, strict=True):
            at = key_slice(kind, name)
            new = self._rewrite_key(name[at])
            if new is None or kind == "keys":
                continue
            if kind == "timers":  # the value has the length and the pickle of the key
                value = len(new.encoded).to_bytes(4, "big") + new.pickled
            elif migrate is not None:
                value = migrate(name, value)
            rewritten += (
                prefix + self._slot_keys.entry_prefix(kind, name, new.hash) + new.encoded + name[at.stop :],
                value,
            )
        if len(set(rewritten[::2])) < len(rewritten) // 2:  # two entries with the same key
            self.check_collisions()
        pickled = [part for encoded, data in self._pickled.items() for part in (self._key_table + encoded, data)]
        self._pickled.clear()
        return [flat for flat in (rewritten, pickled) if flat]

    def _rewrite_key(self, old: bytes) -> RewrittenKey | None:
        """The new key; None if it belongs to another slot."""
        try:
            return self._cache[old]
        except KeyError:
            if len(self._cache) >= CACHED_KEYS:
                self._cache.clear()
        new = self._keys.rewrite(old)
        if not self._slot_keys.contains(new.hash):
            self._cache[old] = None
            return None
        self._cache[old] = new
        self._keys.record(old, new)
        if new.pickled:
            self._pickled[new.encoded] = new.pickled
        return new

    def check_collisions(self) -> None:
        """Raises an error if two saved keys become equal."""
        self._keys.check_collisions(name[key_slice(kind, name)] for kind, names in self._read_names() for name in names)
