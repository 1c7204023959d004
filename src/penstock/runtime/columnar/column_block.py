"""Elements on their way to a window operator, as columns: one by one, or combined where that is exact (time.md 5.6).

A partial stands for the elements of one key, slice and class in one chunk of a split. The class is how many of the slice's
windows had been cleaned up when an element came, by the chunk's own watermark; so all elements of a partial are late for the
same windows, and it can be judged as one element with the watermark of the last cleanup that had passed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.runtime.records import Column
from penstock.runtime.vector.fold import Values, join, take
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.measures import Measures
from penstock.runtime.vector.places import Places
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP


@dataclass(slots=True)
class Block:
    """Elements or partials of some keys. `codes` are places in `keys`; of a partial, `times` is its slice's start."""

    keys: list[Any]
    codes: Column
    times: Column
    watermarks: Column
    places: Places | None  # of elements one by one, in the order
    counts: Column | None  # how many elements each stands for; None: one
    columns: list[Values]
    values: list[Any] | None = None  # the elements themselves, where they may come out again

    def __len__(self) -> int:
        return len(self.codes)

    def size(self) -> int:
        """How many elements it stands for."""
        return len(self.codes) if self.counts is None else int(self.counts.sum())

    def take(self, at: Any) -> Block:
        """Some of the elements, with their own keys only."""
        codes = self.codes[at]
        used = np.flatnonzero(np.bincount(codes, minlength=len(self.keys)))
        anew = np.empty(len(self.keys), np.int64)
        anew[used] = np.arange(len(used))
        return Block(
            [self.keys[code] for code in used.tolist()],
            anew[codes],
            self.times[at],
            self.watermarks[at],
            None if self.places is None else self.places.take(at),
            None if self.counts is None else self.counts[at],
            [take(c, at) for c in self.columns],
            None if self.values is None else take(self.values, at),
        )

    @staticmethod
    def join(blocks: list[Block]) -> Block:
        """Blocks of one list of keys."""
        first = blocks[0]
        if len(blocks) == 1:
            return first
        return Block(
            first.keys,
            np.concatenate([b.codes for b in blocks]),
            np.concatenate([b.times for b in blocks]),
            np.concatenate([b.watermarks for b in blocks]),
            None if first.places is None else Places.join([b.places for b in blocks if b.places is not None]),
            None if first.counts is None else np.concatenate([b.counts for b in blocks]),
            [join(list(c)) for c in zip(*(b.columns for b in blocks), strict=True)],
            None if first.values is None else [v for b in blocks for v in b.values or ()],
        )


def combined(block: Block, grid: Grid | None, measures: Measures) -> Block:
    """The partials of some elements of one split; without a grid (windows by the clock) one for each key.

    >>> from penstock.functions.named_aggregates import count
    >>> from penstock.runtime.records import column
    >>> came = Block(["a", "b"], column([0, 0, 0, 1]), column([1, 12, 3, 13]), column([-9, 0, 11, 11]), None, None, [])
    >>> made = combined(came, Grid(10, 10, 0), Measures(count()))
    >>> made.codes.tolist(), made.times.tolist(), made.counts.tolist(), made.watermarks.tolist()[1]
    ([0, 0, 0, 1], [0, 0, 10, 10], [1, 1, 1, 1], 9)
    """
    slices = np.full(len(block), NO_TIMESTAMP, np.int64) if grid is None else grid.slices(block.times)
    told = None if grid is None else grid.classes(slices, block.watermarks)
    ids, total = _numbered(block.codes, slices, None if told is None else told[0], 1 if grid is None else grid.width)
    counts = np.bincount(ids, minlength=total)
    there = np.flatnonzero(counts)
    some = np.empty(total, np.int64)
    some[ids] = np.arange(len(ids))  # any element of each
    example = some[there]
    return Block(
        block.keys,
        block.codes[example],
        slices[example],
        np.full(len(there), MIN_WATERMARK, np.int64) if told is None else told[1][example],
        None,
        counts[there],
        [take(c, there) for c in measures.fold(ids, total, block.columns)],
    )


def _numbered(codes: Column, slices: Column, classes: Column | None, width: int) -> tuple[Column, int]:
    """A number for each combination, in order of codes, slices and classes; and how many numbers there may be."""
    n = len(codes)
    steps = (slices - slices.min()) // width
    span = int(steps.max()) + 1
    if span > n:
        steps = np.unique(steps, return_inverse=True)[1]
        span = int(steps.max()) + 1
    ids, total = codes * span + steps, (int(codes.max()) + 1) * span
    if classes is not None:
        wide = int(classes.max()) + 1
        ids, total = ids * wide + classes, total * wide
    if total > 4 * n + 1024:
        ids = np.unique(ids, return_inverse=True)[1]
        total = int(ids.max()) + 1
    return ids, total
