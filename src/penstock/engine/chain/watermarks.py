"""Timestamps and watermarks of a chunk by its strategy, which is evaluated after every record (time-rules 1.3)."""

from __future__ import annotations

import copy
import logging
import operator
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from penstock.engine.chain.rejected_elements import RejectedElements
from penstock.engine.program.program import Program
from penstock.engine.wire.frames import Bundles, ChunkProgress
from penstock.errors import TimeError
from penstock.runtime.loop.records import Column, column
from penstock.time import MIN_WATERMARK, WatermarkGenerator, WatermarkOutput, WatermarkStrategy

_MAX_EXPLICIT = 1000
_log = logging.getLogger(__name__)


class ChunkWatermarks:
    """The watermark of one stream in one chunk of a split, from the records of the chunk alone."""

    __slots__ = ("count", "explicit", "watermark")

    def __init__(self) -> None:
        self.watermark = MIN_WATERMARK
        self.count = 0
        self.explicit: list[int] = []

    def keep(self, n: int) -> Column:
        """The watermark before each of n records that do not advance it."""
        self.count += n
        return np.full(n, self.watermark, np.int64)

    def advance(self, watermark: int) -> None:
        """Advances to an explicit watermark. A lower one has no effect."""
        if watermark > self.watermark:
            self.watermark = watermark
            self.add_explicit(watermark)

    def add_explicit(self, watermark: int) -> None:
        if len(self.explicit) < _MAX_EXPLICIT:
            self.explicit.append(watermark)

    def apply_bounded_delay(self, timestamps: Column, delay: int) -> Column:
        """The watermark before each record, if it lags the highest timestamp by a delay."""
        n = len(timestamps)
        self.count += n
        if n == 0:
            return timestamps
        highest = np.maximum.accumulate(timestamps)
        floor = MIN_WATERMARK + delay + 1
        after = np.maximum(self.watermark, np.maximum(highest, floor) - delay - 1)
        before = np.empty(n, np.int64)
        before[0] = self.watermark
        before[1:] = after[:-1]
        self.watermark = int(after[-1])
        return before

    def apply_marks(self, proposed: Column) -> Column:
        """The watermark before each record, if each record proposes a watermark. A lower one has no effect."""
        n = len(proposed)
        self.count += n
        if n == 0:
            return proposed
        after = np.maximum(self.watermark, np.maximum.accumulate(proposed))
        before = np.empty(n, np.int64)
        before[0] = self.watermark
        before[1:] = after[:-1]
        self.watermark = int(after[-1])
        return before

    def run_generator(
        self, generator: WatermarkGenerator, values: list[Any], timestamps: Column, rejected: RejectedElements
    ) -> tuple[Column, WatermarkGenerator]:
        """The watermark before each record by the user's generator, and the generator for the next records.

        If a call raises and its record becomes a dead letter, the generator is restored from a copy.
        """
        self.count += len(values)
        output = _WatermarkCollector(self)
        before = np.empty(len(values), np.int64)
        for index, (value, timestamp) in enumerate(zip(values, timestamps.tolist(), strict=True)):
            before[index] = self.watermark
            saved = (copy.deepcopy(generator), self.watermark, len(self.explicit)) if rejected.guarded else None
            try:
                generator.on_event(value, timestamp, output)
            except Exception as error:
                rejected.reject(error, index)
                assert saved is not None
                generator, self.watermark, explicit = saved
                del self.explicit[explicit:]
                self.count -= 1
        try:
            generator.on_periodic_emit(output)
        except Exception as error:
            raise rejected.call_error(error) from error
        return before, generator


def create_generator(strategy: WatermarkStrategy, rejected: RejectedElements) -> WatermarkGenerator:
    """Creates a generator for one split."""
    assert strategy.generator is not None
    try:
        return strategy.generator()
    except Exception as error:
        raise rejected.call_error(error) from error


class _WatermarkCollector(WatermarkOutput):
    def __init__(self, watermarks: ChunkWatermarks) -> None:
        self._watermarks = watermarks

    def emit_watermark(self, watermark: Any) -> None:
        self._watermarks.advance(int(getattr(watermark, "timestamp", watermark)))

    def mark_idle(self) -> None:
        """Idleness is decided by the batch clock (time-rules 2.7)."""
        _warn_idleness()

    def mark_active(self) -> None:
        """Idleness is decided by the batch clock (time-rules 2.7)."""


@cache
def _warn_idleness() -> None:
    """Warns once per process, because generators may call it for each record."""
    _log.warning(
        "A watermark generator called mark_idle(), which has no effect. Use WatermarkStrategy.with_idleness()."
    )


def assign_timestamps(
    assign: Callable[[Any, int], int], values: list[Any], before: Column, rejected: RejectedElements
) -> Column:
    """The timestamp of each record by the user's assigner, without rejected records."""
    if rejected.guarded:
        return _assign_one_by_one(assign, values, before, rejected)
    rest: Iterator[Any] = iter(values)
    stamps: list[int] = []
    try:
        stamps = [assign(v, t) for v, t in zip(rest, before.tolist(), strict=True)]
        return column(stamps)
    except Exception as error:
        if len(stamps) < len(values):
            at = len(values) - operator.length_hint(rest) - 1
            rejected.reject(error, at)
    rest = iter(stamps)
    try:
        return column([check_timestamp(stamp) for stamp in rest])
    except TimeError as error:
        rejected.reject(error, len(stamps) - operator.length_hint(rest) - 1)
        raise


def _assign_one_by_one(
    assign: Callable[[Any, int], int], values: list[Any], before: Column, rejected: RejectedElements
) -> Column:
    stamps = []
    for at, (value, stamp) in enumerate(zip(values, before.tolist(), strict=True)):
        try:
            stamps.append(check_timestamp(assign(value, stamp)))
        except Exception as error:
            rejected.reject(error, at)
    return column(stamps)


def check_timestamp(stamp: Any) -> int:
    """Checks that an assigner returned a timestamp.

    >>> check_timestamp(5)
    5
    """
    try:
        column([stamp])
        return int(stamp)
    except Exception:
        raise TimeError(
            "TIMESTAMP_TYPE",
            f"The timestamp assigner returned {stamp!r}, but a timestamp is a number of milliseconds. Convert it in the "
            "assigner, for example a datetime by int(t.timestamp() * 1000).",
        ) from None


def send_progress(program: Program, frame: ChunkProgress, out: Bundles) -> None:
    """Sends the progress of a chunk to every slot that reads its stream, even if the slot got no elements of it."""
    for level in program.streams[frame.stream].levels:
        for slot in range(program.parallelism):
            out.add(level, slot, frame)
