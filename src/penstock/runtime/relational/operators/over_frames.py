"""Frames of OVER: which rows each result is computed from, and the aggregates of frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.relational.aggregates.accumulators import AggregateSet
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.specs.operators import OverCall

Positions = NDArray[np.int64]
_PAIRS = 500_000  # pairs of a frame and a row that are computed at once
_BLOCK = 32  # rows of a key whose running results are computed at once


@dataclass(slots=True)
class Partitions:
    """Rows ordered by partition and order keys. Per row: the bounds of its partition and of its peers, and its value to order by.

    earlier: how many rows of the partition came before those that are here.
    """

    start: Positions
    stop: Positions
    first_peer: Positions
    after_peers: Positions
    values: NDArray[Any]
    earlier: Positions

    @classmethod
    def of(
        cls, lengths: Sequence[int], peers: Positions, values: NDArray[Any], earlier: Sequence[int] | None = None
    ) -> Partitions:
        """Creates partitions from their lengths. Peers are neighbours with the same number in `peers`.

        >>> some = Partitions.of([2, 1], np.array([7, 7, 7]), np.array([5, 5, 5]))
        >>> some.after_peers.tolist(), some.start.tolist()
        ([2, 2, 3], [0, 0, 2])
        """
        size = np.array(lengths, np.int64)
        stops = np.cumsum(size)
        codes = np.repeat(np.arange(len(size)), size)
        start, stop = (stops - size)[codes], stops[codes]
        count = len(codes)
        new = np.ones(count, np.bool_)
        new[1:] = (codes[1:] != codes[:-1]) | (peers[1:] != peers[:-1])
        firsts = np.flatnonzero(new)
        group = np.cumsum(new) - 1
        after = np.append(firsts[1:], count)
        before = np.zeros(count, np.int64) if earlier is None else np.array(earlier, np.int64)[codes]
        return cls(start, stop, firsts[group], after[group] if count else firsts, values, before)

    def bounds(self, call: OverCall, rows: Positions) -> tuple[Positions, Positions]:
        """Returns where the frames of some rows start and stop."""
        start, stop = self.start[rows], self.stop[rows]
        if call.mode == "ROWS":
            low = start if call.lower is None else np.clip(rows - call.lower, start, stop)
            high = stop if call.upper is None else np.clip(rows + call.upper + 1, start, stop)
            return low, high
        low = start if call.lower is None else self._search(rows, -call.lower, "left")
        if call.upper is None:
            return low, stop
        return low, self.after_peers[rows] if call.upper == 0 else self._search(rows, call.upper, "right")

    def _search(self, rows: Positions, offset: int, side: Any) -> Positions:
        """Finds where values that are `offset` away from those of rows start or stop, within the partition of each row."""
        if side == "left" and offset == 0:
            return self.first_peer[rows]
        found = np.empty(len(rows), np.int64)
        edges = np.flatnonzero(np.diff(self.start[rows], prepend=-1, append=-1))
        for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            start, stop = self.start[rows[first]], self.stop[rows[first]]
            wanted = self.values[rows[first:last]] + offset
            found[first:last] = start + np.searchsorted(self.values[start:stop], wanted, side)
        return found


def frame_results(aggregates: AggregateSet, columns: list[pa.Array], low: Positions, high: Positions) -> list[pa.Array]:
    """Returns the results of the calls for frames, given by where they start and stop."""
    sizes = np.maximum(high - low, 0)
    ends = np.cumsum(sizes)
    parts: list[list[pa.Array]] = []
    at, count = 0, len(low)
    while at < count or not parts:
        done = int(ends[at - 1]) if at else 0
        stop = max(int(np.searchsorted(ends, done + _PAIRS, "right")), min(at + 1, count))
        some = sizes[at:stop]
        codes = np.repeat(np.arange(stop - at), some)
        rows = np.arange(len(codes)) + np.repeat(low[at:stop] - (ends[at:stop] - some - done), some)
        groups = aggregates.create(stop - at)
        taken = pa.array(rows, pa.int64())
        aggregates.accumulate(groups, codes, Changes([c.take(taken) for c in columns], len(rows)))
        parts.append(aggregates.results(groups))
        if stop == at:
            break
        at = stop
    return parts[0] if len(parts) == 1 else [pa.concat_arrays(list(same)) for same in zip(*parts, strict=True)]


def running_results(
    aggregates: AggregateSet, stored: list[Any], lengths: Sequence[int], columns: list[pa.Array]
) -> list[pa.Array]:
    """Returns the results after each row, and leaves the accumulators after the last row of each partition in `stored`.

    Rows are ordered by partition. `stored` has the plain values of the accumulators of each partition, None for a new one.
    """
    starts = np.cumsum([0, *lengths]).tolist()
    if aggregates.multiset_count or aggregates.calls_python:  # copies of accumulators would be large or slow
        results: list[list[pa.Array]] = []
        for key in range(len(lengths)):
            groups = aggregates.load([stored[key]])
            for row in range(starts[key], starts[key + 1]):
                aggregates.accumulate(groups, np.zeros(1, np.int64), Changes([c.slice(row, 1) for c in columns], 1))
                results.append(aggregates.results(groups))
            stored[key] = aggregates.dump(groups)[0]
        return [pa.concat_arrays(list(same)) for same in zip(*results, strict=True)]
    parts: list[list[pa.Array]] = []
    order: list[Positions] = []
    left = [key for key, length in enumerate(lengths) if length]
    block = 0
    while left:
        first = np.array([starts[key] + block * _BLOCK for key in left])
        size = np.minimum(np.array([lengths[key] for key in left]) - block * _BLOCK, _BLOCK)
        rows = np.concatenate([np.arange(f, f + s) for f, s in zip(first.tolist(), size.tolist(), strict=True)])
        keys = np.repeat(np.arange(len(left)), size)
        place = rows - first[keys]
        copies = aggregates.load([_copy(stored[left[key]]) for key in keys.tolist()])
        codes = np.repeat(np.arange(len(rows)), place + 1)
        pairs = np.arange(len(codes)) - np.repeat(np.cumsum(place + 1) - (place + 1), place + 1)
        taken = pa.array(np.repeat(first[keys], place + 1) + pairs)
        aggregates.accumulate(copies, codes, Changes([c.take(taken) for c in columns], len(codes)))
        parts.append(aggregates.results(copies))
        order.append(rows)
        after = aggregates.dump(copies)
        for key, last in zip(left, (np.cumsum(size) - 1).tolist(), strict=True):
            stored[key] = after[last]
        block += 1
        left = [key for key in left if lengths[key] > block * _BLOCK]
    if len(parts) == 1:
        return parts[0]
    back = pa.array(np.argsort(np.concatenate(order), kind="stable"))
    return [pa.concat_arrays(list(same)).take(back) for same in zip(*parts, strict=True)]


def _copy(value: Any) -> Any:
    return [_copy(v) for v in value] if isinstance(value, list) else value
