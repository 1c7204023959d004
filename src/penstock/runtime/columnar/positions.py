"""Positions of elements in the processing order (time-rules 1.6), in a compact form. Most operators never need the order."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from penstock.runtime.loop.records import TAG_NAMES, Column, Tags


class ElementPositions:
    """The positions of the elements of one block: offsets in a split, or all tags of the emissions of an operator."""

    __slots__ = ("branch", "columns", "origin")

    def __init__(self, columns: list[Column], origin: int = 0, branch: int = 0) -> None:
        self.columns = columns
        self.origin = origin  # of the split
        self.branch = branch

    @classmethod
    def from_tags(cls, tags: Tags, from_source: bool) -> ElementPositions:
        return cls([tags.position] if from_source else [getattr(tags, name) for name in TAG_NAMES])

    def take(self, indices: Any) -> ElementPositions:
        return ElementPositions([c[indices] for c in self.columns], self.origin, self.branch)

    @staticmethod
    def join(parts: list[ElementPositions]) -> ElementPositions:
        """Joins the positions of blocks of one split or of one operator."""
        return ElementPositions([np.concatenate(columns) for columns in zip(*(p.columns for p in parts), strict=True)])

    def tags(self, indices: Column) -> Tags:
        """Returns the tags of the elements at some indices, without their watermarks."""
        if len(self.columns) > 1:
            return Tags(*(c[indices] for c in self.columns)).on_branch(self.branch)
        tags = Tags.of_source(np.zeros(len(indices), np.int64), self.origin, self.columns[0][indices])
        tags.count = indices.astype(np.int64)  # elements made from the same record keep their order
        return tags.on_branch(self.branch)


class BatchPositions:
    """The positions of all elements of a batch, block after block."""

    def __init__(self, parts: list[ElementPositions], sizes: list[int]) -> None:
        self._parts = parts
        self._ends = np.cumsum(sizes)

    @cached_property
    def in_order(self) -> bool:
        """Whether elements with equal watermarks are in processing order: those of sources mostly are.

        False may also mean that this is not known.
        """
        before: tuple[int, int] | None = None  # origin and last position
        for part in self._parts:
            if len(part.columns) > 1 or part.branch != self._parts[0].branch:
                return False
            positions = part.columns[0]
            if not len(positions):
                continue
            if before is not None and before >= (part.origin, int(positions[0])):
                return False
            if (positions[1:] < positions[:-1]).any():
                return False
            before = part.origin, int(positions[-1])
        return True

    def tags(self, indices: Column, effective: Column) -> Tags:
        """Returns the tags of the elements at some indices. `effective` are their watermarks."""
        block = np.searchsorted(self._ends, indices, side="right")
        tags = Tags(*(np.zeros(len(indices), np.int64) for _ in TAG_NAMES))
        for number, part in enumerate(self._parts):
            members = np.flatnonzero(block == number)
            if len(members):
                start = self._ends[number - 1] if number else 0
                part_tags = part.tags(indices[members] - start)
                for name in TAG_NAMES:
                    getattr(tags, name)[members] = getattr(part_tags, name)
        tags.watermark = effective
        return tags
