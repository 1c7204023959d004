"""A base for sources of one's own: which splits there are, how far each goes, and what is in a range of one."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.connectors.lasting_file import write_lasting
from penstock.connectors.source import DEFAULT_RECORDS_PER_BATCH, Chunk, Offset, Source, even_ranges
from penstock.errors import PlanError

_AT_ONCE = 10_000


class SimpleSource(Source):
    """A source whose elements have whole numbers as positions, in one split or several. Write two methods, or three.

    A position always has the same element, or none: a batch may be read again. Positions may have gaps.

    >>> class Letters(SimpleSource):
    ...     def end(self, split):
    ...         return 26
    ...     def read_range(self, split, start, end):
    ...         return ((i, chr(97 + i)) for i in range(start, end))
    >>> chunk, = Letters().read(("0", 2, 5))
    >>> chunk.values
    ['c', 'd', 'e']
    """

    bounded = True  # False: the job goes on when all that there is has been read
    records_per_batch = DEFAULT_RECORDS_PER_BATCH  # how many positions a batch may read, of all splits together
    _ends: dict[str, int] | None = None  # as far as is known
    _kept = ""

    # -- what you write

    def find_splits(self) -> Iterable[str]:
        """The names of the splits that there are now. Runs on the driver."""
        return ["0"]

    def start(self, split: str) -> int:
        """The position of a split's first element. Runs on the driver."""
        return 0

    def end(self, split: str) -> int:
        """The position behind a split's last element that there is now. Runs on the driver."""
        raise NotImplementedError

    def read_range(self, split: str, start: int, end: int) -> Iterable[tuple[int, Any]]:
        """Positions from `start` to before `end` with their elements, ascending. Runs in tasks."""
        raise NotImplementedError

    # -- what jobs ask

    def attach(self, folder: str) -> None:
        """A bounded source looks once: a resumed job ends where the first run would have."""
        if not self.bounded:
            return
        self._kept = os.path.join(folder, "ends.json")
        if os.path.exists(self._kept):
            with open(self._kept, encoding="utf-8") as file:
                self._ends = json.load(file)
            return
        self._ends = self._look()
        self._keep_ends()

    def _keep_ends(self) -> None:
        write_lasting(self._kept, json.dumps(self._ends).encode())

    def position(self, offset: Offset) -> Offset:
        return {"offset": offset, "ends": self._ends} if self.bounded else offset

    def restored(self, position: Offset) -> Offset:
        """A bounded source ends where it would have ended without the restore."""
        if not self.bounded:
            return position
        self._ends = position["ends"]
        self._keep_ends()
        offset: Offset = position["offset"]
        return offset

    def initial(self) -> Offset:
        return {}

    def latest(self, start: Offset) -> Offset:
        ends = self._known(look=not self.bounded)
        at = {split: self._at(start, split) for split in ends}
        more = [split for split in ends if at[split] < ends[split] and split not in self.paused]
        left, moved = self.records_per_batch, {}
        for done, split in enumerate(more):  # what a split does not need is left for those behind it
            moved[split] = min(ends[split], at[split] + max(1, left // (len(more) - done)))
            left -= moved[split] - at[split]
        return {**start, **moved}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        ranges = [(split, self._at(start, split), end[split]) for split in end]
        whole = sum(high - low for _, low, high in ranges)
        return [
            (split, low, high)
            for split, first, last in ranges
            if last > first
            for low, high in even_ranges(first, last, max(1, -(-parallelism * (last - first) // whole)))
        ]

    def read(self, task: Any) -> Iterator[Chunk]:
        split, start, end = task
        found = self._checked(split, start, end)
        while part := list(itertools.islice(found, _AT_ONCE)):
            positions, values = zip(*part, strict=True)
            yield Chunk(split, positions[0], list(values), positions=list(positions))

    def _checked(self, split: str, start: int, end: int) -> Iterator[tuple[int, Any]]:
        least = start
        for position, value in self.read_range(split, start, end):
            if not least <= position < end:
                raise PlanError(
                    "SOURCE_POSITION",
                    f"{type(self).__name__}.read_range({split!r}, {start}, {end}) gave position {position}; it must give ascending "
                    f"positions from {start} to before {end}, and the next one here is at least {least}. Correct read_range.",
                )
            least = position + 1
            yield position, value

    def splits(self, offset: Offset) -> list[str]:
        return list(dict.fromkeys([*offset, *self._known()]))

    def ended(self, offset: Offset) -> list[str]:
        ends = self._known()
        gone = [split for split in offset if split not in ends]
        return gone + [s for s, end in ends.items() if self.bounded and self._at(offset, s) >= end]

    def waiting(self, end: Offset) -> list[str]:
        return [s for s, last in self._known().items() if self._at(end, s) < last]

    def _at(self, offset: Offset, split: str) -> int:
        position: int = offset[split] if split in offset else self.start(split)
        return position

    def _known(self, look: bool = False) -> dict[str, int]:
        if self._ends is None or look:
            self._ends = self._look()
        return self._ends

    def _look(self) -> dict[str, int]:
        return {split: self.end(split) for split in self.find_splits()}
