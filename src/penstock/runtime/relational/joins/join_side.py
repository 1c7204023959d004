"""One side of a join: its rows by key, with counts of equal rows and of matches."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec
from penstock.types.logical.kinds import LogicalType


class StoredRow(msgspec.Struct, array_like=True):
    """How often a row is there, how many rows of the other side match it, and when it was stored (for the time to live)."""

    count: int
    matches: int
    stamp: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredRow).decode


class JoinSide:
    """The rows of one input. Rows of the keys of a batch are read once and written once."""

    def __init__(self, context: OperatorContext, name: str, types: Sequence[LogicalType], ttl: int = 0) -> None:
        self._table = KeyedTable(context, f"{name} rows", f"rows({', '.join(map(str, types))})")
        self._codec = RowCodec(types)
        self._ttl = ttl
        self._now = 0
        self._keys: dict[
            bytes, tuple[bytes, dict[bytes, StoredRow]]
        ] = {}  # by key: the prefix of its entries, its rows
        # by key whose rows were not all read: the prefix of its entries, and the rows that were added
        self._added: dict[bytes, tuple[bytes, dict[bytes, StoredRow]]] = {}
        self._changed: set[tuple[bytes, bytes]] = set()

    def begin_batch(self, now: int) -> None:
        """Forgets the rows of the last batch."""
        self._keys.clear()
        self._added.clear()
        self._changed.clear()
        self._now = now

    def encode(self, changes: Changes) -> list[bytes]:
        """Returns the bytes of each row."""
        return self._codec.encode(changes.columns) if changes.columns else [b"\x90"] * changes.length

    def decode(self, rows: list[bytes]) -> list[pa.Array]:
        """Returns the columns of rows."""
        return self._codec.decode(rows)

    def rows(self, key: bytes) -> dict[bytes, StoredRow]:
        """Returns the rows of a key. Expired ones are absent."""
        return self._of(key)[1]

    def _of(self, key: bytes) -> tuple[bytes, dict[bytes, StoredRow]]:
        found = self._keys.get(key)
        if found is None:
            [prefix] = self._table.prefixes([key])
            rows = {row: _decode(value) for row, value in self._table.scan(prefix)}
            if key in self._added:
                rows.update(self._added.pop(key)[1])
            if self._ttl:
                expired = [row for row, stored in rows.items() if stored.stamp + self._ttl <= self._now]
                for row in expired:
                    del rows[row]
                    self._changed.add((key, row))
            found = self._keys[key] = prefix, rows
        return found

    def add(self, key: bytes, row: bytes, matches: int) -> None:
        """Adds a row with the number of its matches. Reads no other rows of the key, because there may be many."""
        if key in self._keys:
            rows = self._keys[key][1]
            stored = rows.get(row)
        else:
            added = self._added.get(key)
            if added is None:
                [prefix] = self._table.prefixes([key])
                added = self._added[key] = prefix, {}
            prefix, rows = added
            stored = rows.get(row) or self._read(prefix + row)
        rows[row] = StoredRow(1 if stored is None else stored.count + 1, matches, self._now)
        self._changed.add((key, row))

    def _read(self, entry: bytes) -> StoredRow | None:
        value = self._table.get(entry)
        if value is None:
            return None
        stored = _decode(value)
        return None if self._ttl and stored.stamp + self._ttl <= self._now else stored

    def remove(self, key: bytes, row: bytes) -> None:
        """Removes a row. A row that is not there (any more) is ignored."""
        rows = self._of(key)[1]
        stored = rows.get(row)
        if stored is None:
            return
        stored.count -= 1
        if stored.count <= 0:
            del rows[row]
        self._changed.add((key, row))

    def set_matches(self, key: bytes, row: bytes, matches: int) -> None:
        """Changes the number of matches of a row."""
        self._of(key)[1][row].matches = matches
        self._changed.add((key, row))

    def flush(self) -> None:
        """Writes all changed rows."""
        for key, row in self._changed:
            prefix, rows = self._added.get(key) or self._of(key)
            stored = rows.get(row)
            self._table.put(prefix + row, None if stored is None else _encode(stored))
