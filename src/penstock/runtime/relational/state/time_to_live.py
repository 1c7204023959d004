"""Time to live of entries of state: a stamp in each value, and the removal of expired entries, some per batch."""

from __future__ import annotations

from penstock.runtime.relational.state.keyed_table import KeyedTable

_STAMP = 8
_ENTRIES_PER_BATCH = 1000


class TimeToLive:
    """Marks the values of a table with the time of their writing. With a time of 0 values are stored as they are.

    >>> ttl = TimeToLive(100)
    >>> ttl.now = 50
    >>> value = ttl.wrap(b"row")
    >>> ttl.unwrap(value)
    b'row'
    >>> ttl.now = 150
    >>> ttl.unwrap(value) is None
    True
    """

    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds
        self.now = 0
        self.expired_reads = 0  # how often state was used that had expired
        self._reached: dict[int, bytes] = {}

    def schema(self, schema: str) -> str:
        """Returns the name of the encoding of values."""
        return f"{schema}+written" if self.milliseconds else schema

    def wrap(self, value: bytes) -> bytes:
        """Returns what to store for a value that is written now."""
        return self.now.to_bytes(_STAMP, "big") + value if self.milliseconds else value

    def unwrap(self, stored: bytes | None) -> bytes | None:
        """Returns the value of an entry, or None if there is none or it has expired."""
        if stored is None or not self.milliseconds:
            return stored
        if int.from_bytes(stored[:_STAMP], "big") + self.milliseconds <= self.now:
            self.expired_reads += 1
            return None
        return stored[_STAMP:]

    def sweep(self, table: KeyedTable) -> None:
        """Removes expired entries: looks at a bounded number of entries, and continues there in the next batch."""
        if not self.milliseconds:
            return
        limit = self.now - self.milliseconds
        reached = self._reached.get(id(table), b"")
        found, last = [], b""
        for count, (entry, value) in enumerate(table.scan_from(reached)):
            if count == _ENTRIES_PER_BATCH:
                last = entry
                break
            if int.from_bytes(value[:_STAMP], "big") <= limit:
                found.append(entry)
        self._reached[id(table)] = last
        for entry in found:
            table.put(entry, None)
