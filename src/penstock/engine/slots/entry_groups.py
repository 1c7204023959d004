"""Key groups of stored entries. The entry keys here do not include the table number."""

from __future__ import annotations

from penstock.runtime.state.cell import SlotCell
from penstock.runtime.state.keys import encoded_length, key_group, key_hash

BY_TIME = ("timers", "times")  # kinds of tables whose entry keys start with a time and the hash of the key
BROADCAST = int.from_bytes(SlotCell.GROUP, "big")  # in place of a key group, for entries that every slot has
_GROUP = 2  # bytes of a key group, before the key
_HASH = slice(8, 16)  # after the time


def key_slice(kind: str, stored: bytes) -> slice:
    """The position of the user's key in an entry key. Broadcast state has none."""
    if kind == "keys":
        return slice(0, len(stored))
    start = _HASH.stop if kind in BY_TIME else _GROUP
    return slice(start, start + encoded_length(stored, start))


def entry_key_group(kind: str, stored: bytes, max_parallelism: int) -> int | None:
    """The key group of an entry; None for broadcast state, which every slot has."""
    if kind in BY_TIME:
        return key_group(int.from_bytes(stored[_HASH], "big"), max_parallelism)
    if kind == "keys":
        return key_group(key_hash(stored), max_parallelism)
    return None if stored[:_GROUP] == SlotCell.GROUP else int.from_bytes(stored[:_GROUP], "big")


def with_key_group(kind: str, stored: bytes, max_parallelism: int) -> bytes:
    """The key of an entry for another number of key groups."""
    if kind in BY_TIME or kind == "keys" or stored[:_GROUP] == SlotCell.GROUP:
        return stored
    key = stored[_GROUP : _GROUP + encoded_length(stored, _GROUP)]
    return key_group(key_hash(key), max_parallelism).to_bytes(_GROUP, "big") + stored[_GROUP:]


def slot_of_group(group: int, parallelism: int, max_parallelism: int) -> int:
    """The slot of a key group. Slots have ranges of key groups, as in Flink."""
    return group * parallelism // max_parallelism
