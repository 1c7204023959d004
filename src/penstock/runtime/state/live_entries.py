"""Leaves expired entries out of a scan of a table, for savepoints."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.runtime.state.codec import TtlCodec
from penstock.runtime.state.kinds import value_offset_of
from penstock.runtime.state.tables import StateTable

Entry = tuple[bytes, bytes]


class LiveEntries:
    """Selects the entries of a table that have not expired. Pass all entries of the table in order, in any number of calls.

    >>> table = StateTable(1, "op", "last", "value", "ttl:pickle", ttl=10)
    >>> LiveEntries(table, now=15).select([(b"a", (5).to_bytes(8, "big")), (b"b", (6).to_bytes(8, "big"))])
    [(b'b', b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x06')]
    """

    def __init__(self, table: StateTable, now: int) -> None:
        self._value_offset = value_offset_of(table.kind)
        self._oldest = now - table.ttl + 1  # the first time at which a live entry can have been written
        self._header: Entry | None = None  # an entry without a value, such as the bounds of a list

    def select(self, entries: Iterable[Entry]) -> list[Entry]:
        """The live ones of the entries. An entry without a value is live if one of those that follow it is."""
        live: list[Entry] = []
        for key, data in entries:
            at = self._value_offset(data)
            if at is None:
                self._header = key, data
            elif TtlCodec.timestamp_of(data[at : at + 8]) >= self._oldest:
                if self._header is not None and key.startswith(self._header[0]):
                    live.append(self._header)
                self._header = None
                live.append((key, data))
        return live
