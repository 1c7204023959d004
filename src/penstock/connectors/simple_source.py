"""SimpleSource, a base class for user-defined sources."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.atomic_file import write_atomic
from penstock.connectors.source import DEFAULT_RECORDS_PER_BATCH, Chunk, Offset, Source, even_ranges
from penstock.errors import PlanError
from penstock.runtime.loop.element_copy import IMMUTABLE, copy_element

_CHUNK_SIZE = 10_000


class SimpleSource(Source):
    """Base class for user-defined sources whose elements have integer positions, in one or more splits.

    Implement `end` and `read_range`, and `find_splits` if there are several splits. A batch may be read again, so a position must
    always have the same element, or none. Positions may have gaps.

    >>> class Alphabet(SimpleSource):
    ...     def end(self, split):
    ...         return 26
    ...     def read_range(self, split, start, end):
    ...         return ((i, chr(97 + i)) for i in range(start, end))
    >>> chunk, = Alphabet().read(("0", 2, 5))
    >>> chunk.values
    ['c', 'd', 'e']
    """

    bounded = True  # if False, the job waits for more elements after it has read all
    records_per_batch = DEFAULT_RECORDS_PER_BATCH  # positions that a batch may read, in all splits together
    _ends: dict[str, int] | None = None  # last known end of each split
    _ends_file = ""

    # -- methods for subclasses

    def find_splits(self) -> Iterable[str]:
        """Returns the names of the splits that exist now. Runs on the driver."""
        return ["0"]

    def start(self, split: str) -> int:
        """Returns the position of the first element of a split. Runs on the driver."""
        return 0

    def end(self, split: str) -> int:
        """Returns the position after the last element that a split has now. Runs on the driver."""
        raise NotImplementedError

    def read_range(self, split: str, start: int, end: int) -> Iterable[tuple[int, Any]]:
        """Returns positions from `start` (inclusive) to `end` (exclusive) with their elements, ascending. Runs in tasks."""
        raise NotImplementedError

    # -- called by the engine

    def attach(self, folder: str) -> None:
        """Determines the ends of a bounded source once, so that a resumed job ends where the first run would have."""
        if not self.bounded:
            return
        self._ends_file = os.path.join(folder, "ends.json")
        if os.path.exists(self._ends_file):
            with open(self._ends_file, encoding="utf-8") as file:
                self._ends = json.load(file)
            return
        self._ends = self._find_ends()
        self._store_ends()

    def _store_ends(self) -> None:
        write_atomic(self._ends_file, json.dumps(self._ends).encode(), durable=True)

    def position(self, offset: Offset) -> Offset:
        return {"offset": offset, "ends": self._ends} if self.bounded else offset

    def restored(self, position: Offset) -> Offset:
        """Converts a position to an offset. A bounded source ends where it would have ended without the restore."""
        if not self.bounded:
            return position
        self._ends = position["ends"]
        self._store_ends()
        offset: Offset = position["offset"]
        return offset

    def initial(self) -> Offset:
        return {}

    def latest(self, start: Offset) -> Offset:
        ends = self._known_ends(refresh=not self.bounded)
        at = {split: self._at(start, split) for split in ends}
        more = [split for split in ends if at[split] < ends[split] and split not in self.paused]
        remaining, moved = self.records_per_batch, {}
        for done, split in enumerate(more):  # the following splits get what a split does not need
            moved[split] = min(ends[split], at[split] + max(1, remaining // (len(more) - done)))
            remaining -= moved[split] - at[split]
        return {**start, **moved}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        ranges = [(split, self._at(start, split), end[split]) for split in end]
        total = sum(high - low for _, low, high in ranges)
        return [
            (split, low, high)
            for split, first, last in ranges
            if last > first
            for low, high in even_ranges(first, last, max(1, -(-parallelism * (last - first) // total)))
        ]

    def read(self, task: Any) -> Iterator[Chunk]:
        split, start, end = task
        elements = self._read_checked(split, start, end)
        while part := list(itertools.islice(elements, _CHUNK_SIZE)):
            positions, values = zip(*part, strict=True)
            yield Chunk(split, positions[0], list(values), positions=list(positions))

    def _read_checked(self, split: str, start: int, end: int) -> Iterator[tuple[int, Any]]:
        minimum = start
        for position, value in self.read_range(split, start, end):
            if not minimum <= position < end:
                raise PlanError(
                    "SOURCE_POSITION",
                    f"{type(self).__name__}.read_range({split!r}, {start}, {end}) returned position {position}. Positions must "
                    f"be ascending and in the range, so the next one must be at least {minimum} and less than {end}. Correct "
                    "read_range.",
                )
            minimum = position + 1
            yield (
                position,
                value if value.__class__ in IMMUTABLE else copy_element(value),
            )  # it may be an object of the source

    def splits(self, offset: Offset) -> list[str]:
        return list(dict.fromkeys([*offset, *self._known_ends()]))

    def ended(self, offset: Offset) -> list[str]:
        ends = self._known_ends()
        gone = [split for split in offset if split not in ends]
        return gone + [s for s, end in ends.items() if self.bounded and self._at(offset, s) >= end]

    def waiting(self, end: Offset) -> list[str]:
        return [s for s, last in self._known_ends().items() if self._at(end, s) < last]

    def _at(self, offset: Offset, split: str) -> int:
        position: int = offset[split] if split in offset else self.start(split)
        return position

    def _known_ends(self, refresh: bool = False) -> dict[str, int]:
        if self._ends is None or refresh:
            self._ends = self._find_ends()
        return self._ends

    def _find_ends(self) -> dict[str, int]:
        return {split: self.end(split) for split in self.find_splits()}
