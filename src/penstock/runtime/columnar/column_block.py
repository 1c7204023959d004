"""Columns of elements on their way to a window operator, single or pre-aggregated where that is exact (time-rules 5.6).

A partial aggregate combines the elements of one key, slice and lateness class in one chunk of a split. The lateness class is
the number of windows of the slice that the watermark of the chunk had passed when an element arrived. So all elements of a
partial aggregate are late for the same windows. The operator treats it as one element whose watermark is the cleanup time of
the last of these windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.runtime.columnar.accumulators import Accumulators
from penstock.runtime.columnar.fold import Values, concatenate, take
from penstock.runtime.columnar.positions import ElementPositions
from penstock.runtime.columnar.slices import Grid
from penstock.runtime.loop.records import Column
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP


@dataclass(slots=True)
class ColumnBlock:
    """Elements or partial aggregates of some keys.

    `codes` are indices into `keys`. The time of a partial aggregate is the start of its slice.
    """

    keys: list[Any]
    codes: Column
    times: Column
    watermarks: Column
    positions: ElementPositions | None  # None for partial aggregates
    counts: Column | None  # elements per partial aggregate; None for single elements
    columns: list[Values]
    values: list[Any] | None = None  # the elements themselves, if the operator may emit them again

    def __len__(self) -> int:
        return len(self.codes)

    def size(self) -> int:
        """Returns the number of elements, including those in partial aggregates."""
        return len(self.codes) if self.counts is None else int(self.counts.sum())

    def take(self, indices: Any) -> ColumnBlock:
        """Returns the elements at some indices, with their own keys only."""
        codes = self.codes[indices]
        used = np.flatnonzero(np.bincount(codes, minlength=len(self.keys)))
        new_codes = np.empty(len(self.keys), np.int64)
        new_codes[used] = np.arange(len(used))
        return ColumnBlock(
            [self.keys[code] for code in used.tolist()],
            new_codes[codes],
            self.times[indices],
            self.watermarks[indices],
            None if self.positions is None else self.positions.take(indices),
            None if self.counts is None else self.counts[indices],
            [take(c, indices) for c in self.columns],
            None if self.values is None else take(self.values, indices),
        )

    @staticmethod
    def join(blocks: list[ColumnBlock]) -> ColumnBlock:
        """Joins blocks that share one list of keys."""
        first = blocks[0]
        if len(blocks) == 1:
            return first
        return ColumnBlock(
            first.keys,
            np.concatenate([b.codes for b in blocks]),
            np.concatenate([b.times for b in blocks]),
            np.concatenate([b.watermarks for b in blocks]),
            None
            if first.positions is None
            else ElementPositions.join([b.positions for b in blocks if b.positions is not None]),
            None if first.counts is None else np.concatenate([b.counts for b in blocks]),
            [concatenate(list(c)) for c in zip(*(b.columns for b in blocks), strict=True)],
            None if first.values is None else [v for b in blocks for v in b.values or ()],
        )


def combine(block: ColumnBlock, grid: Grid | None, accumulators: Accumulators) -> ColumnBlock:
    """Pre-aggregates elements of one split. Without a grid (processing-time windows) there is one partial aggregate per key.

    >>> from penstock.functions.named_aggregates import count
    >>> from penstock.runtime.loop.records import column
    >>> times, watermarks = column([1, 12, 3, 13]), column([-9, 0, 11, 11])
    >>> block = ColumnBlock(["a", "b"], column([0, 0, 0, 1]), times, watermarks, None, None, [])
    >>> combined = combine(block, Grid(10, 10, 0), Accumulators(count()))
    >>> combined.codes.tolist(), combined.times.tolist(), combined.counts.tolist(), combined.watermarks.tolist()[1]
    ([0, 0, 0, 1], [0, 0, 10, 10], [1, 1, 1, 1], 9)
    """
    slices = np.full(len(block), NO_TIMESTAMP, np.int64) if grid is None else grid.slice_starts(block.times)
    lateness = None if grid is None else grid.lateness_classes(slices, block.watermarks)
    classes, width = None if lateness is None else lateness[0], 1 if grid is None else grid.width
    ids, total = _group_ids(block.codes, slices, classes, width)
    counts = np.bincount(ids, minlength=total)
    present = np.flatnonzero(counts)
    any_member = np.empty(total, np.int64)
    any_member[ids] = np.arange(len(ids))
    members = any_member[present]
    return ColumnBlock(
        block.keys,
        block.codes[members],
        slices[members],
        np.full(len(present), MIN_WATERMARK, np.int64) if lateness is None else lateness[1][members],
        None,
        counts[present],
        [take(c, present) for c in accumulators.fold(ids, total, block.columns)],
    )


def _group_ids(codes: Column, slices: Column, classes: Column | None, width: int) -> tuple[Column, int]:
    """Returns an id for each combination, ordered by code, slice and class, and an upper bound of the ids."""
    n = len(codes)
    steps = (slices - slices.min()) // width
    span = int(steps.max()) + 1
    if span > n:
        steps = np.unique(steps, return_inverse=True)[1]
        span = int(steps.max()) + 1
    ids, total = codes * span + steps, (int(codes.max()) + 1) * span
    if classes is not None:
        class_count = int(classes.max()) + 1
        ids, total = ids * class_count + classes, total * class_count
    if total > 4 * n + 1024:
        ids = np.unique(ids, return_inverse=True)[1]
        total = int(ids.max()) + 1
    return ids, total
