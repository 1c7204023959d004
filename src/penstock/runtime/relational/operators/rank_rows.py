"""The rows of a Top-N in state: ordered by their sort keys, then by arrival."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.operators.rank_changes import SEQUENCE, RankedRow
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.runtime.relational.state.time_to_live import TimeToLive
from penstock.runtime.state.store import after_prefix


class KeyFacts:
    """What is known of a key: the next number of a row, the number of its rows and the last sub key, and its N."""

    __slots__ = ("count", "end", "last", "next")

    def __init__(self, next_: int = 0, count: int = 0, last: bytes = b"", end: int = -1) -> None:
        self.next = next_
        self.count = count
        self.last = last
        self.end = end

    def number(self) -> bytes:
        """Returns the number of a new row."""
        self.next += 1
        return (self.next - 1).to_bytes(SEQUENCE, "big")


class RankRows:
    """The stored rows of all keys. What a batch writes is collected and written at its end, because scans are slower after writes.

    Entries of a key: the facts at the key itself, then a row per sub key. With upsert keys, an index from them to the sub keys.
    """

    def __init__(self, context: OperatorContext, ttl: TimeToLive, has_upsert_key: bool) -> None:
        self._ttl = ttl
        self._rows = KeyedTable(context, "rows", ttl.schema("upsert-rows" if has_upsert_key else "rows"))
        self._index = KeyedTable(context, "index", ttl.schema("sub-key")) if has_upsert_key else None
        self._writes: list[tuple[bytes, bytes | None]] = []
        self._new_rows: list[tuple[bytes, int]] = []
        self._index_writes: list[tuple[bytes, bytes | None]] = []

    def prefixes(self, keys: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Returns the prefixes of keys in the rows, and in the index."""
        return self._rows.prefixes(keys), [] if self._index is None else self._index.prefixes(keys)

    def facts(self, prefix: bytes) -> KeyFacts | None:
        """Returns what is known of a key, or None if it is new."""
        stored = self._ttl.unwrap(self._rows.get(prefix))
        return None if stored is None else KeyFacts(*unpack(stored))

    def put_facts(self, prefix: bytes, facts: KeyFacts) -> None:
        """Stores what is known of a key."""
        self._writes.append((prefix, pack((facts.next, facts.count, facts.last, facts.end))))

    def scan(self, prefix: bytes, sort_key: bytes | None = None, start: bytes = b"\0") -> Iterator[RankedRow]:
        """Yields the stored rows of a key in order, from a sub key on, or those with one sort key. Expired rows are skipped."""
        if sort_key is None:
            found = self._rows.scan(prefix, start)
        else:
            found = self._rows.scan(prefix, sort_key, after_prefix(sort_key) if sort_key.rstrip(b"\xff") else None)
        for sub_key, stored in found:
            value = self._ttl.unwrap(stored)
            if sub_key and value is not None:
                yield RankedRow(sub_key, value if self._index is None else _without_upsert_key(value))

    def sub_key(self, index_entry: bytes) -> bytes | None:
        """Returns the sub key of the row with an upsert key."""
        return None if self._index is None else self._ttl.unwrap(self._index.get(index_entry))

    def put_index(self, index_entry: bytes, sub_key: bytes | None) -> None:
        """Stores the sub key of the row with an upsert key."""
        self._index_writes.append((index_entry, sub_key))

    def add(self, entry: bytes, position: int) -> None:
        """Stores a row of the batch."""
        self._new_rows.append((entry, position))

    def remove(self, entry: bytes) -> None:
        """Removes a row."""
        self._writes.append((entry, None))

    def upsert_key(self, entry: bytes) -> bytes:
        """Returns the upsert key of a stored row."""
        stored = self._ttl.unwrap(self._rows.get(entry)) or bytes(4)
        return stored[4 : 4 + int.from_bytes(stored[:4], "big")]

    def new_positions(self) -> list[int]:
        """Returns the positions of the rows of the batch that are stored."""
        return [position for _, position in self._new_rows]

    def write(self, encoded: Sequence[bytes], upsert_keys: Sequence[bytes] | None) -> None:
        """Writes everything. `encoded` has the bytes of the new rows, `upsert_keys` their upsert keys if there are any."""
        wrap, put = self._ttl.wrap, self._rows.put
        for entry, value in self._writes:
            put(entry, None if value is None else wrap(value))
        for i, (entry, _) in enumerate(self._new_rows):
            data = encoded[i]
            if upsert_keys is not None:
                data = len(upsert_keys[i]).to_bytes(4, "big") + upsert_keys[i] + data
            put(entry, wrap(data))
        if self._index is not None:
            for entry, value in self._index_writes:
                self._index.put(entry, None if value is None else wrap(value))
        self._writes, self._new_rows, self._index_writes = [], [], []

    def sweep(self) -> None:
        """Removes some expired entries."""
        self._ttl.sweep(self._rows)
        if self._index is not None:
            self._ttl.sweep(self._index)


def _without_upsert_key(value: bytes) -> bytes:
    return value[4 + int.from_bytes(value[:4], "big") :]
