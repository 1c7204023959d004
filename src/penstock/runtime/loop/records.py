"""The elements of one operator in one batch, as columns, in the order of time-rules 1.6.

`Tags` hold the position of an element in that order: `watermark` is w(r), `phase` is 0 after a processing timer, 1 after an
element and 2 after an event timer, `origin` and `position` are the source split and sequence number (or the due time of a timer),
`emitter` is the hash of the emitting key, and `count` the number of the emission there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.time import MIN_WATERMARK

Column = NDArray[np.int64]

PHASE_PROCESSING_TIMER = 0
PHASE_ELEMENT = 1
PHASE_EVENT_TIMER = 2
TAG_NAMES = ("watermark", "phase", "origin", "position", "emitter", "count")


def column(values: Any) -> Column:
    return np.asarray(values, dtype=np.int64)


@dataclass(slots=True)
class Tags:
    """The positions of elements in the order."""

    watermark: Column
    phase: Column
    origin: Column
    position: Column
    emitter: Column
    count: Column

    @classmethod
    def of_source(cls, watermark: Column, origin: int, position: Column) -> Tags:
        n = len(watermark)
        zeros = np.zeros(n, np.int64)
        return cls(
            watermark, np.ones(n, np.int64), np.full(n, origin, np.int64), position, zeros, np.arange(n, dtype=np.int64)
        )

    def on_branch(self, branch: int) -> Tags:
        """Tags for one of several branches from the same operator: counts differ by branch first, then by emission."""
        return self if branch == 0 else replace(self, count=self.count + (branch << 40))

    def without_watermarks(self) -> Tags:
        """Tags for elements that get new watermarks after an operator. The old watermarks still define their order."""
        keyed = self.emitter != 0
        return Tags(
            np.full(len(keyed), MIN_WATERMARK, np.int64),
            np.full(len(keyed), PHASE_ELEMENT, np.int64),
            self.watermark,
            np.where(keyed, 0, self.position),
            np.where(keyed, self.emitter, self.origin),
            self.count,
        )

    @classmethod
    def concatenate(cls, parts: list[Tags]) -> Tags:
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in TAG_NAMES))

    def take(self, at: Any) -> Tags:
        return Tags(*(getattr(self, name)[at] for name in TAG_NAMES))


@dataclass(slots=True)
class Records:
    """The elements of one operator and batch; unordered before `sort`."""

    values: list[Any]
    keys: list[Any] | None
    inputs: list[int] | None  # input of each element; None: all of input 0
    timestamps: Column
    tags: Tags
    effective: Column = field(default_factory=lambda: column([]))

    @classmethod
    def concatenate(cls, parts: list[tuple[int, Records]], keyed: bool) -> Records:
        """Concatenates parts, each with the number of its input."""
        if not parts:
            empty = column([])
            return cls([], [] if keyed else None, None, empty, Tags(*(empty for _ in TAG_NAMES)))
        several = any(number for number, _ in parts)
        if len(parts) == 1 and not several:
            return parts[0][1]
        values: list[Any] = []
        keys: list[Any] = []
        inputs: list[int] = []
        for number, part in parts:
            values += part.values
            if keyed:
                keys += part.keys if part.keys is not None else [None] * len(part.values)
            if several:
                inputs += [number] * len(part.values)
        return cls(
            values,
            keys if keyed else None,
            inputs if several else None,
            np.concatenate([p.timestamps for _, p in parts]),
            Tags.concatenate([p.tags for _, p in parts]),
        )

    def sort(self, watermark_before: int, watermark_end: int) -> None:
        """Computes the effective watermark of each element (time-rules 1.5) and sorts the elements (time-rules 1.6)."""
        tags = self.tags
        self.effective = np.maximum(watermark_before, np.minimum(tags.watermark, watermark_end))
        order = sort_order(self.effective, tags)
        if order is not None:
            self.take(order)
            self.effective = self.effective[order]

    def take(self, order: NDArray[np.intp]) -> None:
        """Reorders the elements."""
        at = order.tolist()
        self.values = [self.values[i] for i in at]
        if self.keys is not None:
            self.keys = [self.keys[i] for i in at]
        if self.inputs is not None:
            self.inputs = [self.inputs[i] for i in at]
        self.timestamps = self.timestamps[order]
        self.tags = self.tags.take(order)


def sort_order(effective: Column, tags: Tags) -> NDArray[np.intp] | None:
    """Returns the permutation that sorts by (effective, phase, origin, position, emitter, count); None if already sorted."""
    n = len(effective)
    if n < 2:
        return None
    columns = (effective, tags.phase, tags.origin, tags.position, tags.emitter, tags.count)
    undecided = np.ones(n - 1, bool)
    for values in columns:
        left, right = values[:-1], values[1:]
        if np.any(undecided & (left > right)):
            break
        undecided &= left == right
        if not undecided.any():
            return None
    else:
        return None
    if not np.any(tags.emitter):
        # Directly from sources: the elements of each split are already in order, so few runs have to be merged.
        origin_first = np.lexsort((tags.count, tags.position, tags.origin, tags.phase))
        return origin_first[np.argsort(effective[origin_first], kind="stable")]
    return np.lexsort(columns[::-1])
