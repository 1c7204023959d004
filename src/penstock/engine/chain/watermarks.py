"""Timestamps and watermarks of a chunk, by its strategy: evaluated after every record (time.md 1.3)."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.engine.aside import Aside
from penstock.errors import TimeError
from penstock.runtime.records import Column, column
from penstock.time import MIN_WATERMARK, WatermarkGenerator, WatermarkOutput, WatermarkStrategy

_MOST_EXPLICIT = 1000


class ChunkMarks:
    """The marks of one stream in one chunk of a split, as far as its own records say."""

    __slots__ = ("count", "explicit", "mark")

    def __init__(self) -> None:
        self.mark = MIN_WATERMARK
        self.count = 0
        self.explicit: list[int] = []

    def follow(self, n: int, marks: list[tuple[int, int]]) -> Column:
        """The watermark before each of n records, from explicit marks between them."""
        self.count += n
        if not marks:
            return np.full(n, self.mark, np.int64)
        before = np.full(n, self.mark, np.int64)
        for index, mark in marks:
            self.mark = max(self.mark, mark)
            before[index:] = np.maximum(before[index:], self.mark)
            self.note(self.mark)
        return before

    def note(self, mark: int) -> None:
        if len(self.explicit) < _MOST_EXPLICIT:
            self.explicit.append(mark)

    def bounded(self, timestamps: Column, delay: int) -> Column:
        """The watermark before each record when it lags the highest timestamp by a delay."""
        n = len(timestamps)
        self.count += n
        if n == 0:
            return timestamps
        highest = np.maximum.accumulate(timestamps)
        floor = MIN_WATERMARK + delay + 1
        after = np.maximum(self.mark, np.maximum(highest, floor) - delay - 1)
        before = np.empty(n, np.int64)
        before[0] = self.mark
        before[1:] = after[:-1]
        self.mark = int(after[-1])
        return before

    def generated(
        self, generator: WatermarkGenerator, values: list[Any], timestamps: Column, aside: Aside
    ) -> tuple[Column, WatermarkGenerator]:
        """The watermark before each record, by a generator of the user's; and the generator to go on with.

        A call that raises changes nothing when its record is put aside: the generator is then the copy from before it.
        """
        self.count += len(values)
        output = _Collected(self)
        before = np.empty(len(values), np.int64)
        for index, (value, timestamp) in enumerate(zip(values, timestamps.tolist(), strict=True)):
            before[index] = self.mark
            kept = (copy.deepcopy(generator), self.mark, len(self.explicit)) if aside.guarded else None
            try:
                generator.on_event(value, timestamp, output)
            except Exception as error:
                aside.refuse(error, index)
                assert kept is not None
                generator, self.mark, explicit = kept
                del self.explicit[explicit:]
                self.count -= 1
        try:
            generator.on_periodic_emit(output)
        except Exception as error:
            raise aside.failure(error) from error
        return before, generator


def made_generator(strategy: WatermarkStrategy, aside: Aside) -> WatermarkGenerator:
    """A generator for one split."""
    assert strategy.generator is not None
    try:
        return strategy.generator()
    except Exception as error:
        raise aside.failure(error) from error


class _Collected(WatermarkOutput):
    def __init__(self, marks: ChunkMarks) -> None:
        self._marks = marks

    def emit_watermark(self, watermark: Any) -> None:
        mark = int(getattr(watermark, "timestamp", watermark))
        if mark > self._marks.mark:
            self._marks.mark = mark
            self._marks.note(mark)

    def mark_idle(self) -> None:
        """Idleness is decided by the batch clock (time.md 2.7)."""

    def mark_active(self) -> None:
        """Idleness is decided by the batch clock (time.md 2.7)."""


def assigned_timestamps(assign: Callable[[Any, int], int], values: list[Any], before: Column, aside: Aside) -> Column:
    """The event time of each record by the user's assigner; without those that are put aside."""
    if aside.guarded:
        return _one_by_one(assign, values, before, aside)
    rest: Iterator[Any] = iter(values)
    stamps: list[int] = []
    try:
        stamps = [assign(v, t) for v, t in zip(rest, before.tolist(), strict=True)]
        return column(stamps)
    except Exception as error:
        if len(stamps) < len(values):
            at = len(values) - operator.length_hint(rest) - 1
            aside.refuse(error, at)
    rest = iter(stamps)
    try:
        return column([checked_timestamp(stamp) for stamp in rest])
    except TimeError as error:
        aside.refuse(error, len(stamps) - operator.length_hint(rest) - 1)
        raise


def _one_by_one(assign: Callable[[Any, int], int], values: list[Any], before: Column, aside: Aside) -> Column:
    stamps = []
    for at, (value, stamp) in enumerate(zip(values, before.tolist(), strict=True)):
        try:
            stamps.append(checked_timestamp(assign(value, stamp)))
        except Exception as error:
            aside.refuse(error, at)
    return column(stamps)


def checked_timestamp(stamp: Any) -> int:
    """What an assigner gave, as a timestamp.

    >>> checked_timestamp(5)
    5
    """
    try:
        column([stamp])
        return int(stamp)
    except Exception:
        raise TimeError(
            "TIMESTAMP_TYPE",
            f"The timestamp assigner gave {stamp!r} for an element; a timestamp is a number of milliseconds. Let the "
            "assigner convert it, for example by int(t.timestamp() * 1000) from a datetime.",
        ) from None
