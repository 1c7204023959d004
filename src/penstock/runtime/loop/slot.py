"""The loop of streaming mode: one batch of one operator in one slot (time-rules 1.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import TimeError
from penstock.runtime.loop.call_guard import CallGuard, PartwiseOperator
from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.loop.call_watch import LoopCalls, watch
from penstock.runtime.loop.element_copy import IMMUTABLE, copy_element
from penstock.runtime.loop.emissions import Advance, Emissions
from penstock.runtime.loop.operator import IndexedError, Operator, OperatorContext
from penstock.runtime.loop.records import PHASE_EVENT_TIMER, PHASE_PROCESSING_TIMER, Records
from penstock.runtime.loop.repeated_timers import RepeatedTimers
from penstock.runtime.state.cell import NO_KEY
from penstock.runtime.state.timers import Timer
from penstock.time import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP

_MAX_RENEWALS_AT_END = 100_000


class SlotLoop:
    """Runs the batches of one operator in one slot.

    With a `guard`, calls are made one by one and those that raise become dead letters (`on_error="dead_letter"`).
    `traced` is false if no downstream step needs to know which element or timer each value came from.
    """

    def __init__(
        self,
        name: str,
        operator: Operator,
        context: OperatorContext,
        traced: bool = True,
        guard: CallGuard | None = None,
    ) -> None:
        self._name = name
        self._traced = traced
        self._operator = operator
        self._context = context
        self._guard = guard
        self._renewals_at_end: dict[Any, int] = {}  # by key
        self._repeated_timers = RepeatedTimers(name)
        self._prepare: Callable[[Records], None] | None = getattr(operator, "prepare", None)
        self._broadcast_inputs: tuple[int, ...] = getattr(operator, "broadcast_inputs", ())
        self.site = CallSite(name, context.runtime.uid)

    def run(self, records: Records, advance: Advance) -> Emissions:
        """Fires processing timers, processes elements with event timers in between, then fires the remaining event timers."""
        context = self._context
        out = Emissions(records, **self._emitter())
        context.begin_batch(advance.batch, advance.now)
        context.watermark = advance.before
        marks = advance.marks[::-1]
        context.event_timers.begin(advance.end)
        self._repeated_timers.begin_batch()
        watched = LoopCalls(self._name, context, out.values)
        watch.begin(watched)
        try:
            self._fire_processing_timers(advance, out)
            records.sort(advance.before, advance.end)
            context.timestamps = records.timestamps.tolist()
            if out.key_table is not None and records.keys is not None:
                out.key_table.prepare_batch(records.keys)
            if self._prepare is not None:
                self._prepare_operator(records)
            self._process_elements(records, marks, out)
            self._advance_watermark(advance.end, marks, out)
        finally:
            watch.end(watched)
            context.backend.unset_key()
        return out.unwrap_timestamps() if getattr(self._operator, "stamps_results", False) else out

    def _emitter(self) -> dict[str, Any]:
        """What emissions need to order the results of this slot."""
        context = self._context
        return {
            "key_table": context.backend.keys if self._operator.keyed else None,
            "slot": context.runtime.get_index_of_this_subtask(),
            "broadcast_inputs": self._broadcast_inputs,
        }

    def _prepare_operator(self, records: Records) -> None:
        """Shows the operator the complete batch before its elements are processed one by one."""
        assert self._prepare is not None
        try:
            self._prepare(records)
        except IndexedError as error:
            details = self._call_details(records, error.index) if error.index >= 0 else {}
            raise self.site.error(error.cause, **details) from error.cause
        except Exception as error:
            raise self.site.error(error) from error
        if self._guard is not None:
            self._context.backend.flush()  # so that undoing a failed call does not undo the preparation

    def _process_elements(self, records: Records, marks: list[int], out: Emissions) -> None:
        if not records.values:
            return
        effective = records.effective.tolist()
        if self._guard is not None:
            self._process_guarded(records, effective, marks, out)
            return
        try:
            if records.keys is not None and records.inputs is None:
                self._process_one_input(records.values, records.keys, effective, marks, out)
            else:
                self._process_inputs(records, effective, marks, out)
        except Exception as error:
            raise self.site.error(error, **self._call_details(records, self._context.index)) from error

    def _process_one_input(
        self, values: list[Any], keys: list[Any], effective: list[int], marks: list[int], out: Emissions
    ) -> None:
        """The hot path. It repeats lines of `_process_inputs`, since a call per element would cost more."""
        context, cell, timers = self._context, self._context.cell, self._context.event_timers
        process = self._operator.elements()[0]
        append, emit = out.values.append, out.emitters.append
        traced, copies, immutable = self._traced, self._copies(), IMMUTABLE
        if not out.values:
            out.maybe_tagged = False  # unless a value that can be changed is emitted now or by a timer
        watermark = context.watermark
        for index, value, key, now in zip(range(len(values)), values, keys, effective, strict=True):
            if now > watermark:
                if timers.next_time <= now:
                    self._advance_watermark(now, marks, out)
                else:
                    context.watermark = now
                watermark = now
            cell.at = key
            context.index = index
            emitted = process(value, context)
            if emitted is None:
                continue
            if copies:
                for result in emitted:
                    kind = type(result)
                    if kind is tuple:
                        for item in result:
                            if type(item) not in immutable:
                                result = copy_element(result)
                                out.maybe_tagged = True
                                break
                    elif kind not in immutable:
                        result = copy_element(result)
                    append(result)
                    if traced:
                        emit(index)
            else:
                out.maybe_tagged = True
                for result in emitted:
                    append(result)
                    if traced:
                        emit(index)

    def _copies(self) -> bool:
        """Whether the values that the operator emits are copied."""
        return not getattr(self._operator, "copies_results", False) and self._context.copies_elements

    def _process_inputs(self, records: Records, effective: list[int], marks: list[int], out: Emissions) -> None:
        """Processes elements of several inputs, or without keys."""
        context, cell, timers = self._context, self._context.cell, self._context.event_timers
        functions = self._operator.elements()
        append, emit = out.appender(self._copies()), out.emitters.append
        inputs = records.inputs or [0] * len(records.values)
        keys = records.keys or [NO_KEY] * len(records.values)
        watermark = context.watermark
        for index, (value, key, number, now) in enumerate(zip(records.values, keys, inputs, effective, strict=True)):
            context.index = index
            if now > watermark:
                if timers.next_time <= now:
                    self._advance_watermark(now, marks, out)
                else:
                    context.watermark = now
                watermark = now
            cell.at = key
            emitted = functions[number](value, context)
            if emitted is not None:
                for result in emitted:
                    append(result)
                    emit(index)

    def _process_guarded(self, records: Records, effective: list[int], marks: list[int], out: Emissions) -> None:
        """Processes elements call by call under the guard."""
        context, cell = self._context, self._context.cell
        keys = records.keys or [NO_KEY] * len(records.values)
        for index, (key, now) in enumerate(zip(keys, effective, strict=True)):
            if now > context.watermark:
                self._advance_watermark(now, marks, out)
            cell.at = key
            self._call_guarded(records, index, out)

    def _call_guarded(self, records: Records, index: int, out: Emissions) -> None:
        context, operator = self._context, self._operator
        assert self._guard is not None
        context.index = index
        number = 0 if records.inputs is None else records.inputs[index]
        process, value = operator.elements()[number], records.values[index]
        self._guard.run(
            lambda: process(value, context),
            index,
            self.site,
            lambda: self._call_details(records, index),
            out,
        )

    def _advance_watermark(self, watermark: int, marks: list[int], out: Emissions) -> None:
        while marks and marks[-1] <= watermark:
            mark = marks.pop()
            self._fire_event_timers(mark, mark, out)
        self._fire_event_timers(watermark, marks[-1] if marks else None, out)

    def _fire_event_timers(self, watermark: int, explicit: int | None, out: Emissions) -> None:
        """Advances the watermark and fires all timers up to it, also those that a firing timer registers (time-rules 3.3).

        A timer that an element registered in the past is due one millisecond after the watermark at that time (time-rules 3.4).
        `explicit` is the explicit watermark that makes the timers due. An element may make them due earlier, if a timer of an
        upstream operator emitted it while that watermark was applied. Other slots do not have this element, so timers must
        not show its watermark.
        """
        context = self._context
        base = context.watermark
        if watermark <= base:
            return
        queue = context.event_timers
        while queue.next_time <= watermark and (timer := queue.pop(watermark)) is not None:
            due = max(timer.time, base + 1 if timer.due is None else timer.due)
            context.watermark = due if explicit is None else explicit
            context.running_due = due
            out.fired.append((due - 1, PHASE_EVENT_TIMER, due, timer.hash, timer.time))
            self._fire(timer, 0, out)
            if timer.due is not None:  # registered by a timer that fired in this advance
                self._repeated_timers.add(timer)
                if watermark == MAX_WATERMARK:
                    self._count_renewal(timer)
        context.running_due = None
        context.watermark = watermark

    def _fire_processing_timers(self, advance: Advance, out: Emissions) -> None:
        """Fires the timers that are due at the start of the batch. Later registrations wait for the next one (time-rules 3.6)."""
        queue = self._context.processing_timers
        queue.begin(advance.now, advance.now - 1)
        last = MIN_WATERMARK
        while (timer := queue.pop(advance.now)) is not None:
            if timer.time <= last:
                self._repeated_timers.add(timer)
            last = timer.time
            out.fired.append((advance.before, PHASE_PROCESSING_TIMER, timer.time, timer.hash, NO_TIMESTAMP))
            self._fire(timer, 1, out)
        queue.stop_firing()

    def _fire(self, timer: Timer, domain: int, out: Emissions) -> None:
        """Calls `on_timer` for the timer that was last added to `out.fired`."""
        context = self._context
        context.fired = timer
        context.domain = domain
        context.cell.at = timer.key
        emitter = ~(len(out.fired) - 1)
        try:
            if self._guard is not None:
                self._fire_guarded(self._guard, timer, emitter, out)
                return
            try:
                emitted = self._operator.on_timer(timer, context)
                if emitted is not None:
                    append, out.maybe_tagged = out.appender(self._copies()), True
                    for result in emitted:
                        append(result)
                        out.emitters.append(emitter)
            except Exception as error:
                raise self.site.error(error, key=timer.key, timer=timer.time) from error
        finally:
            context.fired = None

    def _fire_guarded(self, guard: CallGuard, timer: Timer, emitter: int, out: Emissions) -> None:
        """A timer fires once. An operator that must still act after a failed one has `on_failed_timer`."""
        operator, context, site = self._operator, self._context, self.site
        if isinstance(operator, PartwiseOperator):
            guard.run_in_parts(operator, timer, emitter, site, out)
            return
        details: Callable[[], dict[str, Any]] = lambda: {"key": timer.key, "timer": timer.time}  # noqa: E731
        succeeded = guard.run(lambda: operator.on_timer(timer, context), emitter, site, details, out)
        on_failed_timer = getattr(operator, "on_failed_timer", None)
        if not succeeded and on_failed_timer is not None:
            guard.run(lambda: on_failed_timer(timer, context), emitter, site, details, out)

    def _count_renewal(self, timer: Timer) -> None:
        """Raises if the timers of a key renew themselves without end when the input has ended (time-rules 3.8)."""
        fired = self._renewals_at_end[timer.key] = self._renewals_at_end.get(timer.key, 0) + 1
        if fired > _MAX_RENEWALS_AT_END:
            raise TimeError(
                "TIMER_WITHOUT_END",
                f"At the end of input, operator '{self._name}' fired {fired} event timers of key {timer.key!r}, and each firing "
                "registers another timer. Stop registering timers when the current watermark is the maximum watermark.",
            )

    def _call_details(self, records: Records, index: int) -> dict[str, Any]:
        """Returns what an error of a call reports about its element."""
        details = {
            "element": records.values[index],
            "origin": (records.tags, index),
            "timestamp": int(records.timestamps[index]),
        }
        key = None if records.keys is None else records.keys[index]  # broadcast elements have none
        return details if key is None else {**details, "key": key}
