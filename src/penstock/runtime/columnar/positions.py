"""Where elements stand in the order of time.md 1.6, kept small until somebody asks: most operators by columns never do."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.records import TAG_NAMES, Column, Tags


class Places:
    """The places of the elements of one block: positions in a split, or all the tags of an operator's emissions."""

    __slots__ = ("branch", "columns", "origin")

    def __init__(self, columns: list[Column], origin: int = 0, branch: int = 0) -> None:
        self.columns = columns
        self.origin = origin  # of the split
        self.branch = branch

    @classmethod
    def of(cls, tags: Tags, from_source: bool) -> Places:
        return cls([tags.position] if from_source else [getattr(tags, name) for name in TAG_NAMES])

    def take(self, at: Any) -> Places:
        return Places([c[at] for c in self.columns], self.origin, self.branch)

    @staticmethod
    def join(parts: list[Places]) -> Places:
        """Of blocks of one split, or of one operator."""
        return Places([np.concatenate(columns) for columns in zip(*(p.columns for p in parts), strict=True)])

    def tags(self, at: Column) -> Tags:
        """The tags of some elements, but for their watermarks."""
        if len(self.columns) > 1:
            return Tags(*(c[at] for c in self.columns)).on_branch(self.branch)
        tags = Tags.of_source(np.zeros(len(at), np.int64), self.origin, self.columns[0][at])
        tags.count = at.astype(np.int64)  # elements that were made from one keep their order
        return tags.on_branch(self.branch)


class AllPlaces:
    """The places of all elements of a batch, block after block."""

    def __init__(self, parts: list[Places], sizes: list[int]) -> None:
        self._parts = parts
        self._ends = np.cumsum(sizes)

    def tags(self, at: Column, effective: Column) -> Tags:
        """The tags of some elements, which come at these watermarks."""
        block = np.searchsorted(self._ends, at, side="right")
        tags = Tags(*(np.zeros(len(at), np.int64) for _ in TAG_NAMES))
        for number, part in enumerate(self._parts):
            mine = np.flatnonzero(block == number)
            if len(mine):
                start = self._ends[number - 1] if number else 0
                some = part.tags(at[mine] - start)
                for name in TAG_NAMES:
                    getattr(tags, name)[mine] = getattr(some, name)
        tags.watermark = effective
        return tags
