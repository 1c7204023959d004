"""Timestamps and watermarks of a chunk, by its strategy: evaluated after every record (time.md 1.3)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.errors import TimeError
from penstock.runtime.records import Column, column
from penstock.time import MIN_WATERMARK, WatermarkGenerator, WatermarkOutput

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

    def generated(self, generator: WatermarkGenerator, values: list[Any], timestamps: Column) -> Column:
        """The watermark before each record, by a generator of the user's."""
        self.count += len(values)
        output = _Collected(self)
        before = np.empty(len(values), np.int64)
        for index, (value, timestamp) in enumerate(zip(values, timestamps.tolist(), strict=True)):
            before[index] = self.mark
            generator.on_event(value, timestamp, output)
        generator.on_periodic_emit(output)
        return before


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


def assigned_timestamps(
    assign: Callable[[Any, int], int], values: list[Any], before: Column, told: Callable[[Exception, int], Exception]
) -> Column:
    """The event time of each record by the user's assigner; `told` makes the error of a record's index."""
    rest: Iterator[Any] = iter(values)
    stamps: list[int] = []
    try:
        stamps = [assign(v, t) for v, t in zip(rest, before.tolist(), strict=True)]
        return column(stamps)
    except Exception as error:
        if len(stamps) < len(values):
            at = len(values) - operator.length_hint(rest) - 1
            raise told(error, at) from error
    rest = iter(stamps)
    try:
        return column([checked_timestamp(stamp) for stamp in rest])
    except TimeError as error:
        raise told(error, len(stamps) - operator.length_hint(rest) - 1) from None


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
