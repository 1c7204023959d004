"""The slot loop: one batch of one operator in one slot (time.md 1.7). There is one loop; the harness and Spark both call it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.errors import TimeError
from penstock.runtime.call_site import CallSite
from penstock.runtime.codec import is_immutable
from penstock.runtime.failed_at import FailedAt
from penstock.runtime.keys import KeyTable
from penstock.runtime.operator import Operator, OperatorContext
from penstock.runtime.records import (
    PHASE_ELEMENT,
    PHASE_EVENT_TIMER,
    PHASE_PROCESSING_TIMER,
    Column,
    Records,
    Tags,
    column,
)
from penstock.runtime.stamped import Stamped
from penstock.runtime.state.cell import NO_KEY
from penstock.runtime.timers import Timer
from penstock.time import MAX_WATERMARK, NO_TIMESTAMP

_RENEWALS_AT_END = 100_000


@dataclass(slots=True)
class Advance:
    """How an operator's clocks move in a batch; the same in all slots."""

    now: int
    before: int
    end: int
    marks: list[int]  # explicit watermarks to step through, ascending
    batch: int


@dataclass(slots=True)
class Emissions:
    """What an operator emitted in a batch. `emitters` holds an element's index, or ~i of the i-th fired timer."""

    records: Records
    values: list[Any] = field(default_factory=list)
    emitters: list[int] = field(default_factory=list)
    fired: list[tuple[int, int, int, int, int]] = field(
        default_factory=list
    )  # watermark, phase, due, key hash, timestamp
    key_table: KeyTable | None = None  # of a keyed operator
    stamps: dict[int, int] = field(default_factory=dict)  # timestamps of emissions that have their own

    def unwrap(self) -> Emissions:
        """Takes results out of their `Stamped`."""
        for index, value in enumerate(self.values):
            if value.__class__ is Stamped:
                self.values[index], self.stamps[index] = value
        return self

    def timestamps(self) -> Column:
        stamps = self._mixed(self.records.timestamps, 4)
        if self.stamps:
            stamps[list(self.stamps)] = list(self.stamps.values())
        return stamps

    def tags(self) -> Tags:
        """Where the emissions stand in the next operator's order."""
        old = self.records.tags
        n = len(self.emitters)
        after_processing_timer = old.phase == PHASE_PROCESSING_TIMER
        phase = np.where(after_processing_timer, PHASE_ELEMENT, old.phase)
        origin = np.where(after_processing_timer, -1, old.origin)
        position = np.where(after_processing_timer, old.origin, old.position)
        if self.key_table is None or self.records.keys is None:
            hashes = old.emitter
        else:
            known = self.key_table
            hashes = column([0 if k is None else known[k].hash for k in self.records.keys])
        return Tags(
            self._mixed(self.records.effective, 0),
            self._mixed(phase, 1),
            self._mixed(origin, 2),
            self._mixed(position, None),
            self._mixed(hashes, 3),
            np.arange(n, dtype=np.int64),
        )

    def _mixed(self, of_elements: Column, field_of_timer: int | None) -> Column:
        """A column of the emissions: an element's value, or the given field of a fired timer (None: zero)."""
        at = column(self.emitters)
        if not self.fired:
            return of_elements[at]
        of_timers = column([0 if field_of_timer is None else f[field_of_timer] for f in self.fired])
        if len(of_elements) == 0:
            return of_timers[~at]
        return np.where(at >= 0, of_elements[np.maximum(at, 0)], of_timers[np.maximum(~at, 0)])


class SlotLoop:
    """Runs the batches of one operator in one slot."""

    def __init__(self, name: str, operator: Operator, context: OperatorContext, traced: bool = True) -> None:
        self._name = name
        self._traced = traced  # somebody downstream wants to know which element or timer each emission came from
        self._operator = operator
        self._context = context
        self._at_end: dict[Any, int] = {}
        self._prepare: Callable[[Records], None] | None = getattr(operator, "prepare", None)
        self.site = CallSite(name, context.runtime.uid)
        self.fit: Callable[[list[Any]], list[Any]] | None = None  # of guarded loops: emissions as what was declared

    def run(self, records: Records, advance: Advance) -> Emissions:
        """Processing timers, then elements with event timers in between, then the rest of the event timers."""
        context = self._context
        out = Emissions(records, key_table=context.backend.keys if self._operator.keyed else None)
        context.begin_batch(advance.batch, advance.now)
        context.watermark = advance.before
        marks = advance.marks[::-1]
        context.event_timers.begin(advance.end)
        self._fire_processing_timers(advance, out)
        records.arrange(advance.before, advance.end)
        context.timestamps = records.timestamps.tolist()
        if out.key_table is not None and records.keys is not None:
            out.key_table.expect(records.keys)
        try:
            if self._prepare is not None:
                self._prepare_for(records)
            self._elements(records, marks, out)
            self._advance(advance.end, marks, out)
        finally:
            context.backend.unset_key()
        return out.unwrap() if getattr(self._operator, "stamps_results", False) else out

    def _prepare_for(self, records: Records) -> None:
        """Lets the operator look at a whole batch before its elements come one by one."""
        assert self._prepare is not None
        try:
            self._prepare(records)
        except FailedAt as error:
            known = self._known(records, error.index) if error.index >= 0 else {}
            raise self.site.error(error.cause, **known) from error.cause
        except Exception as error:
            raise self.site.error(error) from error

    def _elements(self, records: Records, marks: list[int], out: Emissions) -> None:
        if not records.values:
            return
        context = self._context
        effective = records.effective.tolist()
        try:
            if records.keys is not None and records.inputs is None:
                self._of_one_input(records.values, records.keys, effective, marks, out)
            else:
                self._of_inputs(records, effective, marks, out)
        except Exception as error:
            raise self.site.error(error, **self._known(records, context.index)) from error

    def _of_one_input(
        self, values: list[Any], keys: list[Any], effective: list[int], marks: list[int], out: Emissions
    ) -> None:
        """The hot path: nothing here that could be done per batch."""
        context, cell, timers = self._context, self._context.cell, self._context.event_timers
        process = self._operator.elements()[0]
        keep, emit, keep_all = self._keep(out), out.emitters.append, out.values.extend
        whole = not self._traced and not context.backend.mutable
        watermark = context.watermark
        for index, (value, key, now) in enumerate(zip(values, keys, effective, strict=True)):
            if now > watermark:
                if timers.next_time <= now:
                    self._advance(now, marks, out)
                else:
                    context.watermark = now
                watermark = now
            cell.at = key
            context.index = index
            emitted = process(value, context)
            if emitted is None:
                continue
            if whole:
                keep_all(emitted)
            else:
                for result in emitted:
                    keep(result)
                    emit(index)

    def _of_inputs(self, records: Records, effective: list[int], marks: list[int], out: Emissions) -> None:
        """The same for elements of several inputs, or without keys."""
        context, cell, timers = self._context, self._context.cell, self._context.event_timers
        functions = self._operator.elements()
        keep, emit = self._keep(out), out.emitters.append
        inputs = records.inputs or [0] * len(records.values)
        keys = records.keys or [NO_KEY] * len(records.values)
        watermark = context.watermark
        for index, (value, key, number, now) in enumerate(zip(records.values, keys, inputs, effective, strict=True)):
            context.index = index
            if now > watermark:
                if timers.next_time <= now:
                    self._advance(now, marks, out)
                else:
                    context.watermark = now
                watermark = now
            cell.at = key
            emitted = functions[number](value, context)
            if emitted is not None:
                for result in emitted:
                    keep(result)
                    emit(index)

    def _keep(self, out: Emissions) -> Callable[[Any], None]:
        """How an emitted value is kept until the batch's end: as a copy if it may be a part of state that can still change."""
        append = out.values.append
        if not self._context.backend.mutable:
            return append
        return lambda value: append(value if is_immutable(value) else pickle.loads(pickle.dumps(value, 5)))

    def _advance(self, watermark: int, marks: list[int], out: Emissions) -> None:
        while marks and marks[-1] <= watermark:
            self._fire_event_timers(marks.pop(), True, out)
        self._fire_event_timers(watermark, False, out)

    def _fire_event_timers(self, watermark: int, explicit: bool, out: Emissions) -> None:
        context = self._context
        base = context.watermark
        if watermark <= base:
            return
        queue = context.event_timers
        while queue.next_time <= watermark and (timer := queue.pop(watermark)) is not None:
            due = max(timer.time, base + 1 if timer.due is None else timer.due)
            context.watermark = watermark if explicit else due
            context.running_due = due
            out.fired.append((due - 1, PHASE_EVENT_TIMER, due, timer.hash, timer.time))
            self._fire(timer, 0, out)
            if watermark == MAX_WATERMARK and timer.due is not None:  # set by a timer that fired in this advance
                self._count_renewal(timer)
        context.running_due = None
        context.watermark = watermark

    def _fire_processing_timers(self, advance: Advance, out: Emissions) -> None:
        queue = self._context.processing_timers
        queue.begin(advance.now, advance.now - 1)
        while (timer := queue.pop(advance.now)) is not None:
            out.fired.append((advance.before, PHASE_PROCESSING_TIMER, timer.time, timer.hash, NO_TIMESTAMP))
            self._fire(timer, 1, out)
        queue.stop_firing()

    def _fire(self, timer: Timer, domain: int, out: Emissions) -> None:
        context = self._context
        context.fired = timer
        context.domain = domain
        context.cell.at = timer.key
        try:
            emitted = self._operator.on_timer(timer, context)
            if emitted is not None:
                emitter = ~(len(out.fired) - 1)
                keep = self._keep(out)
                for result in emitted:
                    keep(result)
                    out.emitters.append(emitter)
        except Exception as error:
            raise self.site.error(error, key=timer.key, timer=timer.time) from error
        finally:
            context.fired = None

    def _count_renewal(self, timer: Timer) -> None:
        fired = self._at_end[timer.key] = self._at_end.get(timer.key, 0) + 1
        if fired > _RENEWALS_AT_END:
            raise TimeError(
                "TIMER_WITHOUT_END",
                f"At the end of input, operator '{self._name}' fired {fired} event timers of key {timer.key!r}, and a firing "
                "timer keeps setting the next one. Stop renewing when the current watermark is the maximal one.",
            )

    def _known(self, records: Records, index: int) -> dict[str, Any]:
        """What is known of an element on which the function raised."""
        known = {
            "element": records.values[index],
            "origin": (records.tags, index),
            "timestamp": int(records.timestamps[index]),
        }
        key = None if records.keys is None else records.keys[index]  # broadcast elements have none
        return known if key is None else {**known, "key": key}
