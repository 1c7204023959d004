"""The rows of open windows of a window join, in blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.state.ranges import Positions
from penstock.runtime.relational.state.row_block import RowBlockCodec
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.state.time_ordered_table import TimedEntry, TimeOrderedTable
from penstock.types.logical.kinds import LogicalType

_NAMES = (b"l", b"r")
_WINDOW_AND_GROUP = 18  # bytes of an entry: the number of the table, the end of the window, and the key group
_TOGETHER = 200_000  # rows that are read together at least, if there are as many


class WindowedRows(NamedTuple):
    """Rows of one input, ordered by the end of their window and key group; then in the order of their arrival.

    parts: the window and key group of each row, as a number.
    """

    columns: list[pa.Array]
    parts: Positions
    ends: Positions


class _Block(NamedTuple):
    part: int
    end: int
    length: int
    signs: bytes
    rows: bytes


class WindowRows:
    """Rows by window, key group, input and batch. All rows of a block belong to one window and one key group.

    A block has the number of its rows, their signs if some are removals, and the rows. Rows are removed when they are read.
    """

    def __init__(self, context: OperatorContext, types: Sequence[Sequence[LogicalType]]) -> None:
        schema = "||".join("|".join(map(str, part)) for part in types)
        self.table = TimeOrderedTable(context, "window blocks", schema)
        self._blocks = [RowBlockCodec(part) for part in types]
        self._rows = [RowCodec(part) for part in types]

    def add(
        self, side: int, columns: Sequence[pa.Array], ends: Positions, groups: Positions, signs: NDArray[np.int64]
    ) -> None:
        """Adds rows of a batch, given the ends of their windows and their key groups."""
        order = np.lexsort((groups, ends))  # stable: rows of a window and a key group keep their order
        ends, groups, inserts = ends[order], groups[order], (signs[order] > 0).astype(np.uint8)
        sorted_columns = [column.take(pa.array(order)) for column in columns]
        borders = np.flatnonzero((np.diff(ends) != 0) | (np.diff(groups) != 0)) + 1
        for start, stop in itertools.pairwise([0, *borders.tolist(), len(order)]):
            suffix = self.table.suffix_of_group(int(groups[start]))
            counter = self.table.entry(int(ends[start]), suffix, _NAMES[side])
            found = self.table.get(counter)
            number = 0 if found is None else unpack(found)
            self.table.put(counter, pack(number + 1))
            part = inserts[start:stop]
            kinds = b"" if part.all() else part.tobytes()
            rows = self._blocks[side].encode([column.slice(start, stop - start) for column in sorted_columns])
            head = (stop - start).to_bytes(4, "big") + len(kinds).to_bytes(4, "big")
            block = self.table.entry(int(ends[start]), suffix, _NAMES[side] + number.to_bytes(8, "big"))
            self.table.put(block, head + kinds + rows)

    def read(self, entries: Iterable[TimedEntry]) -> Iterator[tuple[WindowedRows, WindowedRows]]:
        """Yields the rows of both inputs in the entries of complete windows, many windows and key groups at a time."""
        sides: tuple[list[_Block], list[_Block]] = ([], [])
        rows = 0
        groups = itertools.groupby(entries, lambda entry: entry.stored[:_WINDOW_AND_GROUP])
        for part, (_, found) in enumerate(groups):
            if rows >= _TOGETHER:
                yield self._decoded(0, sides[0]), self._decoded(1, sides[1])
                sides, rows = ([], []), 0
            for entry in found:
                if len(entry.sub_key) > 1:  # else it is the number of blocks
                    block = _parsed(part, entry)
                    sides[_NAMES.index(entry.sub_key[:1])].append(block)
                    rows += block.length
        if rows:
            yield self._decoded(0, sides[0]), self._decoded(1, sides[1])

    def _decoded(self, side: int, blocks: Sequence[_Block]) -> WindowedRows:
        columns = self._blocks[side].decode([block.rows for block in blocks])
        counts = np.array([block.length for block in blocks], np.int64)
        parts = np.repeat(np.array([block.part for block in blocks], np.int64), counts)
        ends = np.repeat(np.array([block.end for block in blocks], np.int64), counts)
        if not any(block.signs for block in blocks):
            return WindowedRows(columns, parts, ends)
        signs = b"".join(block.signs or b"\x01" * block.length for block in blocks)
        kept = _kept(self._rows[side].encode(columns), parts.tolist(), signs)
        at = pa.array(kept)
        return WindowedRows([column.take(at) for column in columns], parts[kept], ends[kept])


def _parsed(part: int, entry: TimedEntry) -> _Block:
    count, signs = int.from_bytes(entry.value[:4], "big"), int.from_bytes(entry.value[4:8], "big")
    return _Block(part, entry.time, count, entry.value[8 : 8 + signs], entry.value[8 + signs :])


def _kept(rows: Sequence[bytes], parts: Sequence[int], signs: bytes) -> Positions:
    """Returns the positions of rows that are not removed. A removal removes the first equal row of its window."""
    found: dict[tuple[int, bytes], list[int]] = {}
    kept = np.zeros(len(rows), bool)
    for position, (row, part, sign) in enumerate(zip(rows, parts, signs, strict=True)):
        equal = found.setdefault((part, row), [])
        if sign:
            equal.append(position)
            kept[position] = True
        elif equal:
            kept[equal.pop(0)] = False
    return np.flatnonzero(kept)
