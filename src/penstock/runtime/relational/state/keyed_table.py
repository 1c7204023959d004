"""A table from (key, sub key) to bytes. All entries of a key are one range, ordered by their sub keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.keys import key_hashes
from penstock.runtime.state.store import after_prefix

_KIND = "rows"


class KeyedTable:
    """The entries of one state of an operator in its slot. Keys are bytes of `encode_keys`; sub keys are bytes in any form.

    A sub key sorts by its bytes. `ordered_bytes.py` encodes values so that their bytes sort like the values.
    """

    def __init__(self, context: OperatorContext, name: str, schema: str) -> None:
        backend = context.backend
        self._store = backend.store
        self._table = backend.rows_table(name, _KIND, schema)
        self._groups = backend.keys.max_parallelism

    def prefixes(self, keys: Sequence[bytes]) -> list[bytes]:
        """Returns the first bytes of the entries of each key. Compute them once per batch, and pass them to the other methods."""
        groups = (key_hashes(keys) % np.uint64(self._groups)).tolist()
        table = self._table
        return [table + group.to_bytes(2, "big") + key for group, key in zip(groups, keys, strict=True)]

    def of_group(self, group: bytes, key: bytes) -> bytes:
        """Returns the entry of a key in a key group, given as two bytes, for entries that belong to a group and not to a key."""
        return self._table + group + key

    def get_many(self, entries: Sequence[bytes]) -> list[bytes | None]:
        """Returns the values of entries: prefixes, or prefixes followed by sub keys."""
        get = self._store.get
        return [get(entry) for entry in entries]

    def get(self, entry: bytes) -> bytes | None:
        """Returns the value of one entry."""
        return self._store.get(entry)

    def put(self, entry: bytes, value: bytes | None) -> None:
        """Writes the value of an entry; None deletes it."""
        self._store.pending_changes()[entry] = value

    def scan(self, prefix: bytes, start: bytes = b"", stop: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Yields the entries of a key from one sub key to another (exclusive): (sub key, value), in order."""
        last = after_prefix(prefix) if stop is None else prefix + stop
        cut = len(prefix)
        for entry, value in self._store.scan(prefix + start, last):
            yield entry[cut:], value

    def scan_all(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields all entries of the slot: (bytes after the key group, value)."""
        for entry, value in self._store.scan(self._table, after_prefix(self._table)):
            yield entry[4:], value

    def scan_from(self, entry: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yields complete entries of the slot from one entry on, or all with b"": (entry, value)."""
        yield from self._store.scan(max(entry, self._table), after_prefix(self._table))
