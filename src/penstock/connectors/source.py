"""The interface of sources: splits, offsets and chunks of elements.

An offset is a dict that can be stored as JSON and contains how far a source has been read. `latest` and `plan` run on the driver.
`read` runs in tasks. Its only argument is a task that `plan` created.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from penstock.formats.bad_record import BadRecord

Offset = dict[str, Any]

DEFAULT_RECORDS_PER_BATCH = 400_000
DEFAULT_BYTES_PER_BATCH = 64 << 20


@dataclass(slots=True)
class Chunk:
    """Consecutive elements of one split.

    `marks` are explicit watermarks: (index, watermark) comes before the element at that index. They advance event time in
    addition to the watermark strategy of the source. A transient split is not listed
    by `Source.splits`, because there may be very many of them, such as the files of a folder. All transient splits of a source
    together are the split "*". `Source.transient_splits` defines how event time advances over them.

    `bad` are records that cannot be deserialized. `on_error` of from_source decides what happens to them. A chunk may consist
    of such records only.
    """

    split: str
    start: int
    values: list[Any]
    timestamps: list[int] | None = None
    positions: Any = None  # a list or array of numbers; None means start, start + 1, ...
    marks: list[tuple[int, int]] = field(default_factory=list)
    transient: bool = False
    bad: list[BadRecord] = field(default_factory=list)
    skipped: int = 0  # records that were dropped because the schema ignores parse errors

    def position(self, index: int) -> int:
        """Returns the position of the element at an index, or for the number of elements the position after the last one."""
        if self.positions is None or len(self.positions) == 0:
            return self.start + index
        return int(self.positions[index]) if index < len(self.positions) else int(self.positions[-1]) + 1

    def part(self, start: int, end: int) -> Chunk:
        """Returns the elements from one index to another, without watermarks and bad records.

        >>> Chunk("s0", 5, ["a", "b", "c"]).part(1, 3)
        Chunk(split='s0', start=6, values=['b', 'c'], timestamps=None, positions=None, marks=[], transient=False, bad=[], skipped=0)
        """
        return replace(
            self,
            start=self.position(start),
            values=self.values[start:end],
            timestamps=None if self.timestamps is None else self.timestamps[start:end],
            positions=None if self.positions is None else self.positions[start:end],
            marks=[],
            bad=[],
            skipped=0,
        )


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Settings of a running job that concern a source. See `Source.configure`."""

    max_records: int | None = None  # per batch; None means that of `Source.records_per_batch`
    paused_splits: frozenset[str] = frozenset()  # splits that watermark alignment holds back
    timestamps_needed: bool = True  # False if no step reads the timestamps of the source


class Source:
    """Base class of sources. All fields of a subclass must be picklable."""

    bounded = True
    native = False  # Spark reads it without Python code
    stops = False  # an unbounded source that ends nevertheless; its splits end one by one
    records_per_batch: int | None = None  # most records that `latest` admits; None if it does not count them
    stamps_wanted = True  # False if no step reads the timestamps of chunks; see `configure`
    output_type: Any = None  # type or annotation of the elements, if all have the same type
    output_is_exact = False  # True if no element has a subclass of that type, or an int where a float is annotated
    paused: frozenset[str] = frozenset()  # splits that `latest` must not advance; see `configure`
    # How event time advances over transient splits (see `Chunk`). "concurrent": each batch has other ones, and event time follows
    # the slowest. "unordered": each ends, and those that `waiting` reports hold event time back. "sequence": each ends before the
    # next one begins, also in event time.
    transient_splits: Literal["concurrent", "unordered", "sequence"] = "concurrent"

    def configure(self, context: ReadContext) -> None:
        """Receives the settings of the running job.

        The engine calls it on its own copy of the source, before `latest` on the driver and before `read` in tasks.
        """
        self.paused = context.paused_splits
        self.stamps_wanted = context.timestamps_needed
        if context.max_records is not None and self.records_per_batch is not None:
            self.records_per_batch = context.max_records

    def initial(self) -> Offset:
        """Returns the offset before the first element."""
        raise NotImplementedError

    def latest(self, start: Offset) -> Offset:
        """Returns the end offset of the next batch, or `start` if there is nothing new. Limits the size of the batch."""
        raise NotImplementedError

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        """Returns picklable tasks that together read from `start` to `end`."""
        raise NotImplementedError

    def read(self, task: Any) -> Iterator[Chunk]:
        """Yields the elements of one task, in order."""
        raise NotImplementedError

    def position(self, offset: Offset) -> Offset:
        """Converts an offset to a position that does not depend on the checkpoint, for savepoints."""
        return offset

    def restored(self, position: Offset) -> Offset:
        """Converts a position of another run to an offset. Called after `attach`."""
        return position

    def foreign_parts(self, position: Offset) -> list[str]:
        """Returns what a position of another run refers to and this source does not read, such as "topic 'orders'".

        A job does not start from a savepoint whose position has such parts. Called before `attach`.
        """
        return []

    def splits(self, offset: Offset) -> list[str]:
        """Returns the splits known at an offset."""
        return ["0"]

    def ended(self, offset: Offset) -> list[str]:
        """Returns the splits that will never have elements after an offset."""
        return []

    def first_splits(self) -> list[str]:
        """Returns the splits known when a run starts. Called before `attach`, on another copy of the source."""
        return self.splits(self.initial())

    def waiting(self, end: Offset) -> list[str]:
        """Returns the splits with unread data after the end offset of a batch. They are not idle.

        Of transient splits, it returns those that have been read in part, and "*" if others have not been started.
        """
        return []

    def is_full(self, start: Offset, end: Offset) -> bool:
        """Whether a batch is as large as `latest` allows. Such a batch does not wait for more records."""
        return bool(self.waiting(end))

    def lag(self, end: Offset) -> int | None:
        """Returns the number of records after the offset that `latest` has just returned, or None if it is unknown."""
        return None

    def committed(self, offset: Offset) -> None:
        """Called on the driver when all batches up to an offset are committed, possibly more than once. Must not block."""

    def attach(self, folder: str) -> None:
        """Called on the driver before `initial` or `latest`, with a folder that exists as long as the checkpoint."""


def even_ranges(start: int, end: int, parts: int, least: int = 1000) -> list[tuple[int, int]]:
    """Splits [start, end) into at most `parts` ranges of at least `least` numbers, unless there is only one range.

    >>> even_ranges(0, 5000, 2)
    [(0, 2500), (2500, 5000)]
    """
    size = end - start
    if size <= 0:
        return []
    parts = max(1, min(parts, size // least))
    cuts = [start + size * i // parts for i in range(parts + 1)]
    return list(itertools.pairwise(cuts))
