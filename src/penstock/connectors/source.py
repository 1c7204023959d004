"""The seam of sources: splits, offsets, and chunks of elements.

An offset is a JSON-able dict that says how far a source has been read. Its methods `latest` and `plan` run on the driver,
`read` runs where the data is processed, with nothing but the task that `plan` made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.formats.bad_record import BadRecord

Offset = dict[str, Any]

DEFAULT_RECORDS_PER_BATCH = 400_000
DEFAULT_BYTES_PER_BATCH = 64 << 20


@dataclass(slots=True)
class Chunk:
    """Consecutive elements of one split.

    `marks` are explicit watermarks: (index, watermark) comes before the element at that index. A transient split is read
    whole within its batch and ends with it, like a file of a directory.

    `bad` are the records between them that do not decode: what becomes of them is decided by from_source's on_error. A chunk
    may have nothing but such records.
    """

    split: str
    start: int
    values: list[Any]
    timestamps: list[int] | None = None
    positions: Any = None  # a list or array of numbers; None: start, start + 1, ...
    marks: list[tuple[int, int]] = field(default_factory=list)
    transient: bool = False
    bad: list[BadRecord] = field(default_factory=list)
    skipped: int = 0  # records that were dropped already, because their schema ignores them


class Source:
    """A source of elements. Subclasses describe themselves by plain, picklable fields."""

    bounded = True
    native = False  # Spark reads it without any Python
    stops = False  # a source that is not bounded and comes to an end all the same: its splits end one by one
    records_per_batch: int | None = (
        None  # most records that `latest` admits, where it counts them; may change while a job runs
    )
    stamps_wanted = True  # False, set where chunks are read: nobody looks at their timestamps
    output_type: Any = None  # a type or an annotation of its elements, where they are all of one
    output_is_exact = False  # no element is of a subclass, or has a whole number where a float is annotated
    paused: frozenset[str] = (
        frozenset()
    )  # splits that watermark alignment holds back: `latest` leaves them where they are

    def initial(self) -> Offset:
        """The offset before the first element."""
        raise NotImplementedError

    def latest(self, start: Offset) -> Offset:
        """How far the next batch may read: `start` when there is nothing new. Admits a bounded amount."""
        raise NotImplementedError

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        """Picklable tasks that together read from start to end."""
        raise NotImplementedError

    def read(self, task: Any) -> Iterator[Chunk]:
        """The elements of one task, in order."""
        raise NotImplementedError

    def position(self, offset: Offset) -> Offset:
        """The same offset, so that a source in a fresh checkpoint can go on from it."""
        return offset

    def restored(self, position: Offset) -> Offset:
        """The offset of a position that another run gave, after `attach`."""
        return position

    def splits(self, offset: Offset) -> list[str]:
        """The splits known at an offset."""
        return ["0"]

    def ended(self, offset: Offset) -> list[str]:
        """The splits that have nothing after an offset, for good."""
        return []

    def first_splits(self) -> list[str]:
        """The splits known when a run begins, asked where nothing else is: the source is not attached there."""
        return self.splits(self.initial())

    def waiting(self, end: Offset) -> list[str]:
        """The splits that have unread data after a batch's end offset: they are not idle."""
        return []

    def lag(self, end: Offset) -> int | None:
        """How many records there are after an offset that `latest` gave just now; None: that is not known."""
        return None

    def committed(self, offset: Offset) -> None:
        """Called on the driver when all batches up to an offset are committed, perhaps again and again; must not wait."""

    def attach(self, folder: str) -> None:
        """Called on the driver before the first offset is asked for, with a folder that lasts as long as the checkpoint."""


def even_ranges(start: int, end: int, parts: int, least: int = 1000) -> list[tuple[int, int]]:
    """Cuts [start, end) into at most so many ranges, none smaller than `least` unless it is the only one.

    >>> even_ranges(0, 5000, 2)
    [(0, 2500), (2500, 5000)]
    """
    size = end - start
    if size <= 0:
        return []
    parts = max(1, min(parts, size // least))
    cuts = [start + size * i // parts for i in range(parts + 1)]
    return list(itertools.pairwise(cuts))
