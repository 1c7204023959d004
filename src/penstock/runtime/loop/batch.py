"""The loop of batch mode: the whole input of one operator in one slot, key by key (time.md 9).

A key's elements come by timestamp while the watermark stands at its minimum; then the watermark is at its maximum and the
key's event timers fire, then its processing timers. What callbacks register is ignored, so nothing renews itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import TimeError
from penstock.functions import TimeDomain
from penstock.runtime.records import (
    PHASE_ELEMENT,
    PHASE_EVENT_TIMER,
    PHASE_PROCESSING_TIMER,
    Column,
    Records,
    Tags,
    column,
)
from penstock.runtime.slot import Advance, Emissions, SlotLoop
from penstock.time import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP


@dataclass(slots=True)
class BatchEmissions(Emissions):
    """What an operator emitted in batch mode: by key, and for each key in the order of emission."""

    first: int = 0  # the number of the first emission: a key's emissions may come in several parts

    def tags(self) -> Tags:
        old, n = self.records.tags, len(self.emitters)
        least = np.full(n, MIN_WATERMARK, np.int64)
        counts = np.arange(self.first, self.first + n, dtype=np.int64)
        if self.key_table is None:
            at = column(self.emitters)
            return Tags(least, old.phase[at], old.origin[at], old.position[at], old.emitter[at], counts)
        known = self.key_table
        hashes = column([0 if k is None else known[k].hash for k in self.records.keys or ()])
        none = np.zeros(n, np.int64)
        return Tags(least, np.full(n, PHASE_ELEMENT), none, none, self._mixed(hashes, 3), counts)


class BatchLoop(SlotLoop):
    """Runs all input of one operator in one slot: all elements of a key at once, unless `goes_on` says else."""

    goes_on = False  # the last key of what is run may have further elements, which the next call brings
    _open: tuple[Any] | None = None  # the key that goes on
    _emitted = 0

    def run(self, records: Records, advance: Advance) -> Emissions:
        """Broadcast elements, then key by key: its elements, its event timers, its processing timers."""
        if advance.end != MAX_WATERMARK:
            raise TimeError(
                "BATCH_WITHOUT_END",
                f"Operator '{self._name}' runs in batch mode and was given a part of its input. "
                "Batch mode needs all of it at once, up to its end.",
            )
        context = self._context
        known = context.backend.keys if self._operator.keyed else None
        out = BatchEmissions(records, key_table=known, first=self._emitted)
        if self._open is None:
            context.begin_batch(advance.batch, advance.now)
        context.watermark = MIN_WATERMARK
        for queue in (context.event_timers, context.processing_timers):
            queue.begin(MAX_WATERMARK)  # what keys register is forgotten with them, so there is nothing to be found
        stretches = _stretches(self.arrange(records))
        context.timestamps = records.timestamps.tolist()
        try:
            if self._prepare is not None:
                self._prepare_for(records)
            for start, stop in stretches:
                self._run_key(records, start, stop, out, self.goes_on and stop == len(records.values))
        finally:
            context.backend.unset_key()
        self._emitted += len(out.values)
        return out.unwrap()

    def arrange(self, records: Records) -> Column:
        """Puts elements into order, and gives a number for the key of each: below zero for broadcast elements, 0 for no key.

        Broadcast inputs come first, then key by key; elements of a key by timestamp and input, all else by origin.
        """
        tags, n = records.tags, len(records.values)
        inputs = column(records.inputs) if records.inputs is not None else np.zeros(n, np.int64)
        broadcast = np.isin(inputs, self._broadcast_inputs())
        ranks, stamps = np.zeros(n, np.int64), np.zeros(n, np.int64)
        if records.keys is not None:
            ranks = self._ranks(records.keys)
            stamps = np.where(broadcast, 0, records.timestamps)
        ranks[broadcast] = -1
        order = _sorted_by(ranks, stamps, inputs, tags.phase, tags.origin, tags.position, tags.emitter, tags.count)
        if order is not None:
            records.take(order)
            ranks = ranks[order]
        return ranks

    def _ranks(self, keys: list[Any]) -> Column:
        """The hash of each element's key; its place in their order, should two keys have one hash."""
        table = self._context.backend.keys
        known = {key: table[key] for key in set(keys) if key is not None}
        numbers = {key: identity.hash for key, identity in known.items()}
        if len(set(numbers.values())) < len(numbers):
            numbers = {key: place for place, key in enumerate(sorted(known, key=known.__getitem__), 1)}
        return column([0 if key is None else numbers[key] for key in keys])

    def _broadcast_inputs(self) -> list[int]:
        return list(getattr(self._operator, "broadcast_inputs", ()))

    def _run_key(self, records: Records, start: int, stop: int, out: BatchEmissions, goes_on: bool) -> None:
        context = self._context
        key = records.keys[start] if records.keys is not None and start < stop else None
        if self._open is not None and self._open[0] != key:
            self._finish_key(out)
        context.watermark = MIN_WATERMARK
        context.event_timers.take_all()
        context.processing_timers.take_all()
        self._process(records, range(start, stop), out)
        self._open = (key,) if goes_on else None
        if not goes_on:
            self._finish_key(out)

    def _finish_key(self, out: BatchEmissions) -> None:
        """A key has no more elements: its timers fire, and nothing of it is kept."""
        context = self._context
        event, processing = context.event_timers, context.processing_timers
        context.watermark = MAX_WATERMARK
        if event.used or processing.used:
            event.stop_firing()
            processing.stop_firing()
            self._fire_all(TimeDomain.EVENT_TIME, out)
            self._fire_all(TimeDomain.PROCESSING_TIME, out)
            event.forget()
            processing.forget()
        context.backend.forget_keyed()  # the key never comes again

    def _fire_all(self, domain: int, out: BatchEmissions) -> None:
        event = domain == TimeDomain.EVENT_TIME
        queue = self._context.event_timers if event else self._context.processing_timers
        phase = PHASE_EVENT_TIMER if event else PHASE_PROCESSING_TIMER
        while (timer := queue.pop(MAX_WATERMARK)) is not None:
            stamp = timer.time if event else NO_TIMESTAMP
            out.fired.append((MAX_WATERMARK, phase, timer.time, timer.hash, stamp))
            self._fire(timer, domain, out)

    def _process(self, records: Records, at: range, out: Emissions) -> None:
        """The elements of one key, or all that have none."""
        context, values = self._context, records.values
        functions = self._operator.elements()
        keep, emit = self._keep(out), out.emitters.append
        inputs, only = records.inputs, functions[0]
        if records.keys is not None and at:
            context.cell.at = records.keys[at.start]
        index = at.start
        try:
            for index in at:
                context.index = index
                process = only if inputs is None else functions[inputs[index]]
                emitted = process(values[index], context)
                if emitted is not None:
                    for result in emitted:
                        keep(result)
                        emit(index)
        except Exception as error:
            raise self.site.error(error, **self._known(records, index)) from error


def _sorted_by(*columns: Column) -> NDArray[np.intp] | None:
    """The permutation that sorts by the columns, the first one first; None: there is nothing to sort."""
    if len(columns[0]) < 2:
        return None
    differing = [c for c in columns if np.any(c[1:] != c[0])]
    return np.lexsort(differing[::-1]) if differing else None


def _stretches(ranks: Column) -> list[tuple[int, int]]:
    """From where to where elements of one key stand; those without a key together.

    >>> _stretches(column([-1, 7, 7, 9]))
    [(0, 1), (1, 3), (3, 4)]
    """
    if len(ranks) == 0:
        return [(0, 0)]
    return list(pairwise([0, *(np.flatnonzero(ranks[1:] != ranks[:-1]) + 1).tolist(), len(ranks)]))
