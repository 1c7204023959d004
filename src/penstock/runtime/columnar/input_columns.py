"""What has come for a window operator in a batch, from all chunks, as one set of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.runtime.records import Column, Tags, column
from penstock.runtime.vector.blocks import Block
from penstock.runtime.vector.fold import Values, join, take
from penstock.runtime.vector.key_codes import KeyCodes
from penstock.runtime.vector.places import AllPlaces


@dataclass(slots=True)
class Arrived:
    """Elements and partials of a batch, by the numbers of their keys.

    `effective` is the watermark by which each is judged (time.md 1.5). Of partials, `times` is where their slices start.
    """

    codes: Column
    times: Column
    effective: Column
    counts: Column
    columns: list[Values]
    at: Column  # which elements of the batch these are
    places: AllPlaces | None  # of all elements of the batch; partials have none
    values: list[Any] | None = None  # of operators that have a late output

    @classmethod
    def of(cls, blocks: list[Block], keys: KeyCodes, before: int, end: int, measures: int) -> Arrived:
        """All blocks; their watermarks are those that their splits had before them."""
        if not blocks:
            none = column([])
            return cls(none, none, none, none, [[] for _ in range(measures)], none, None)
        sizes, places = [len(b) for b in blocks], [b.places for b in blocks if b.places is not None]
        watermarks = np.concatenate([b.watermarks for b in blocks])
        return cls(
            np.concatenate([keys.of(b.keys)[b.codes] for b in blocks]),
            np.concatenate([b.times for b in blocks]),
            np.maximum(before, np.minimum(watermarks, end)),
            np.concatenate([np.ones(len(b), np.int64) if b.counts is None else b.counts for b in blocks]),
            [join(list(c)) for c in zip(*(b.columns for b in blocks), strict=True)],
            np.arange(sum(sizes), dtype=np.int64),
            AllPlaces(places, sizes) if len(places) == len(blocks) else None,
            [v for b in blocks for v in b.values or ()] if blocks[0].values is not None else None,
        )

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, at: Any) -> Arrived:
        return Arrived(
            self.codes[at],
            self.times[at],
            self.effective[at],
            self.counts[at],
            [take(c, at) for c in self.columns],
            self.at[at],
            self.places,
            None if self.values is None else take(self.values, at),
        )

    def tags(self) -> Tags:
        """Where the elements stand in the order."""
        assert self.places is not None
        return self.places.tags(self.at, self.effective)
