"""A source that reads a fixed range of another source, in the same steps every time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.connectors.source import Chunk, Offset, ReadContext, Source
from penstock.errors import PlanError

_MAX_STEPS = 10_000


class SourceRange(msgspec.Struct):
    """The range of a source: its offsets from the first to the last, one step per batch.

    A copy of the source that is restored from `position` can read these offsets.
    """

    position: Any
    offsets: list[Any]

    @property
    def last(self) -> int:
        return len(self.offsets) - 1


class ReplayedSource(Source):
    """Reads a range of a source. It does not report its progress to the external system."""

    bounded = False  # the engine stops the job, because the source may have more records after the range

    def __init__(self, inner: Source, range_: SourceRange) -> None:
        self._inner = inner
        self._range = range_
        self.stands_for = inner  # savepoints contain the position of the inner source
        self.output_type = inner.output_type
        self.output_is_exact = inner.output_is_exact
        self.transient_splits = inner.transient_splits

    def configure(self, context: ReadContext) -> None:
        self._inner.configure(context)

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


def plan_range(source: Source, saved: Any, folder: str, records: int | None = None) -> SourceRange:
    """The range of a source from a saved position (None: from the start) until now.

    Each batch that the source plans is one step. With `records`, the range is one step of at most so many records.
    """
    source.attach(folder)
    offset = source.initial() if saved is None else source.restored(saved)
    offsets = [offset]
    source.configure(ReadContext(max_records=records))
    while (end := source.latest(offset)) != offset:
        offsets.append(end)
        offset = end
        if records is not None:
            break
        if len(offsets) > _MAX_STEPS:
            raise PlanError(
                "FORK_ENDLESS",
                f"The source still has records after {_MAX_STEPS:,} batches and may have no end. Use --records or --until.",
            )
    return SourceRange(source.position(offset), offsets)
