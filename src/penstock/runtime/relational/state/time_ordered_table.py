"""A table from (time, key, sub key) to bytes, ordered by time: for what happens when a clock reaches a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.keys import key_hashes
from penstock.runtime.state.keys import encoded_length
from penstock.runtime.state.store import after_prefix

_SIGN = 1 << 63
_NO_KEY = b"\x90"  # an empty array, in msgpack


class TimedEntry(NamedTuple):
    """An entry: its time, its key, what follows the key, and its value. `stored` is the complete key of the entry."""

    time: int
    key: bytes
    sub_key: bytes
    value: bytes
    stored: bytes


class TimeOrderedTable:
    """The entries of one state of an operator in its slot, in the order of their times, then of the hashes of their keys."""

    def __init__(self, context: OperatorContext, name: str, schema: str) -> None:
        backend = context.backend
        self._store = backend.store
        self._table = backend.rows_table(name, "times", schema)

    def suffixes(self, keys: Sequence[bytes]) -> list[bytes]:
        """Returns what follows the time in the entries of each key. Compute it once per batch."""
        return [hashed.to_bytes(8, "big") + key for hashed, key in zip(key_hashes(keys).tolist(), keys, strict=True)]

    def suffix_of_group(self, group: int) -> bytes:
        """Returns what follows the time in entries that belong to a key group and not to a key."""
        return group.to_bytes(8, "big") + _NO_KEY

    def entry(self, time: int, suffix: bytes, sub_key: bytes = b"") -> bytes:
        """Returns the complete key of an entry."""
        return self._table + (time + _SIGN).to_bytes(8, "big") + suffix + sub_key

    def get(self, entry: bytes) -> bytes | None:
        """Returns the value of an entry."""
        return self._store.get(entry)

    def put(self, entry: bytes, value: bytes | None) -> None:
        """Writes the value of an entry; None deletes it."""
        self._store.pending_changes()[entry] = value

    def first_time(self, after: int | None = None) -> int | None:
        """Returns the earliest time in the table, or the earliest one after a time; None if there is none."""
        start = self._table if after is None else after_prefix(self._table + (after + _SIGN).to_bytes(8, "big"))
        found = next(self._store.scan(start, after_prefix(self._table)), None)
        return None if found is None else int.from_bytes(found[0][2:10], "big") - _SIGN

    def until(self, time: int) -> Iterator[TimedEntry]:
        """Yields all entries up to a time, inclusive, in order."""
        stop = after_prefix(self._table + (time + _SIGN).to_bytes(8, "big"))
        for stored, value in self._store.scan(self._table, stop):
            length = encoded_length(stored, 18)
            yield TimedEntry(
                int.from_bytes(stored[2:10], "big") - _SIGN,
                stored[18 : 18 + length],
                stored[18 + length :],
                value,
                stored,
            )

    def take_until(self, time: int) -> list[TimedEntry]:
        """Returns all entries up to a time, inclusive, and deletes them."""
        found = list(self.until(time))
        changes = self._store.pending_changes()
        for entry in found:
            changes[entry.stored] = None
        return found
