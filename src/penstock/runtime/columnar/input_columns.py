"""The input of a columnar window operator in one batch: the blocks of all chunks as one set of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.runtime.columnar.accumulators import Groups
from penstock.runtime.columnar.column_block import ColumnBlock
from penstock.runtime.columnar.fold import Values, concatenate, take
from penstock.runtime.columnar.key_codes import KeyCodes
from penstock.runtime.columnar.positions import BatchPositions
from penstock.runtime.loop.records import Column, Tags, column


@dataclass(slots=True)
class InputColumns:
    """Elements and partial aggregates of a batch. Keys are given as codes.

    `effective` is the watermark that determines whether each of them is late (time-rules 1.5). The time of a partial
    aggregate is the start of its slice.
    """

    codes: Column
    times: Column
    effective: Column
    counts: Column
    columns: list[Values]
    indices: Column  # into the elements of the batch
    positions: BatchPositions | None  # of all elements of the batch; None for partial aggregates
    values: list[Any] | None = None  # the elements themselves, for operators with a late side output

    @classmethod
    def from_blocks(
        cls, blocks: list[ColumnBlock], keys: KeyCodes, before: int, end: int, column_count: int
    ) -> InputColumns:
        """Joins all blocks. The watermarks of a block are those of its split when the elements arrived."""
        if not blocks:
            none = column([])
            return cls(none, none, none, none, [[] for _ in range(column_count)], none, None)
        sizes, positions = [len(b) for b in blocks], [b.positions for b in blocks if b.positions is not None]
        watermarks = np.concatenate([b.watermarks for b in blocks])
        return cls(
            np.concatenate([keys.encode(b.keys)[b.codes] for b in blocks]),
            np.concatenate([b.times for b in blocks]),
            np.maximum(before, np.minimum(watermarks, end)),
            np.concatenate([np.ones(len(b), np.int64) if b.counts is None else b.counts for b in blocks]),
            [concatenate(list(c)) for c in zip(*(b.columns for b in blocks), strict=True)],
            np.arange(sum(sizes), dtype=np.int64),
            BatchPositions(positions, sizes) if len(positions) == len(blocks) else None,
            [v for b in blocks for v in b.values or ()] if blocks[0].values is not None else None,
        )

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, indices: Any) -> InputColumns:
        """Returns the elements at some indices."""
        return InputColumns(
            self.codes[indices],
            self.times[indices],
            self.effective[indices],
            self.counts[indices],
            [take(c, indices) for c in self.columns],
            self.indices[indices],
            self.positions,
            None if self.values is None else take(self.values, indices),
        )

    def groups(self) -> Groups:
        """Returns each element as a group."""
        return Groups(self.codes, self.counts, self.columns)

    def tags(self) -> Tags:
        """Returns the tags that define the processing order of the elements."""
        assert self.positions is not None
        return self.positions.tags(self.indices, self.effective)
