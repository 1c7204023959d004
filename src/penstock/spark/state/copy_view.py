"""Reads the LMDB file of a working copy: a consistent view of its entries, and its position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lmdb
import xxhash

from penstock.spark.state.uncompacted_deltas import CopyPosition

ENTRIES, MARKS = b"entries", b"marks"  # the two tables of the file
SEQ, TOKEN, BOOT, PARTIAL = b"seq", b"token", b"boot", b"partial"  # keys of the table of marks
LONG_KEY = 480  # bytes of the stored form of a long key
PREFIX = (
    LONG_KEY - 16
)  # keys stored as they are must be shorter than the prefix of long ones, or the order would be wrong


class CopyView:
    """The entries of a working copy at one moment."""

    def __init__(self, txn: Any) -> None:  # the types of lmdb allow memory views, which are not requested here
        self.transaction = txn

    def get(self, key: bytes) -> bytes | None:
        if len(key) < PREFIX:
            value: bytes | None = self.transaction.get(key)
            return value
        data: bytes | None = self.transaction.get(to_stored_key(key))
        if data is None:
            return None
        full, value = _split_long(data)
        return value if full == key else None

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self.transaction.cursor() as cursor:
            if not cursor.set_range(start[:PREFIX]):
                return
            long_entries: list[tuple[bytes, bytes]] = []  # with the same prefix, in the order of their hashes
            for stored, data in cursor.iternext():
                if len(stored) < LONG_KEY:
                    if long_entries:
                        yield from _take_sorted(long_entries, start, stop)
                    if stored >= stop:
                        return
                    if stored >= start:
                        yield stored, data
                    continue
                full, value = _split_long(data)
                if long_entries and long_entries[0][0][:PREFIX] != full[:PREFIX]:
                    yield from _take_sorted(long_entries, start, stop)
                if stored[:PREFIX] > stop:
                    return
                long_entries.append((full, value))
            yield from _take_sorted(long_entries, start, stop)

    def close(self) -> None:
        self.transaction.abort()


class CopyReader:
    """One view of a working copy that another process writes, with the position of the copy at that moment."""

    def __init__(self, file: str, size_limit: int, *, readahead: bool) -> None:
        self._env = lmdb.open(file, map_size=size_limit, max_dbs=2, readonly=True, readahead=readahead)
        entries, marks = self._env.open_db(ENTRIES, create=False), self._env.open_db(MARKS, create=False)
        transaction: Any = self._env.begin(db=entries)
        self.view = CopyView(transaction)
        self.position = CopyPosition(
            int.from_bytes(transaction.get(SEQ, default=b"", db=marks), "big"),
            transaction.get(TOKEN, default=b"", db=marks),
            transaction.get(PARTIAL, default=b"", db=marks),
        )
        self.boot_id: bytes = transaction.get(BOOT, default=b"", db=marks)

    def close(self) -> None:
        self.view.close()
        self._env.close()


def to_stored_key(key: bytes) -> bytes:
    """LMDB allows keys of up to 511 bytes. A longer key is stored as a prefix and a hash, and in full before its value."""
    return key if len(key) < PREFIX else key[:PREFIX] + xxhash.xxh3_128_digest(key)


def to_stored_entry(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    if len(key) < PREFIX:
        return key, value
    return to_stored_key(key), len(key).to_bytes(4, "big") + key + value


def _split_long(data: bytes) -> tuple[bytes, bytes]:
    """The full key and the value of a long key."""
    end = 4 + int.from_bytes(data[:4], "big")
    return data[4:end], data[end:]


def _take_sorted(entries: list[tuple[bytes, bytes]], start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields entries of a range in the order of their full keys, and empties the list."""
    for key, value in sorted(entries):
        if start <= key < stop:
            yield key, value
    entries.clear()
