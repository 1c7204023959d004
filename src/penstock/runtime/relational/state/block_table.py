"""Rows by key that are only ever added: blocks of columns, one per batch and key group, and an index from keys to their places."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.keys import encode_keys
from penstock.runtime.relational.state.hash_index import HashedKeys, HashIndex
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.ranges import Positions, expand_ranges
from penstock.runtime.relational.state.row_block import RowBlockCodec
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable
from penstock.runtime.relational.state.time_to_live import TimeToLive
from penstock.time import MIN_WATERMARK
from penstock.types.logical.kinds import LogicalType

_CACHE_BYTES = 32 << 20
_COUNTER = b"\x91\x00"  # the key [0]; blocks have the keys [1], [2], ...


class BlockTable:
    """The rows of one input of an operator. Rows of a key are found in the order in which they were added.

    All rows of a block belong to one key group, so that blocks move with their group when the parallelism changes.
    """

    def __init__(
        self,
        context: OperatorContext,
        name: str,
        types: Sequence[LogicalType],
        keys: Sequence[int],
        ttl: int = 0,
        *,
        expires: bool = False,
    ) -> None:
        schema = f"rows({', '.join(map(str, types))})"
        self.ttl = TimeToLive(ttl)
        self._index = HashIndex(context, f"{name} index", self.ttl)
        self._blocks = KeyedTable(context, f"{name} blocks", self.ttl.schema(schema))
        self._ends = TimeOrderedTable(context, f"{name} ends", "group") if expires else None
        self._keys = list(keys)
        self._key_types = [types[key] for key in keys]
        self._codec = RowBlockCodec(types)
        self._cache: dict[bytes, list[pa.Array]] = {}  # blocks that were read, the oldest use first
        self._cached_bytes = 0

    def begin_batch(self, now: int) -> None:
        """Sets the time of the batch."""
        self.ttl.now = now

    # -- reading

    def find(self, keys: HashedKeys) -> tuple[list[pa.Array], Positions]:
        """Returns the rows of keys, ordered by key and arrival, and for each row the position of its key."""
        places = self._index.find(keys)
        entries = list(zip(keys.groups[places.owners].tolist(), places.blocks.tolist(), strict=True))
        starts: dict[tuple[int, int], int] = {}
        blocks: list[list[pa.Array]] = []
        total = 0
        for entry in dict.fromkeys(entries):
            block = self._block(self._entry(*entry))
            starts[entry] = total
            if block is not None:
                blocks.append(block)
                total += len(block[0])
            else:
                starts[entry] = -1  # it has expired
        if not blocks:
            return [pa.array([], t) for t in self._codec.types], np.zeros(0, np.int64)
        columns = [pa.concat_arrays([block[i] for block in blocks]) for i in range(len(self._codec.types))]
        bases = np.array([starts[entry] for entry in entries], np.int64)
        owners, firsts, counts = places.owners, bases + places.firsts, places.counts
        is_same = (bases >= 0) & self._have_keys(columns, np.maximum(firsts, 0) % total, keys, owners)
        at = pa.array(expand_ranges(firsts[is_same], counts[is_same]))
        return [column.take(at) for column in columns], np.repeat(owners[is_same], counts[is_same])

    def _have_keys(self, columns: list[pa.Array], rows: Positions, keys: HashedKeys, owners: Positions) -> np.ndarray:
        """Returns which rows have the keys that were looked up: other keys may have the same hash."""
        at = pa.array(rows)
        encoded = encode_keys([columns[key].take(at) for key in self._keys], self._key_types, len(rows))
        asked = keys.encoded
        same = (a == asked[owner] for a, owner in zip(encoded, owners.tolist(), strict=True))
        return np.fromiter(same, bool, len(rows))

    def _entry(self, group: int, number: int) -> bytes:
        return self._blocks.of_group(group.to_bytes(2, "big"), _block_key(number))

    def _block(self, entry: bytes) -> list[pa.Array] | None:
        found = self._cache.pop(entry, None)
        if found is None:
            stored = self.ttl.unwrap(self._blocks.get(entry))
            if stored is None:
                return None
            found = self._codec.decode([stored])
            self._cached_bytes += _size(found)
            while self._cache and self._cached_bytes > _CACHE_BYTES:
                self._cached_bytes -= _size(self._cache.pop(next(iter(self._cache))))
        self._cache[entry] = found
        return found

    # -- writing

    def add(
        self, columns: Sequence[pa.Array], codes: Positions, keys: HashedKeys, ends: Positions | None = None
    ) -> None:
        """Adds rows. codes: for each row the position of its key; every key has a row.

        ends: up to which watermark each row is needed, for a table that expires.
        """
        order = np.lexsort((codes, keys.groups[codes]))  # stable: rows of a key keep their order
        at = pa.array(order)
        sorted_columns = [column.take(at) for column in columns]
        sorted_codes = codes[order]
        starts = np.concatenate([[0], np.flatnonzero(np.diff(sorted_codes)) + 1])
        borders = np.append(starts, len(order))
        counts = np.diff(borders)
        key_codes = sorted_codes[starts]
        groups, hashes = keys.groups[key_codes], keys.hashes[key_codes]
        edges = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
        for low, high in itertools.pairwise(edges):
            group, first, last = int(groups[low]), int(borders[low]), int(borders[high])
            number = self._write(group, [column.slice(first, last - first) for column in sorted_columns])
            self._index.add(group, number, hashes[low:high], starts[low:high] - first, counts[low:high])
            if self._ends is not None and ends is not None:
                [suffix] = self._ends.suffixes([keys.encoded[int(key_codes[low])]])
                entry = self._ends.entry(int(ends[order[first:last]].max()), suffix, _block_key(number))
                self._ends.put(entry, group.to_bytes(2, "big"))

    def _write(self, group: int, columns: list[pa.Array]) -> int:
        """Writes a block and returns its number."""
        counter = self._blocks.of_group(group.to_bytes(2, "big"), _COUNTER)
        stored = self.ttl.unwrap(self._blocks.get(counter))
        number = 1 if stored is None else int.from_bytes(stored, "big")
        self._blocks.put(counter, self.ttl.wrap((number + 1).to_bytes(8, "big")))
        entry = self._entry(group, number)
        if entry in self._cache:  # the counter has expired with all blocks, and starts again
            self._cached_bytes -= _size(self._cache.pop(entry))
        self._blocks.put(entry, self.ttl.wrap(self._codec.encode(columns)))
        return number

    def remove_expired(self, watermark: int) -> None:
        """Removes the blocks whose rows all end before a watermark."""
        if self._ends is None or watermark == MIN_WATERMARK:
            return
        for entry in self._ends.take_until(watermark - 1):
            group, number = int.from_bytes(entry.value, "big"), int.from_bytes(entry.sub_key[2:], "big")
            self._index.remove(group, number)
            stored = self._entry(group, number)
            if stored in self._cache:
                self._cached_bytes -= _size(self._cache.pop(stored))
            self._blocks.put(stored, None)

    def sweep(self) -> None:
        """Removes some expired rows."""
        self._index.sweep()
        self.ttl.sweep(self._blocks)


def _block_key(number: int) -> bytes:
    return b"\x91\xcf" + number.to_bytes(8, "big")  # an array with one number, in msgpack


def _size(columns: Sequence[pa.Array]) -> int:
    return sum(int(column.nbytes) for column in columns)
