"""DISTINCT: which rows change the set of different values of their group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.runtime.relational.aggregates.column_accumulator import Codes, Signs
from penstock.runtime.relational.aggregates.multisets import MemoryMultisets, Multisets
from penstock.runtime.relational.aggregates.plain_values import packer
from penstock.runtime.relational.aggregates.running_counts import running_counts
from penstock.runtime.relational.expressions.values import to_values
from penstock.runtime.relational.keys import RowGroups, group_rows
from penstock.runtime.relational.state.row_codec import RowCodec
from penstock.types.logical.kinds import LogicalType

_MOST_FILTERS = 60  # bits of a mask


class DistinctValues:
    """The different values of some arguments.

    insert_only: rows are only added. Then calls with different filters can share a set (`shared`): the count of a value is a mask
    that has the bit of each filter whose rows had the value. So a value is stored and looked up once, whatever the number of
    filters. With removals, values have counts, and each filter has a set of its own. So have calls whose results depend on the
    order of values, because a set has one order.
    """

    def __init__(
        self, arguments: tuple[int, ...], types: Sequence[LogicalType], insert_only: bool, shared: bool = False
    ) -> None:
        self.arguments = arguments
        self.shared = insert_only and shared
        self.filters: list[int | None] = []  # columns; None takes all rows
        self._types = tuple(types)
        self._pack = packer(types)
        self._codec = RowCodec(types)
        self._insert_only = insert_only

    def number_of(self, filter_: int | None) -> int | None:
        """Returns the number of a filter, which is added if it is new and there is room for it; else None."""
        if filter_ not in self.filters:
            if len(self.filters) >= (_MOST_FILTERS if self.shared else 1):
                return None
            self.filters.append(filter_)
        return self.filters.index(filter_)

    def changing_rows(
        self,
        multiset: Multisets,
        codes: Codes,
        columns: Sequence[pa.Array],
        signs: Signs | None,
        passes: Sequence[NDArray[np.bool_]],
    ) -> list[NDArray[np.int64]]:
        """Counts the values of rows, and returns for each filter the positions of rows that add a new value or remove the last one.

        passes: for each filter, which rows it takes. With one filter, all rows are taken, and `passes` is not read.
        """
        columns = [_canonical(c) for c in columns]
        pairs = group_rows([pa.array(codes), *columns], len(codes))
        at = pa.array(pairs.first)
        values = [to_values(c.take(at), t) for c, t in zip(columns, self._types, strict=True)]
        keys = [self._pack(row) for row in zip(*values, strict=True)]
        groups = codes[pairs.first].tolist()
        old = np.array(multiset.counts(groups, keys), np.int64)
        if signs is None and self._insert_only:
            first = [pairs.first] if len(self.filters) == 1 else [_first_rows(pairs, keep) for keep in passes]
            masks = old.copy()
            for bit, rows in enumerate(first):
                masks |= (rows >= 0).astype(np.int64) << bit
            changed = np.flatnonzero(masks != old)
            counts, added = masks[changed], (masks & ~old)[changed]
            found = [np.sort(rows[changed[(added >> bit) & 1 == 1]]) for bit, rows in enumerate(first)]
        else:
            steps = np.ones(len(codes), np.int64) if signs is None else signs
            before, after = running_counts(pairs.codes, steps, old, below_zero=True)
            counts = old.copy()
            counts[pairs.codes] = after  # the last row of each pair wins
            changed = np.flatnonzero(counts != old)
            counts = counts[changed]
            found = [np.flatnonzero((before > 0) != (after > 0))]
        some = changed.tolist()
        multiset.update([groups[i] for i in some], [keys[i] for i in some], counts.tolist(), [None] * len(some))
        return found

    def merged_values(
        self, mine: MemoryMultisets, codes: Codes, others: MemoryMultisets
    ) -> list[tuple[Codes, list[pa.Array], Signs | None]]:
        """Adds other sets, and returns for each filter the groups, values and signs of what changes: like rows."""
        if self._insert_only:
            return self._merged_masks(mine, codes, others)
        groups, keys, signs = [], [], []
        for group, other in zip(codes.tolist(), others.groups, strict=True):
            found = mine.groups[group]
            for key, (count, value) in other.items():
                old = found[key][0] if key in found else 0
                new = old + count
                if new:
                    found[key] = [new, value]
                else:
                    found.pop(key, None)
                if (old > 0) != (new > 0):
                    groups.append(group)
                    keys.append(key)
                    signs.append(1 if new > 0 else -1)
        return [(np.array(groups, np.int64), self._codec.decode(keys), np.array(signs, np.int64))]

    def _merged_masks(
        self, mine: MemoryMultisets, codes: Codes, others: MemoryMultisets
    ) -> list[tuple[Codes, list[pa.Array], Signs | None]]:
        groups: list[list[int]] = [[] for _ in self.filters]
        keys: list[list[bytes]] = [[] for _ in self.filters]
        for group, other in zip(codes.tolist(), others.groups, strict=True):
            found = mine.groups[group]
            for key, (mask, value) in other.items():
                old = found[key][0] if key in found else 0
                if not (new := mask & ~old):
                    continue
                found[key] = [old | mask, value]
                for bit in range(len(groups)):
                    if new >> bit & 1:
                        groups[bit].append(group)
                        keys[bit].append(key)
        return [(np.array(g, np.int64), self._codec.decode(k), None) for g, k in zip(groups, keys, strict=True)]


def _first_rows(pairs: RowGroups, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns the first row of each group among some rows, -1 if it has none."""
    rows = np.flatnonzero(keep)[::-1]
    first = np.full(len(pairs), -1, np.int64)
    first[pairs.codes[rows]] = rows  # the last assignment counts
    return first


def _canonical(column: pa.Array) -> pa.Array:
    """Equal floating-point numbers must have equal bytes: 0.0 for -0.0, and one NaN."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(
        pc.is_nan(column), pa.scalar(float("nan"), column.type), pc.add(column, pa.scalar(0.0, column.type))
    )
