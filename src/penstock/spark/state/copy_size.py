"""Counts the bytes of all keys and values of a working copy, while changes are written to it.

The old size of each changed entry would have to be read, which costs half as much as writing it. So large changes are counted
by a sample, together with the number of entries, which LMDB knows exactly. All entries are counted again from time to time.
"""

from __future__ import annotations

import random
from itertools import chain, islice
from typing import Any

from penstock.spark.state.copy_view import LONG_KEY

_SAMPLE = 500  # changed entries whose old size is read
_RECOUNT_AFTER = 20  # times the number of all entries, which were changed and not counted exactly
_AT_ONCE = 1000  # entries; in between, other threads can run

# Keys of the table of marks: bytes of all entries as of the last delta that was applied completely; the growth by deltas that
# were applied in part; the number of changed entries that were not counted exactly.
LIVE, PARTIAL_GROWTH, ESTIMATED = b"live", b"partial-growth", b"estimated"

Entries = list[tuple[bytes, bytes]]


class CopySize:
    """The size of the entries of a working copy, in a transaction that writes."""

    def __init__(self, txn: Any, entries: Any, marks: Any) -> None:
        self._txn = txn
        self._entries = entries
        self._marks = marks

    def write(self, puts: Entries, deleted: list[bytes], *, append: bool = False) -> int:
        """Writes and deletes stored entries, both in order. Returns by how many bytes the entries have grown."""
        txn, db = self._txn, self._entries
        before: int = txn.stat(db)["entries"]
        with txn.cursor(db=db) as cursor:
            sample = [] if append or not before else self._sample(cursor, puts, deleted)
        for key in deleted:
            txn.delete(key, db=db)
        with txn.cursor(db=db) as cursor:
            cursor.putmulti(puts, append=append)
        replaced: int = before + len(puts) - txn.stat(db)["entries"]
        mean = stored_size(sample) / len(sample) if sample else 0.0
        return stored_size(puts) - round(replaced * mean)

    def _sample(self, cursor: Any, puts: Entries, deleted: list[bytes]) -> Entries:
        """Returns entries that will be replaced or deleted: all of them, or some if there are many."""
        keys = [key for key, _ in puts] + deleted
        firsts = [entry[0] for entry in puts[:1]] + deleted[:1]
        if not keys or not cursor.last() or min(firsts) > cursor.key():
            return []  # all keys belong at the end of the file, as in a rebuild
        if len(keys) > _SAMPLE:
            keys = sorted(random.sample(keys, _SAMPLE))
            self._add(ESTIMATED, len(puts) + len(deleted))
        found: Entries = cursor.getmulti(keys)
        return found

    def add_part(self, growth: int) -> None:
        """Adds the growth by a part of a delta."""
        self._add(PARTIAL_GROWTH, growth)

    def add(self, growth: int) -> None:
        """Adds the growth by the rest of a delta. Counts all entries if the size was estimated for long."""
        growth += self._get(PARTIAL_GROWTH)
        self._txn.delete(PARTIAL_GROWTH, db=self._marks)
        if self._get(ESTIMATED) > _RECOUNT_AFTER * self._txn.stat(self._entries)["entries"]:
            self._txn.delete(ESTIMATED, db=self._marks)
            self._put(LIVE, self._count())
        else:
            self._add(LIVE, growth)

    def _count(self) -> int:
        size = 0
        with self._txn.cursor(db=self._entries) as cursor:
            entries = cursor.iternext()
            while part := list(islice(entries, _AT_ONCE)):
                size += stored_size(part)
        return size

    def _get(self, mark: bytes) -> int:
        return to_int(self._txn.get(mark, default=b"", db=self._marks))

    def _put(self, mark: bytes, value: int) -> None:
        self._txn.put(mark, value.to_bytes(8, "big", signed=True), db=self._marks)

    def _add(self, mark: bytes, value: int) -> None:
        self._put(mark, self._get(mark) + value)


def to_int(data: bytes) -> int:
    """Decodes a mark."""
    return int.from_bytes(data, "big", signed=True)


def stored_size(entries: Entries) -> int:
    """Returns the bytes of the keys and values of stored entries.

    >>> from penstock.spark.state.copy_view import to_stored_entry
    >>> stored_size([to_stored_entry(b"k" * 1000, b"v" * 10), (b"k", b"v")])
    1012
    """
    sizes = list(map(len, chain.from_iterable(entries)))
    long_keys = sizes[::2].count(LONG_KEY)  # their full key is stored before the value, after its length
    return sum(sizes) - long_keys * (LONG_KEY + 4)
