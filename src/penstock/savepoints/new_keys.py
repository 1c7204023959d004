"""The new keys of an operator, found by the bytes of the old ones; told when one cannot be made, or two become one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from penstock.errors import CheckpointError, StateError
from penstock.runtime.failure import shortened
from penstock.runtime.key_parts import KeyText
from penstock.runtime.keys import encode_key, freeze_key, key_hash
from penstock.savepoints.key_change import KeyChange
from penstock.savepoints.one_to_one import OneToOne


class NewKey(NamedTuple):
    """A new key in the forms in which entries have it."""

    encoded: bytes
    hash: int
    frozen: bytes  # what gives it back beside its bytes; nothing, where they do


class NewKeys:
    """What the keys of one operator become."""

    def __init__(self, operator: str, change: KeyChange) -> None:
        self._operator = operator
        self._make = change.maker()
        self._type = change.wanted.name
        self._pairs = OneToOne()

    def of(self, old: bytes) -> NewKey:
        """Of an old key's bytes; refuses one that cannot be rewritten."""
        try:
            key = self._make(old)
            encoded, plain = encode_key(key)
            return NewKey(encoded, key_hash(encoded), freeze_key(key, plain))
        except Exception as error:  # whatever a user's function raises, or a key that does not fit
            raise self._refused(old, error) from error

    def keep(self, old: bytes, new: NewKey) -> None:
        """Remembers a pair, for `check`."""
        self._pairs.add(old, new.encoded)

    @property
    def kept(self) -> int:
        """How many different old keys were remembered."""
        return len(self._pairs)

    def check(self, again: Iterable[bytes]) -> None:
        """Refuses two keys that became one. `again` are all old keys once more: they are looked at if there is a suspicion."""
        suspects = self._pairs.suspects()
        if not suspects:
            return
        first: dict[bytes, bytes] = {}
        for old, _ in groupby(again):
            new = self.of(old).encoded
            if OneToOne.hashed(new) in suspects and first.setdefault(new, old) != old:
                raise self._collide(first[new], old, new)

    def _refused(self, old: bytes, error: Exception) -> CheckpointError:
        told = f"{type(error).__name__}: {error}. Nothing was restored; give the type a migrate function that takes such keys."
        if isinstance(error, StateError):  # of a migrate function: it says what to do itself
            told = error.text
        return CheckpointError(
            "SAVEPOINT_KEY_REFUSED",
            f"Key {_shown(old)} of operator '{self._operator}' cannot become a key of type {self._type}: {told} "
            "'penstock savepoints check --values' tries all keys.",
        )

    def _collide(self, first: bytes, second: bytes, new: bytes) -> CheckpointError:
        return CheckpointError(
            "SAVEPOINT_KEYS_COLLIDE",
            f"Keys {_shown(first)} and {_shown(second)} of operator '{self._operator}' both become {_shown(new)}: they would share "
            "their state, which is never merged. Nothing was restored. Keep what tells them apart in the key's type, or in what "
            "its migrate function returns; 'penstock savepoints check --values' tries all keys. To merge their state by rules of "
            "your own, write a new savepoint with penstock.state_processor.",
        )


def _shown(encoded: bytes) -> str:
    return shortened(KeyText(encoded))
