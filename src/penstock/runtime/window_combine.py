"""Combining in the mapper: one partial instead of many records, where that is exact (time.md 5.6, 5.7).

A partial stands for the records of one key, slice and class in one chunk of a split. The class is how many of the
slice's windows had been cleaned up when a record came, by the chunk's own watermark; so all records of a partial are
late for the same windows, and the operator judges the partial as one record.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from penstock.functions.named_aggregates import NamedAggregate
from penstock.runtime.records import Column, column
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP
from penstock.windows import (
    Evictor,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.windows.assigner import event_time_of

_BY_EVENT_TIME = (TumblingEventTimeWindows, SlidingEventTimeWindows)
_BY_CLOCK = (TumblingProcessingTimeWindows, SlidingProcessingTimeWindows, ProcessingTimeSessionWindows)
_LARGEST = 2**63 - 1


class Partial(msgspec.Struct, frozen=True, array_like=True):
    """What the window operator takes instead of records: `time` is the slice's start, or NO_TIMESTAMP by the clock."""

    time: int
    accumulator: Any
    count: int


@dataclass(slots=True)
class Partials:
    """The partials of a chunk. `watermarks` are w by the chunk alone, `positions` those of their first records."""

    keys: list[Any]
    values: list[Partial]
    watermarks: Column
    positions: Column


def can_combine(
    assigner: WindowAssigner[Any, Any],
    aggregate: Any,
    *,
    trigger: Trigger[Any, Any] | None = None,
    evictor: Evictor | None = None,
    allowed_lateness: int = 0,
    late_output: bool = False,
) -> bool:
    """Whether combining in the mapper gives what the records themselves would.

    >>> can_combine(TumblingEventTimeWindows.of(10), NamedAggregate("sum"))
    True
    """
    trigger = assigner.get_default_trigger() if trigger is None else trigger
    if not isinstance(aggregate, NamedAggregate) or evictor is not None or not trigger.waits_for_end():
        return False
    if type(assigner) in _BY_CLOCK:
        return True
    gapless = not isinstance(assigner, SlidingEventTimeWindows) or assigner.slide <= assigner.size
    return type(assigner) in _BY_EVENT_TIME and gapless and allowed_lateness == 0 and not late_output


def combine_chunk(
    aggregate: NamedAggregate,
    assigner: WindowAssigner[Any, Any],
    keys: list[Any],
    timestamps: Column,
    values: Any,
    watermarks: Column,
) -> Partials:
    """The partials of one chunk of a split, in the order of their first records.

    `values` are a list or an array of what the aggregate's `value_of` took (not looked at by count), `watermarks` the w
    of each record by the chunk alone.

    >>> w = column([MIN_WATERMARK, 0, 11, 11])
    >>> made = combine_chunk(NamedAggregate("count"), TumblingEventTimeWindows.of(10), list("aaab"),
    ...                      column([1, 12, 3, 13]), None, w)
    >>> [(k, p.time, p.count) for k, p in zip(made.keys, made.values)], made.watermarks.tolist()[2]
    ([('a', 0, 1), ('a', 10, 1), ('a', 0, 1), ('b', 10, 1)], 9)
    """
    if not keys:
        return Partials([], [], column([]), column([]))
    numbers: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
    codes = np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))
    distinct = list(numbers)
    times, classes, passed = _classes(assigner, timestamps, watermarks)
    groups, first = _groups(codes, times, classes, (assigner.grid() or (1, 0))[0])
    counts = np.bincount(groups)
    accumulators = counts.tolist() if aggregate.kind == "count" else _fold(aggregate, groups, values, counts)
    return Partials(
        [distinct[code] for code in codes[first].tolist()],
        [Partial(*p) for p in zip(times[first].tolist(), accumulators, counts.tolist(), strict=True)],
        passed[first],
        first,
    )


def _classes(
    assigner: WindowAssigner[Any, Any], timestamps: Column, watermarks: Column
) -> tuple[Column, Column, Column]:
    """Each record's slice, its class, and the last cleanup time of the slice's windows that had passed."""
    grid = assigner.grid()
    if grid is None or not isinstance(assigner, _BY_EVENT_TIME):
        n = len(timestamps)
        return np.full(n, NO_TIMESTAMP), np.zeros(n, np.int64), np.full(n, MIN_WATERMARK)
    if np.any(timestamps == NO_TIMESTAMP):
        event_time_of(NO_TIMESTAMP)
    width, offset = grid
    size = assigner.size
    slide = assigner.slide if isinstance(assigner, SlidingEventTimeWindows) else size
    slices = timestamps - (timestamps - offset) % width
    last_start = slices - (slices - offset) % slide
    windows = (last_start - (slices - size) - 1) // slide + 1
    first_cleanup = last_start - (windows - 1) * slide + size - 1
    reached = watermarks >= first_cleanup
    classes = np.minimum((np.maximum(watermarks, first_cleanup) - first_cleanup) // slide + reached, windows)
    passed = np.where(reached, first_cleanup + (classes - 1) * slide, MIN_WATERMARK)
    return slices, classes, passed


def _groups(codes: Column, times: Column, classes: Column, width: int) -> tuple[Column, Column]:
    """Numbers the combinations in order of appearance; returns each record's number, and each one's first record."""
    n = len(codes)
    slices = (times - times.min()) // width
    span, wide = int(slices.max()) + 1, int(classes.max()) + 1
    if span > n:
        slices = np.unique(slices, return_inverse=True)[1]
        span = int(slices.max()) + 1
    ids = (codes * span + slices) * wide + classes
    total = (int(codes.max()) + 1) * span * wide
    if total > 4 * n + 1024:
        ids = np.unique(ids, return_inverse=True)[1]
        total = int(ids.max()) + 1
    first_of = np.full(total, n)
    first_of[ids[::-1]] = np.arange(n - 1, -1, -1)  # of equal indices the last one written stays: the first record
    present = np.flatnonzero(first_of < n)
    first = first_of[present]
    order = np.argsort(first)
    rank = np.empty(total, np.int64)
    rank[present[order]] = np.arange(len(order))
    return rank[ids], column(first[order])


def _fold(aggregate: NamedAggregate, groups: Column, values: Any, counts: Column) -> list[Any]:
    """The accumulator of each group. Whole numbers stay whole and exact; what numpy cannot hold is added one by one."""
    numbers = _as_numbers(values, aggregate.kind)
    if numbers is None:
        accumulators: list[Any] = [None] * len(counts)
        listed = values.tolist() if isinstance(values, np.ndarray) else values
        for group, value in zip(groups.tolist(), listed, strict=True):
            accumulators[group] = aggregate.add_value(value, accumulators[group])
        return accumulators
    whole = numbers.dtype.kind == "i"
    if aggregate.kind in ("sum", "avg"):
        totals = np.zeros(len(counts), numbers.dtype)
        np.add.at(totals, groups, numbers)
        if aggregate.kind == "sum":
            return list(totals.tolist())
        return list(zip(totals.tolist(), counts.tolist(), strict=True))
    if aggregate.kind == "min":
        least = np.full(len(counts), _LARGEST if whole else np.nan, numbers.dtype)
        with np.errstate(invalid="ignore"):  # NaN
            (np.minimum if whole else np.fmin).at(least, groups, numbers)
        return list(least.tolist())
    most = np.full(len(counts), MIN_WATERMARK if whole else -np.inf, numbers.dtype)
    with np.errstate(invalid="ignore"):
        np.maximum.at(most, groups, numbers)
    return list(most.tolist())


def _as_numbers(values: Any, kind: str) -> Any:
    """The values as a column of whole or of floating numbers, if each of them is one and no sum can overflow."""
    if isinstance(values, np.ndarray):
        if values.dtype not in (np.int64, np.float64):
            return None
        numbers = values
    else:
        kinds = set(map(type, values))
        if kinds not in ({int}, {float}):
            return None
        try:
            numbers = np.asarray(values, dtype=np.int64 if kinds == {int} else np.float64)
        except OverflowError:
            return None
    if numbers.dtype.kind == "i" and kind in ("sum", "avg"):
        greatest = max(int(numbers.max()), -int(numbers.min()))
        if greatest * len(numbers) > _LARGEST:
            return None
    return numbers
