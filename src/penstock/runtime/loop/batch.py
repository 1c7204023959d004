"""The loop of batch mode: the complete input of one operator in one slot, key by key (time-rules 9.1, 9.2).

The elements of a key are processed by timestamp at the minimum watermark. Then the watermark is at its maximum and the event
timers of the key fire, then its processing timers. Timers that a firing timer registers are ignored, so none renews itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import TimeError
from penstock.functions import TimeDomain
from penstock.runtime.loop.call_watch import LoopCalls, watch
from penstock.runtime.loop.emissions import Advance, Emissions
from penstock.runtime.loop.records import (
    PHASE_ELEMENT,
    PHASE_EVENT_TIMER,
    PHASE_PROCESSING_TIMER,
    Column,
    Records,
    Tags,
    column,
)
from penstock.runtime.loop.slot import SlotLoop
from penstock.time import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP


@dataclass(slots=True)
class BatchEmissions(Emissions):
    """The values that an operator emitted in batch mode, by key, and per key in the order of emission."""

    first: int = 0  # number of the first emission, since the emissions of a key may come in several parts

    def tags(self) -> Tags:
        old, n = self.records.tags, len(self.emitters)
        watermarks = np.full(n, MIN_WATERMARK, np.int64)
        counts = np.arange(self.first, self.first + n, dtype=np.int64)
        if self.key_table is None:
            at = column(self.emitters)
            return Tags(watermarks, old.phase[at], old.origin[at], old.position[at], self.emitter_hashes()[at], counts)
        zeros = np.zeros(n, np.int64)
        emitters = self._column(self.emitter_hashes(), 3)
        return Tags(watermarks, np.full(n, PHASE_ELEMENT), zeros, zeros, emitters, counts)


class BatchLoop(SlotLoop):
    """Runs the complete input of one operator in one slot.

    All elements of a key come in one call of `run`, except for the last key of a call with `key_continues` set.
    """

    key_continues = False  # the next call may bring further elements of the last key
    _open_key: tuple[Any] | None = None
    _emitted = 0

    def run(self, records: Records, advance: Advance) -> Emissions:
        """Processes broadcast elements, then per key its elements, its event timers and its processing timers."""
        if advance.end != MAX_WATERMARK:
            raise TimeError(
                "BATCH_WITHOUT_END",
                f"Operator '{self._name}' runs in batch mode and got only a part of its input. "
                "Batch mode needs the complete input at once.",
            )
        context = self._context
        out = BatchEmissions(records, **self._emitter(), first=self._emitted)
        if self._open_key is None:
            context.begin_batch(advance.batch, advance.now)
        context.watermark = MIN_WATERMARK
        for queue in (context.event_timers, context.processing_timers):
            queue.begin(MAX_WATERMARK)  # the store has no timers: those of a key are discarded with it
        ranges = _key_ranges(self.sort(records))
        context.timestamps = records.timestamps.tolist()
        watched = LoopCalls(self._name, context, out.values)
        watch.begin(watched)
        try:
            if self._prepare is not None:
                self._prepare_operator(records)
            for start, stop in ranges:
                self._run_key(records, start, stop, out, self.key_continues and stop == len(records.values))
        finally:
            watch.end(watched)
            context.backend.unset_key()
        self._emitted += len(out.values)
        return out.unwrap_timestamps()

    def sort(self, records: Records) -> Column:
        """Sorts the elements and returns a number for the key of each: negative for broadcast elements, 0 for no key.

        Broadcast elements come first, then key by key. The elements of a key are sorted by timestamp and input, all others
        by origin.
        """
        tags, n = records.tags, len(records.values)
        inputs = column(records.inputs) if records.inputs is not None else np.zeros(n, np.int64)
        broadcast = np.isin(inputs, self._broadcast_inputs)
        ranks, timestamps = np.zeros(n, np.int64), np.zeros(n, np.int64)
        if records.keys is not None:
            ranks = self._key_ranks(records.keys)
            timestamps = np.where(broadcast, 0, records.timestamps)
        ranks[broadcast] = -1
        order = _sort_order(ranks, timestamps, inputs, tags.phase, tags.origin, tags.position, tags.emitter, tags.count)
        if order is not None:
            records.take(order)
            ranks = ranks[order]
        return ranks

    def _key_ranks(self, keys: list[Any]) -> Column:
        """Returns the key hash of each element, or consecutive numbers if two keys have the same hash."""
        table = self._context.backend.keys
        identities = {key: table[key] for key in set(keys) if key is not None}
        numbers = {key: identity.hash for key, identity in identities.items()}
        if len(set(numbers.values())) < len(numbers):
            numbers = {key: rank for rank, key in enumerate(sorted(identities, key=identities.__getitem__), 1)}
        return column([0 if key is None else numbers[key] for key in keys])

    def _run_key(self, records: Records, start: int, stop: int, out: BatchEmissions, continues: bool) -> None:
        context = self._context
        key = records.keys[start] if records.keys is not None and start < stop else None
        if self._open_key is not None and self._open_key[0] != key:
            self._finish_key(out)
        context.watermark = MIN_WATERMARK
        context.event_timers.accept_all()
        context.processing_timers.accept_all()
        self._process_range(records, range(start, stop), out)
        self._open_key = (key,) if continues else None
        if not continues:
            self._finish_key(out)

    def _finish_key(self, out: BatchEmissions) -> None:
        """Fires the timers of a key that has no more elements, and discards its state."""
        context = self._context
        event, processing = context.event_timers, context.processing_timers
        context.watermark = MAX_WATERMARK
        if event.used or processing.used:
            event.stop_firing()
            processing.stop_firing()
            self._fire_all(TimeDomain.EVENT_TIME, out)
            self._fire_all(TimeDomain.PROCESSING_TIME, out)
            event.discard_batch()
            processing.discard_batch()
        context.backend.discard_keyed()

    def _fire_all(self, domain: int, out: BatchEmissions) -> None:
        event = domain == TimeDomain.EVENT_TIME
        queue = self._context.event_timers if event else self._context.processing_timers
        phase = PHASE_EVENT_TIMER if event else PHASE_PROCESSING_TIMER
        while (timer := queue.pop(MAX_WATERMARK)) is not None:
            timestamp = timer.time if event else NO_TIMESTAMP
            out.fired.append((MAX_WATERMARK, phase, timer.time, timer.hash, timestamp))
            self._fire(timer, domain, out)

    def _process_range(self, records: Records, at: range, out: Emissions) -> None:
        """Processes the elements of one key, or all that have none."""
        context, values, keys = self._context, records.values, records.keys
        if keys is not None and at:
            context.cell.at = keys[at.start]
        if self._guard is not None:
            for index in at:
                if keys is not None:
                    context.cell.at = keys[index]
                self._call_guarded(records, index, out)
            return
        functions = self._operator.elements()
        append, emit = out.appender(self._copies()), out.emitters.append
        inputs, only = records.inputs, functions[0]
        index = at.start
        try:
            for index in at:
                context.index = index
                process = only if inputs is None else functions[inputs[index]]
                emitted = process(values[index], context)
                if emitted is not None:
                    for result in emitted:
                        append(result)
                        emit(index)
        except Exception as error:
            raise self.site.error(error, **self._call_details(records, index)) from error


def _sort_order(*columns: Column) -> NDArray[np.intp] | None:
    """Returns the permutation that sorts by the columns, the first column first; None if there is nothing to sort."""
    if len(columns[0]) < 2:
        return None
    differing = [c for c in columns if np.any(c[1:] != c[0])]
    return np.lexsort(differing[::-1]) if differing else None


def _key_ranges(ranks: Column) -> list[tuple[int, int]]:
    """Start and end of the elements of each key; elements without a key are one range.

    >>> _key_ranges(column([-1, 7, 7, 9]))
    [(0, 1), (1, 3), (3, 4)]
    """
    if len(ranks) == 0:
        return [(0, 0)]
    return list(pairwise([0, *(np.flatnonzero(ranks[1:] != ranks[:-1]) + 1).tolist(), len(ranks)]))
