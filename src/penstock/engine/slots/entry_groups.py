"""The key group that an entry of a store belongs to. Names of entries are without the number of their table."""

from __future__ import annotations

from penstock.runtime.keys import encoded_length, key_group, key_hash
from penstock.runtime.state.cell import SlotCell

BY_TIME = ("timers", "times")  # kinds of tables whose entries begin with a time, and go on with the hash of their key
BROADCAST = int.from_bytes(
    SlotCell.GROUP, "big"
)  # stands where key groups do, for entries of which each slot has a copy
_GROUP = 2  # bytes of a key group, before the key
_HASH = slice(8, 16)  # behind the time


def key_at(kind: str, stored: bytes) -> slice:
    """Where the key stands in the name of an entry; not of broadcast state, which has none."""
    if kind == "keys":
        return slice(0, len(stored))
    start = _HASH.stop if kind in BY_TIME else _GROUP
    return slice(start, start + encoded_length(stored, start))


def group_of(kind: str, stored: bytes, max_parallelism: int) -> int | None:
    """The key group of an entry; None of broadcast state, of which every slot has a copy."""
    if kind in BY_TIME:
        return key_group(int.from_bytes(stored[_HASH], "big"), max_parallelism)
    if kind == "keys":
        return key_group(key_hash(stored), max_parallelism)
    return None if stored[:_GROUP] == SlotCell.GROUP else int.from_bytes(stored[:_GROUP], "big")


def regrouped(kind: str, stored: bytes, max_parallelism: int) -> bytes:
    """The name of an entry where there are other key groups."""
    if kind in BY_TIME or kind == "keys" or stored[:_GROUP] == SlotCell.GROUP:
        return stored
    key = stored[_GROUP : _GROUP + encoded_length(stored, _GROUP)]
    return key_group(key_hash(key), max_parallelism).to_bytes(_GROUP, "big") + stored[_GROUP:]
