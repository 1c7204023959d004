"""An index from keys to their rows in blocks: sorted pages of hashes, which are merged as they become many."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.keys import key_hashes
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.ranges import Positions, expand_ranges
from penstock.runtime.relational.state.time_to_live import TimeToLive

_PAGE = 4096  # places in a page at most
_RUNS = 8  # of a level, which become one run of the next level
_DIRECTORY = b"\x91\x00"  # the key [0]; pages have the keys [1], [2], ...
_WIDTH = 20  # bytes of a place: 8 of the hash, 4 each of the block, the first row and the number of rows


class HashedKeys(NamedTuple):
    """Keys with their hashes and key groups."""

    encoded: Sequence[bytes]
    hashes: NDArray[np.uint64]
    groups: Positions

    @classmethod
    def of(cls, encoded: Sequence[bytes], max_parallelism: int) -> HashedKeys:
        """Returns the keys with their hashes and groups."""
        hashes = key_hashes(encoded)
        return cls(encoded, hashes, (hashes % np.uint64(max_parallelism)).astype(np.int64))

    def take(self, at: Positions) -> HashedKeys:
        """Returns the keys at some positions."""
        return HashedKeys([self.encoded[i] for i in at.tolist()], self.hashes[at], self.groups[at])


class Places(NamedTuple):
    """Where rows of keys stand. A place is one key in one block: its first row and the number of its rows."""

    owners: Positions  # positions in the keys that were looked up
    blocks: Positions
    firsts: Positions
    counts: Positions


class _Page(msgspec.Struct, array_like=True):
    number: int
    low: int  # the lowest and the highest hash
    high: int


class _Run(msgspec.Struct, array_like=True):
    """Pages in the order of hashes. They have the places of some blocks: the first and the last number, and how many."""

    level: int
    first: int
    last: int
    blocks: int
    pages: list[_Page]
    removed: list[int] = []  # blocks whose places are still in the pages


class _Directory(msgspec.Struct, array_like=True):
    """All runs of a key group, in the order of their blocks."""

    next_page: int = 1
    runs: list[_Run] = []


class _Columns(NamedTuple):
    """Places in the order of their hashes, then of their blocks."""

    hashes: NDArray[np.uint64]
    blocks: NDArray[np.uint32]
    firsts: NDArray[np.uint32]
    counts: NDArray[np.uint32]

    def take(self, at: Positions | NDArray[np.bool_] | slice) -> _Columns:
        return _Columns(self.hashes[at], self.blocks[at], self.firsts[at], self.counts[at])


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Directory).decode


class HashIndex:
    """The places of keys by key group.

    The places of a batch become a run of level 0. Eight runs of a level are merged into one of the next level, so that a key is
    looked up in few pages, and each place is written again only a few times. Different keys may have the same hash: the caller
    compares keys.
    """

    def __init__(self, context: OperatorContext, name: str, ttl: TimeToLive) -> None:
        self._table = KeyedTable(context, name, ttl.schema("places-by-hash"))
        self._ttl = ttl

    def find(self, keys: HashedKeys) -> Places:
        """Returns the places of keys, ordered by key, then by block."""
        order = np.lexsort((keys.hashes, keys.groups))
        groups, hashes = keys.groups[order], keys.hashes[order]
        edges = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)] if len(groups) else [0]
        owners: list[Positions] = []
        found: list[_Columns] = []
        for low, high in itertools.pairwise(edges):
            for owner, columns in self._find_in_group(int(groups[low]), hashes[low:high]):
                owners.append(order[low + owner])
                found.append(columns)
        if not found:
            return Places(*(np.zeros(0, np.int64) for _ in range(4)))
        owner = np.concatenate(owners)
        blocks, firsts, counts = (
            np.concatenate([columns[i] for columns in found]).astype(np.int64) for i in range(1, 4)
        )
        by_key = np.lexsort((firsts, blocks, owner))
        return Places(owner[by_key], blocks[by_key], firsts[by_key], counts[by_key])

    def _find_in_group(self, group: int, hashes: NDArray[np.uint64]) -> Iterator[tuple[Positions, _Columns]]:
        """Looks up hashes in ascending order."""
        for run in self._directory(group).runs:
            for page in run.pages:
                low = int(hashes.searchsorted(np.uint64(page.low)))
                high = int(hashes.searchsorted(np.uint64(page.high), "right"))
                if low == high:
                    continue
                columns = self._read(group, page)
                asked = hashes[low:high]
                starts = columns.hashes.searchsorted(asked)
                counts = columns.hashes.searchsorted(asked, "right") - starts
                if not counts.any():
                    continue
                at = expand_ranges(starts, counts)
                owner = np.repeat(np.arange(low, high), counts)
                if run.removed:
                    kept = np.isin(columns.blocks[at], run.removed, invert=True)
                    at, owner = at[kept], owner[kept]
                yield owner, columns.take(at)

    def add(self, group: int, block: int, hashes: NDArray[np.uint64], firsts: Positions, counts: Positions) -> None:
        """Adds the places of a new block, whose number is higher than all before."""
        order = np.argsort(hashes, kind="stable")
        columns = _Columns(
            hashes[order],
            np.full(len(hashes), block, np.uint32),
            firsts[order].astype(np.uint32),
            counts[order].astype(np.uint32),
        )
        directory = self._directory(group)
        runs = directory.runs
        runs.append(_Run(0, block, block, 1, self._write(group, directory, columns)))
        level = 0
        while sum(run.level == level for run in runs) >= _RUNS:
            merged = [run for run in runs if run.level == level]
            runs[:] = [run for run in runs if run.level != level]
            rest = self._merge(group, directory, merged, level + 1)
            if rest is not None:
                runs.append(rest)
            runs.sort(key=lambda run: run.first)
            level += 1
        self._put(group, directory)

    def remove(self, group: int, block: int) -> None:
        """Removes the places of a block."""
        directory = self._directory(group)
        for at, run in enumerate(directory.runs):
            if run.first <= block <= run.last:
                run.removed.append(block)
                if 2 * len(run.removed) > run.blocks:
                    rest = self._merge(group, directory, [run], run.level)
                    directory.runs[at : at + 1] = [] if rest is None else [rest]
                break
        self._put(group, directory)

    def sweep(self) -> None:
        """Removes some expired entries."""
        self._ttl.sweep(self._table)

    def _merge(self, group: int, directory: _Directory, runs: Sequence[_Run], level: int) -> _Run | None:
        """Writes runs as one, without the places of removed blocks. Returns None if nothing is left."""
        parts = []
        for run in runs:
            for page in run.pages:
                columns = self._read(group, page)
                self._table.put(self._entry(group, page.number), None)
                parts.append(
                    columns.take(np.isin(columns.blocks, run.removed, invert=True)) if run.removed else columns
                )
        hashes, blocks, firsts, counts = (np.concatenate([part[i] for part in parts]) for i in range(4))
        if not len(hashes):
            return None
        order = np.lexsort((firsts, blocks, hashes))
        columns = _Columns(hashes, blocks, firsts, counts).take(order)
        numbers = np.unique(blocks)
        pages = self._write(group, directory, columns)
        return _Run(level, int(numbers[0]), int(numbers[-1]), len(numbers), pages)

    # -- entries

    def _directory(self, group: int) -> _Directory:
        stored = self._ttl.unwrap(self._table.get(self._table.of_group(group.to_bytes(2, "big"), _DIRECTORY)))
        return _Directory(1, []) if stored is None else _decode(stored)

    def _put(self, group: int, directory: _Directory) -> None:
        entry = self._table.of_group(group.to_bytes(2, "big"), _DIRECTORY)
        self._table.put(entry, self._ttl.wrap(_encode(directory)))

    def _entry(self, group: int, number: int) -> bytes:
        return self._table.of_group(group.to_bytes(2, "big"), b"\x91\xcf" + number.to_bytes(8, "big"))

    def _write(self, group: int, directory: _Directory, columns: _Columns) -> list[_Page]:
        """Writes places, and returns their pages."""
        pages = []
        for start in range(0, len(columns.hashes), _PAGE):
            part = columns.take(slice(start, start + _PAGE))
            number = directory.next_page
            directory.next_page += 1
            value = part.hashes.astype("<u8").tobytes() + b"".join(c.astype("<u4").tobytes() for c in part[1:])
            self._table.put(self._entry(group, number), self._ttl.wrap(value))
            pages.append(_Page(number, int(part.hashes[0]), int(part.hashes[-1])))
        return pages

    def _read(self, group: int, page: _Page) -> _Columns:
        stored = self._ttl.unwrap(self._table.get(self._entry(group, page.number))) or b""  # b"": it has expired
        count = len(stored) // _WIDTH
        hashes = np.frombuffer(stored, "<u8", count)
        others = [np.frombuffer(stored, "<u4", count, 8 * count + 4 * count * i) for i in range(3)]
        return _Columns(hashes, *others)
