"""A source that reads a range of another one that was fixed before, in the same steps every time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.connectors.source import Chunk, Offset, Source
from penstock.errors import PlanError

_MOST_STEPS = 10_000


class SourceRange(msgspec.Struct):
    """What is read of a source: offsets from the first to the last, one step a batch.

    `position` lets a copy of the source in another checkpoint understand the offsets.
    """

    position: Any
    offsets: list[Any]

    @property
    def last(self) -> int:
        return len(self.offsets) - 1


class ReplayedSource(Source):
    """Reads a range of a source. It tells nobody outside how far it has come."""

    bounded = False  # it does not end by itself: nobody knows what would come behind the range

    def __init__(self, inner: Source, range_: SourceRange) -> None:
        self._inner = inner
        self._range = range_
        self.stands_for = inner  # a savepoint's position is that of the source itself
        self.output_type = inner.output_type
        self.output_is_exact = inner.output_is_exact

    @property
    def stamps_wanted(self) -> bool:
        return self._inner.stamps_wanted

    @stamps_wanted.setter
    def stamps_wanted(self, wanted: bool) -> None:
        self._inner.stamps_wanted = wanted

    def attach(self, folder: str) -> None:
        self._inner.attach(folder)

    def initial(self) -> Offset:
        return self._begin()

    def restored(self, position: Offset) -> Offset:
        return self._begin()

    def _begin(self) -> Offset:
        if self._range.position is not None:
            self._inner.restored(self._range.position)
        return self._at(0)

    def _at(self, number: int) -> Offset:
        return {"at": number, "offset": self._range.offsets[number]}

    def latest(self, start: Offset) -> Offset:
        return self._at(min(start["at"] + 1, self._range.last))

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return self._inner.plan(start["offset"], end["offset"], parallelism)

    def read(self, task: Any) -> Iterator[Chunk]:
        return self._inner.read(task)

    def splits(self, offset: Offset) -> list[str]:
        return self._inner.splits(offset["offset"])

    def ended(self, offset: Offset) -> list[str]:
        return self._inner.ended(offset["offset"])

    def first_splits(self) -> list[str]:
        return self._inner.first_splits()

    def waiting(self, end: Offset) -> list[str]:
        return self._inner.waiting(end["offset"]) if end["at"] < self._range.last else []


def planned_range(source: Source, saved: Any, folder: str, records: int | None = None) -> SourceRange:
    """What a source has from a savepoint's position (None: its beginning) until now; of some, only so many records.

    Sources give a bounded amount at a time: each such amount is one step.
    """
    source.attach(folder)
    offset = source.initial() if saved is None else source.restored(saved)
    offsets = [offset]
    if records is not None and source.records_per_batch is not None:
        source.records_per_batch = records
    while (end := source.latest(offset)) != offset:
        offsets.append(end)
        offset = end
        if records is not None:
            break
        if len(offsets) > _MOST_STEPS:
            raise PlanError(
                "FORK_ENDLESS",
                f"The source still has more after {_MOST_STEPS:,} batches: it may have no end. Give --records or --until.",
            )
    return SourceRange(source.position(offset), offsets)
