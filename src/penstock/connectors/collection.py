"""Sources of a collection, a sequence of numbers, or generated data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.connectors.source import DEFAULT_RECORDS_PER_BATCH, Chunk, Offset, Source, even_ranges
from penstock.runtime.loop.element_copy import collect_copies, copy_elements


class CountedSource(Source):
    """Base class of sources with one split whose elements are numbered 0, 1, 2, ... Several tasks read it in parallel."""

    def __init__(self, count: int | None, records_per_batch: int | None = None) -> None:
        self.count = count
        self.bounded = count is not None
        self.records_per_batch: int = records_per_batch or DEFAULT_RECORDS_PER_BATCH

    def initial(self) -> Offset:
        return {"n": 0}

    def latest(self, start: Offset) -> Offset:
        if "0" in self.paused:
            return start
        end = start["n"] + self.records_per_batch
        return {"n": end if self.count is None else min(end, self.count)}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return list(even_ranges(start["n"], end["n"], parallelism))

    def ended(self, offset: Offset) -> list[str]:
        return ["0"] if self.count is not None and offset["n"] >= self.count else []

    def waiting(self, end: Offset) -> list[str]:
        return ["0"] if self.count is None or end["n"] < self.count else []

    def is_full(self, start: Offset, end: Offset) -> bool:
        return bool(end["n"] - start["n"] >= self.records_per_batch)

    def lag(self, end: Offset) -> int | None:
        return None if self.count is None else self.count - end["n"]


class CollectionSource(CountedSource):
    """Emits the elements of a collection, in order.

    >>> list(CollectionSource([1, 2]).read([0, [1, 2]]))[0].values
    [1, 2]
    """

    def __init__(self, values: Sequence[Any], records_per_batch: int | None = None) -> None:
        super().__init__(len(values), records_per_batch)
        self._values: Sequence[Any] | None = values

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        values = self._values or ()
        return [(low, list(values[low:high])) for low, high in even_ranges(start["n"], end["n"], parallelism)]

    def read(self, task: Any) -> Iterator[Chunk]:
        low, values = task
        yield Chunk(
            "0", low, copy_elements(values)
        )  # an object may be in the collection twice, and functions may change it

    def without_values(self) -> CollectionSource:
        """Returns a copy without the elements, for tasks. Each task contains the elements that it reads."""
        copy = CollectionSource((), self.records_per_batch)
        copy.count, copy._values = self.count, None
        return copy


class NumberSequenceSource(CountedSource):
    """Emits all numbers from `start` to `end`, both inclusive."""

    output_type = int
    output_is_exact = True

    def __init__(self, start: int, end: int, records_per_batch: int | None = None) -> None:
        super().__init__(end - start + 1, records_per_batch)
        self._start = start

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high = task
        yield Chunk("0", low, list(range(self._start + low, self._start + high)))


class DataGeneratorSource(CountedSource):
    """Emits generator(i) for i = 0, 1, 2, ...

    `count` limits the number of elements; without it the source is unbounded. `rate` limits the elements per second.
    """

    def __init__(
        self,
        generator: Callable[[int], Any],
        count: int | None = None,
        rate: float | None = None,
        records_per_batch: int | None = None,
    ) -> None:
        super().__init__(count, records_per_batch)
        self._generator = generator
        self._rate = rate
        self._began: tuple[float, int] | None = None

    def latest(self, start: Offset) -> Offset:
        if "0" in self.paused:
            return start
        end: int = super().latest(start)["n"]
        if self._rate is not None:
            if self._began is None:
                self._began = (time.monotonic(), start["n"])
            clock, number = self._began
            end = max(start["n"], min(end, number + int((time.monotonic() - clock) * self._rate)))
        return {"n": end}

    def lag(self, end: Offset) -> int | None:
        if self._rate is None or self._began is None:
            return super().lag(end)
        clock, number = self._began
        due = number + int((time.monotonic() - clock) * self._rate)
        read: int = end["n"]
        return max(0, (due if self.count is None else min(due, self.count)) - read)

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high = task
        generator = self._generator
        for at in range(low, high, 50_000):
            yield Chunk("0", at, collect_copies(map(generator, range(at, min(high, at + 50_000)))))
