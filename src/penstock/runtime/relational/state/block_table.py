"""Rows by key that are only ever added: blocks of columns, one per batch and key group, and an index from keys to their places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable
from penstock.runtime.relational.state.time_to_live import TimeToLive
from penstock.time import MIN_WATERMARK
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType

Positions = NDArray[np.int64]
_FEW = 8  # rows that are smaller one by one than as columns
_ROWS, _COLUMNS = b"\x00", b"\x01"
_CACHE_BYTES = 32 << 20
_COUNTER = b"\x91\x00"  # the key [0]; blocks have the keys [1], [2], ...


class BlockTable:
    """The rows of one input of an operator. Rows of a key are found in the order in which they were added.

    All rows of a block belong to one key group, so that blocks move with their group when the parallelism changes. An entry of the
    index is (key, number of the block) -> first row and number of rows.
    """

    def __init__(
        self, context: OperatorContext, name: str, types: Sequence[LogicalType], ttl: int = 0, *, expires: bool = False
    ) -> None:
        schema = f"rows({', '.join(map(str, types))})"
        self.ttl = TimeToLive(ttl)
        self._index = KeyedTable(context, f"{name} index", self.ttl.schema("place"))
        self._blocks = KeyedTable(context, f"{name} blocks", self.ttl.schema(schema))
        self._ends = TimeOrderedTable(context, f"{name} ends", "keys") if expires else None
        self._types = [arrow_type(t) for t in types]
        self._schema = pa.schema([pa.field(str(i), t) for i, t in enumerate(self._types)])
        self._codec = RowCodec(types)
        self._cache: dict[bytes, list[pa.Array]] = {}  # blocks that were read, the oldest use first
        self._cached_bytes = 0

    def begin_batch(self, now: int) -> None:
        """Sets the time of the batch."""
        self.ttl.now = now

    def prefixes(self, keys: Sequence[bytes]) -> list[bytes]:
        """Returns what the other methods need instead of keys."""
        return self._index.prefixes(keys)

    # -- reading

    def find(self, prefixes: Sequence[bytes]) -> tuple[list[pa.Array], Positions]:
        """Returns the rows of keys, ordered by key and arrival, and for each row the position of its key."""
        owners: list[int] = []
        places: list[tuple[bytes, int, int]] = []  # the entry of the block, the first row, and the number of rows
        unwrap = self.ttl.unwrap
        for owner, prefix in enumerate(prefixes):
            group = prefix[2:4]
            for number, stored in self._index.scan(prefix):
                value = unwrap(stored)
                if value is not None:
                    owners.append(owner)
                    first, count = int.from_bytes(value[:4], "big"), int.from_bytes(value[4:8], "big")
                    places.append((self._blocks.of_group(group, number), first, count))
        if not places:
            return [pa.array([], t) for t in self._types], np.zeros(0, np.int64)
        starts: dict[bytes, int] = {}
        blocks: list[list[pa.Array]] = []
        total = 0
        for entry, _, _ in places:
            if entry not in starts:
                block = self._block(entry)
                starts[entry] = total
                blocks.append(block)
                total += len(block[0])
        counts = np.array([count for _, _, count in places], np.int64)
        firsts = np.array([starts[entry] + first for entry, first, _ in places], np.int64)
        at = np.repeat(firsts - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
        taken = pa.array(at)
        columns = [pa.concat_arrays([block[i] for block in blocks]).take(taken) for i in range(len(self._types))]
        return columns, np.repeat(np.array(owners, np.int64), counts)

    def _block(self, entry: bytes) -> list[pa.Array]:
        found = self._cache.pop(entry, None)
        if found is None:
            stored = self.ttl.unwrap(self._blocks.get(entry))
            assert stored is not None  # it is written with the entries of the index, and expires with them
            found = self._decoded(stored)
            self._cached_bytes += _size(found)
            while self._cache and self._cached_bytes > _CACHE_BYTES:
                self._cached_bytes -= _size(self._cache.pop(next(iter(self._cache))))
        self._cache[entry] = found
        return found

    def _decoded(self, stored: bytes) -> list[pa.Array]:
        if stored[:1] == _ROWS:
            return self._codec.decode(unpack(stored[1:]))
        batch = pa.ipc.read_record_batch(pa.py_buffer(stored)[1:], self._schema)
        return list(batch.columns)

    # -- writing

    def add(
        self,
        columns: Sequence[pa.Array],
        codes: Positions,
        prefixes: Sequence[bytes],
        ends: Positions | None = None,
    ) -> None:
        """Adds rows. codes: for each row the position of its key among the prefixes; every key has a row.

        ends: up to which watermark each row is needed, for a table that expires.
        """
        groups = np.array([int.from_bytes(prefix[2:4], "big") for prefix in prefixes], np.int64)
        order = np.lexsort((codes, groups[codes]))  # stable: rows of a key keep their order
        at = pa.array(order)
        sorted_columns = [column.take(at) for column in columns]
        keys = codes[order]
        changes = np.flatnonzero(np.diff(keys)) + 1
        starts = np.concatenate([[0], changes])
        counts = np.diff(np.append(starts, len(keys)))
        first_codes = keys[starts]
        key_groups = groups[first_codes]
        edges = np.concatenate([[0], np.flatnonzero(np.diff(key_groups)) + 1, [len(key_groups)]])
        borders = np.append(starts, len(keys))
        start_list, count_list, code_list = starts.tolist(), counts.tolist(), first_codes.tolist()
        put, wrap = self._index.put, self.ttl.wrap
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            group = int(key_groups[low]).to_bytes(2, "big")
            first, last = int(borders[low]), int(borders[high])
            number = self._write(group, [column.slice(first, last - first) for column in sorted_columns])
            for i in range(low, high):
                place = (start_list[i] - first).to_bytes(4, "big") + count_list[i].to_bytes(4, "big")
                put(prefixes[code_list[i]] + number, wrap(place))
            if ends is not None:
                end = int(ends[order[first:last]].max())
                self._remember(end, number, [prefixes[code] for code in code_list[low:high]])

    def _write(self, group: bytes, columns: list[pa.Array]) -> bytes:
        """Writes a block and returns its number, in the form of a key."""
        counter = self._blocks.of_group(group, _COUNTER)
        stored = self.ttl.unwrap(self._blocks.get(counter))
        number = 1 if stored is None else int.from_bytes(stored, "big")
        self._blocks.put(counter, self.ttl.wrap((number + 1).to_bytes(8, "big")))
        key = b"\x91\xcf" + number.to_bytes(8, "big")  # an array with one number, in msgpack
        if len(columns[0]) < _FEW:
            value = _ROWS + pack(self._codec.encode(columns))
        else:
            value = _COLUMNS + pa.record_batch(columns, schema=self._schema).serialize().to_pybytes()
        entry = self._blocks.of_group(group, key)
        if entry in self._cache:  # the counter has expired with all blocks, and starts again
            self._cached_bytes -= _size(self._cache.pop(entry))
        self._blocks.put(entry, self.ttl.wrap(value))
        return key

    def _remember(self, end: int, number: bytes, prefixes: list[bytes]) -> None:
        """Stores when a block is not needed any more, with the key groups and keys of its rows.

        The number of the table, with which prefixes begin, is not stored, because a restore may assign another one.
        """
        assert self._ends is not None
        [suffix] = self._ends.suffixes([prefixes[0][4:]])
        self._ends.put(self._ends.entry(end, suffix, number), pack([prefix[2:] for prefix in prefixes]))

    def remove_expired(self, watermark: int) -> None:
        """Removes the blocks whose rows all end before a watermark."""
        if self._ends is None or watermark == MIN_WATERMARK:
            return
        for entry in self._ends.take_until(watermark - 1):
            keys: list[bytes] = unpack(entry.value)  # each after its key group
            for key in keys:
                self._index.put(self._index.of_group(key[:2], key[2:]) + entry.sub_key, None)
            self._blocks.put(self._blocks.of_group(keys[0][:2], entry.sub_key), None)

    def sweep(self) -> None:
        """Removes some expired rows."""
        self.ttl.sweep(self._index)
        self.ttl.sweep(self._blocks)


def _size(columns: Sequence[pa.Array]) -> int:
    return sum(int(column.nbytes) for column in columns)
