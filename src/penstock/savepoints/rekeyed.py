"""A slot's share of an operator whose keys are rewritten: its entries under their new keys.

A key's group follows from its bytes, so a new key may belong to any slot: each slot reads all of the operator's entries, and
keeps those whose new key is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from penstock.engine.entry_groups import BY_TIME, key_at
from penstock.engine.routing import slot_of_group
from penstock.runtime.keys import CACHED_KEYS, key_group
from penstock.runtime.state.backend import Table
from penstock.savepoints.new_keys import NewKey, NewKeys

_TABLE = 2  # bytes of a table's number
_TIME = 8
Migrate = Callable[[bytes], bytes]


class SlotShare(NamedTuple):
    """Which of an operator's keys are a slot's own."""

    slot: int
    width: int
    max_parallelism: int

    def has(self, hashed: int) -> bool:
        return slot_of_group(key_group(hashed, self.max_parallelism), self.width, self.max_parallelism) == self.slot

    def head(self, kind: str, name: bytes, hashed: int) -> bytes:
        """What stands before a key in the name of an entry: a time and the hash, or the group."""
        if kind in BY_TIME:
            return name[:_TIME] + hashed.to_bytes(8, "big")
        return key_group(hashed, self.max_parallelism).to_bytes(2, "big")


class Rekeyed:
    """The entries of one operator in one slot. `again` gives the names of all its entries once more, with their table's kind."""

    def __init__(
        self,
        keys: NewKeys,
        key_table: Table,
        place: SlotShare,
        again: Callable[[], Iterable[tuple[str, list[bytes]]]],
    ) -> None:
        self._keys = keys
        self._key_table = key_table.number.to_bytes(_TABLE, "big")
        self._place = place
        self._again = again
        self._known: dict[bytes, NewKey | None] = {}  # by old key; None: another slot's
        self._frozen: dict[bytes, bytes] = {}  # new keys that their bytes do not give back, met since last asked

    def moved(
        self, table: Table, names: list[bytes], values: list[bytes], migrate: Migrate | None
    ) -> list[list[bytes]]:
        """Entries of a block under their new keys, and what is kept of those keys: key, value, key, value, ... of each."""
        prefix, kind = table.number.to_bytes(_TABLE, "big"), table.kind
        found: list[bytes] = []
        for name, value in zip(names, values, strict=True):
            at = key_at(kind, name)
            new = self._of(name[at])
            if new is None or kind == "keys":
                continue
            if kind == "timers":  # says how long its key is, and has what gives it back
                value = len(new.encoded).to_bytes(4, "big") + new.frozen
            elif migrate is not None:
                value = migrate(value)
            found += (prefix + self._place.head(kind, name, new.hash) + new.encoded + name[at.stop :], value)
        if len(set(found[::2])) < len(found) // 2:  # the store need not find out
            self.check()
        kept = [part for encoded, frozen in self._frozen.items() for part in (self._key_table + encoded, frozen)]
        self._frozen.clear()
        return [flat for flat in (found, kept) if flat]

    def _of(self, old: bytes) -> NewKey | None:
        """The new key, if it is this slot's."""
        try:
            return self._known[old]
        except KeyError:
            if len(self._known) >= CACHED_KEYS:
                self._known.clear()
        new = self._keys.of(old)
        if not self._place.has(new.hash):
            self._known[old] = None
            return None
        self._known[old] = new
        self._keys.keep(old, new)
        if new.frozen:
            self._frozen[new.encoded] = new.frozen
        return new

    def check(self) -> None:
        """Refuses two keys that became one."""
        self._keys.check(name[key_at(kind, name)] for kind, names in self._again() for name in names)
