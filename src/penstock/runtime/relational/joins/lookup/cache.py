"""Rows of a lookup table that a worker keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.runtime.relational.joins.lookup.settings import CacheSettings
from penstock.runtime.relational.joins.lookup.table import Found

_FEW = 1000  # removed rows that are not worth a copy of the others


@dataclass(slots=True)
class _Entry:
    """Where the rows of a key are, and when they were stored and last read (seconds of a clock)."""

    start: int
    count: int
    written: float
    read: float


class LookupCache:
    """Rows by key, the key that was read least recently first. Rows are blocks of columns; an entry has the place of its rows."""

    def __init__(self, settings: CacheSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._entries: dict[bytes, _Entry] = {}
        self._blocks: list[list[pa.Array]] = []
        self._rows = 0  # of all blocks
        self._live = 0  # rows of entries

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, keys: Sequence[bytes]) -> tuple[list[int], Found | None]:
        """Returns the positions of keys that are not in the cache, and the rows of the others (None if there are none)."""
        now, entries = self._clock(), self._entries
        missing: list[int] = []
        owners: list[int] = []
        hits: list[_Entry] = []
        for position, key in enumerate(keys):
            entry = entries.pop(key, None)
            if entry is None or self._expired(entry, now):
                self._live -= 0 if entry is None else entry.count
                missing.append(position)
                continue
            entry.read = now
            entries[key] = entry  # the last one in the order
            if entry.count:
                owners.append(position)
                hits.append(entry)
        return missing, self._read(hits, np.array(owners, np.int64)) if hits else None

    def _expired(self, entry: _Entry, now: float) -> bool:
        write, read = self._settings.expire_after_write, self._settings.expire_after_access
        return (write is not None and now >= entry.written + write / 1000) or (
            read is not None and now >= entry.read + read / 1000
        )

    def _read(self, hits: Sequence[_Entry], owners: np.ndarray) -> Found:
        counts = np.array([entry.count for entry in hits], np.int64)
        starts = np.array([entry.start for entry in hits], np.int64)
        return Found(self._take(_ranges(starts, counts)), np.repeat(owners, counts))

    def _take(self, positions: np.ndarray) -> list[pa.Array]:
        at = pa.array(positions)
        columns = []
        for i in range(len(self._blocks[0])):
            if len(self._blocks) == 1:
                columns.append(self._blocks[0][i].take(at))
            else:
                taken = pa.chunked_array([block[i] for block in self._blocks]).take(at)
                columns.append(pa.concat_arrays(taken.chunks) if taken.num_chunks != 1 else taken.chunk(0))
        return columns

    def store(self, keys: Sequence[bytes], found: Found) -> None:
        """Adds the rows of keys. Keys without rows are stored as such, unless the settings forbid it."""
        now, settings = self._clock(), self._settings
        counts = np.bincount(found.owners, minlength=len(keys)).tolist()
        start = self._rows
        for key, count in zip(keys, counts, strict=True):
            if count or settings.missing_keys:
                self._remove(key)
                self._entries[key] = _Entry(start, count, now, now)
                self._live += count
            start += count
        if len(found.owners):
            self._append(found.columns, len(found.owners))
        while settings.max_rows is not None and len(self._entries) > settings.max_rows:
            self._remove(next(iter(self._entries)))
        if self._rows - self._live > self._live + _FEW:
            self._compact()

    def _remove(self, key: bytes) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._live -= entry.count

    def _append(self, columns: list[pa.Array], rows: int) -> None:
        """Adds a block. Blocks of similar size are joined, so that there are few of them and each row is copied a few times."""
        self._blocks.append(columns)
        self._rows += rows
        blocks = self._blocks
        while len(blocks) > 1 and 2 * len(blocks[-1][0]) >= len(blocks[-2][0]):
            last, before = blocks.pop(), blocks.pop()
            blocks.append([pa.concat_arrays([a, b]) for a, b in zip(before, last, strict=True)])

    def _compact(self) -> None:
        """Copies the rows of entries, without those that were removed."""
        entries = [entry for entry in self._entries.values() if entry.count]
        counts = np.array([entry.count for entry in entries], np.int64)
        starts = np.array([entry.start for entry in entries], np.int64)
        columns = self._take(_ranges(starts, counts))
        for entry, start in zip(entries, (np.cumsum(counts) - counts).tolist(), strict=True):
            entry.start = start
        self._blocks = [columns]
        self._rows = self._live = int(counts.sum())


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the numbers of some ranges, one after the other.

    >>> _ranges(np.array([4, 0]), np.array([2, 3])).tolist()
    [4, 5, 0, 1, 2]
    """
    total = int(counts.sum())
    return np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(total)
