"""Runs operators on hand-written batches by the time rules: w(r) before each record, W_end, explicit watermarks.

A record is written `a@5` (key a, timestamp 5, value 1) or `a@5=7` (value 7); `!12` is an explicit watermark.
The slot loop, the state backend, the timers and the store are the real ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from penstock.functions import AggregateFunction, OutputTag
from penstock.runtime.loop.channels import SplitTable, combine
from penstock.runtime.loop.emissions import Advance, Emissions
from penstock.runtime.loop.operator import FunctionRuntimeContext, Operator, OperatorContext, TimestampedResult
from penstock.runtime.loop.records import Records, Tags, column
from penstock.runtime.loop.slot import SlotLoop
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTables
from penstock.runtime.state.timers import TimerQueue
from penstock.time import MIN_WATERMARK

LATE = OutputTag("late")


class Event(NamedTuple):
    """An element of the tests."""

    key: str
    timestamp: int
    value: int = 1


class Mark(NamedTuple):
    """An explicit watermark."""

    watermark: int


class Result(NamedTuple):
    """An emission with its timestamp."""

    value: Any
    timestamp: int


@dataclass
class Batch:
    """The records of the splits in one batch."""

    splits: dict[str, list[Event | Mark]] = field(default_factory=dict)
    now: int = 0
    ended: tuple[str, ...] = ()
    end: bool = False


def parse(text: str) -> Event | Mark:
    if text.startswith("!"):
        return Mark(int(text[1:]))
    match = re.fullmatch(r"(\w+)@(-?\d+)(?:=(-?\d+))?", text)
    assert match is not None, text
    return Event(match[1], int(match[2]), int(match[3] or 1))


def one_split(*batches: str, now: int = 0) -> list[Batch]:
    """Batches of split s0, each written as a text of records."""
    return [Batch({"s0": [parse(word) for word in text.split()]}, now) for text in batches]


class Total(AggregateFunction):
    """Adds up the values of events."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Event, accumulator: int) -> int:
        return accumulator + value.value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class FormatWindow:
    """A window function that formats the window, for example a[0,10)=2."""

    def apply(self, key: str, window: Any, elements: Iterable[Any]) -> Iterable[str]:
        total = sum(e.value if isinstance(e, Event) else e for e in elements)
        yield f"{key}[{window.start},{window.end})={total}"


def is_side_output(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], OutputTag)


def format_emission(value: Any) -> str:
    """Formats an emission as in the transcripts."""
    if is_side_output(value):
        return f"{value[0].tag_id} {value[1].key}@{value[1].timestamp}"
    return str(value)


class OperatorSlot:
    """One operator in one slot."""

    def __init__(self, make: Callable[[], Operator], cached: bool = False) -> None:
        self._make = make
        self._cached = cached
        self._base = MemoryView()
        self._tables = StateTables()
        self.watermark = MIN_WATERMARK
        self._number = 0
        self.restart()

    def restart(self) -> None:
        """Creates everything again except the committed state."""
        self._store = Store(self._base)
        keys = KeyTable(128)
        backend = KeyedStateStore(self._store, self._tables, "op", keys, self._cached)
        runtime = FunctionRuntimeContext(
            uid="op", name="op", index=0, parallelism=1, max_parallelism=128, parameters={}, backend=backend
        )
        event, processing = TimerQueue(self._store, b"te", keys), TimerQueue(self._store, b"tp", keys)
        self.context = OperatorContext(backend, event, processing, runtime)
        self.operator = self._make()
        self.operator.open(self.context)
        self._loop = SlotLoop("op", self.operator, self.context)

    def run(self, records: Records, end: int, marks: Iterable[int] = (), now: int = 0) -> Emissions:
        self._number += 1
        end = max(end, self.watermark)
        out = self._loop.run(records, Advance(now, self.watermark, end, sorted(set(marks)), self._number))
        self.watermark = end
        self.context.event_timers.flush()
        self.context.processing_timers.flush()
        self.context.backend.flush()
        self._base.apply(self._store.take_changes())
        return out

    def count_entries(self) -> int:
        """Returns the number of entries of state and timers."""
        return len(self._base.entries)


def results(out: Emissions) -> list[Result]:
    """Returns the emissions with their timestamps, whether the loop has unwrapped them or not."""
    stamps = out.timestamps().tolist() if out.values else []
    pairs = zip(out.values, stamps, strict=True)
    return [
        Result(v.value, v.timestamp) if isinstance(v, TimestampedResult) else Result(v, stamp) for v, stamp in pairs
    ]


class Driver:
    """Feeds the batches of some splits to an operator, and its output to a second one if there is one.

    `delay`: the watermark is the highest timestamp - delay - 1. With None there are only explicit watermarks.
    `cached`: state stays decoded between batches. `restarting`: the operator is created again before each batch.
    `inputs`: the input of the operator for each split, if it is not the first.
    """

    def __init__(
        self,
        make: Callable[[], Operator],
        *,
        then: Callable[[], Operator] | None = None,
        delay: int | None = None,
        splits: Iterable[str] = (),
        inputs: dict[str, int] | None = None,
        restarting: bool = False,
        cached: bool = False,
    ) -> None:
        self.first = OperatorSlot(make, cached)
        self.second = None if then is None else OperatorSlot(then)
        self._delay = delay
        self._table = SplitTable({})
        self._table.add_splits(splits)
        self._inputs = inputs or {}
        self._restarting = restarting
        self._position = 0
        self._explicit: list[int] = []

    def run(self, batch: Batch) -> list[Result]:
        if self._restarting:
            self.first.restart()
        self._explicit = []
        self._table.add_splits(batch.splits)
        parts = [(self._inputs.get(name, 0), self._chunk(name, batch.splits[name])) for name in sorted(batch.splits)]
        self._table.end_splits(batch.ended)
        if batch.end:
            self._table.end_all()
        end = combine(self._table.splits.values()).watermark
        marks = [min(mark, max(end, self.first.watermark)) for mark in self._explicit]
        out = self.first.run(Records.concatenate(parts, True), end, marks, batch.now)
        if self.second is None:
            return results(out)
        return results(self.second.run(_as_input(out), self.first.watermark, now=batch.now))

    def run_all(self, batches: Iterable[Batch]) -> list[list[Result]]:
        return [self.run(batch) for batch in batches]

    def run_formatted(self, batches: Iterable[Batch]) -> list[list[str]]:
        return [[format_emission(r.value) for r in self.run(batch)] for batch in batches]

    def _chunk(self, split: str, events: list[Event | Mark]) -> Records:
        mark = self._table.splits[split].mark
        highest = MIN_WATERMARK
        elements: list[Event] = []
        watermarks: list[int] = []
        for event in events:
            if isinstance(event, Mark):
                mark = max(mark, event.watermark)
                self._explicit.append(mark)
                continue
            elements.append(event)
            watermarks.append(mark)
            if self._delay is not None:
                highest = max(highest, event.timestamp)
                mark = max(mark, highest - self._delay - 1)
        self._table.mark(split, mark)
        positions = column(range(self._position, self._position + len(elements)))
        self._position += len(elements)
        origin = sorted(self._table.splits).index(split)
        return Records(
            list(elements),
            [e.key for e in elements],
            None,
            column([e.timestamp for e in elements]),
            Tags.of_source(column(watermarks), origin, positions),
        )


def _as_input(out: Emissions) -> Records:
    """Returns the emissions of the first operator as input of the second. Formatted windows become events again."""
    events, stamps, indices = [], [], []
    for index, result in enumerate(results(out)):
        if is_side_output(result.value):
            continue
        match = re.fullmatch(r"(\w+)\[.*=(\d+)", result.value)
        assert match is not None
        events.append(Event(match[1], result.timestamp, int(match[2])))
        stamps.append(result.timestamp)
        indices.append(index)
    tags = out.tags().take(np.asarray(indices, dtype=np.int64)) if out.values else out.records.tags.take(column([]))
    return Records(list(events), [e.key for e in events], None, column(stamps), tags)
