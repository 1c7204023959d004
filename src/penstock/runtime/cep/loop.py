"""The loop of patterns in event time, which processes one batch of one slot key by key.

All events that the watermarks of a batch pass are known when it begins, and no condition or function sees a watermark. So
events that the watermark passes in their own batch are never written to state, and the state of a key is read and written
once. Results get the order and position that timers would have given them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.cep.matcher import Event
from penstock.runtime.cep.operator import PatternOperator
from penstock.runtime.failure import PatternError
from penstock.runtime.loop.emissions import Emissions
from penstock.runtime.loop.records import PHASE_EVENT_TIMER, Records, column
from penstock.runtime.loop.slot import SlotLoop
from penstock.runtime.state.cell import NO_KEY


class PatternLoop(SlotLoop):
    """Processes the batches of a pattern operator in one slot."""

    _operator: PatternOperator

    def _process_elements(self, records: Records, marks: list[int], out: Emissions) -> None:
        """Groups events by key and handles late ones. Before a pattern update, all earlier events are processed."""
        self._waiting: dict[Any, list[Event]] = {}
        self._operator.begin_batch()
        if not records.values:
            return
        assert records.keys is not None
        inputs = np.zeros(0, np.int64) if records.inputs is None else column(records.inputs)
        updates = np.flatnonzero(inputs).tolist()
        late = records.timestamps <= records.effective
        late[updates] = False
        if late.any():
            self._handle_late(records, np.flatnonzero(late).tolist(), out)
        excluded = {*np.flatnonzero(late).tolist(), *updates}
        start = 0
        for index in updates:
            self._collect_events(records, range(start, index), excluded)
            self._advance_watermark(int(records.effective[index]), marks, out)
            self._apply_update(records, index)
            start = index + 1
        self._collect_events(records, range(start, len(records.values)), excluded)

    def _apply_update(self, records: Records, index: int) -> None:
        self._context.index = index
        self._context.cell.at = NO_KEY
        try:
            self._operator.apply_update(records.values[index], self._context)  # type: ignore[attr-defined]
        except Exception as error:
            raise self.site.error(error, **self._call_details(records, index)) from error

    def _handle_late(self, records: Records, indices: list[int], out: Emissions) -> None:
        for index in indices:
            try:
                emitted = self._operator.handle_late(records.values[index], int(records.timestamps[index]))
            except Exception as error:
                raise self.site.error(error, **self._call_details(records, index)) from error
            for value in emitted or ():
                out.values.append(value)
                out.emitters.append(index)

    def _collect_events(self, records: Records, indices: range, excluded: set[int]) -> None:
        operator, waiting = self._operator, self._waiting
        evaluate, make_event = operator.evaluate_conditions, operator.make_event
        ignored = 0 if operator.ignores_unmatched_events else None
        keys, stamps, values = records.keys, self._context.timestamps, records.values
        assert keys is not None
        for index in indices:
            value = values[index]
            fulfilled = evaluate(value)
            if fulfilled != ignored and index not in excluded:
                key = keys[index]
                if key in waiting:
                    waiting[key].append(make_event(stamps[index], value, fulfilled))
                else:
                    waiting[key] = [make_event(stamps[index], value, fulfilled)]

    def _advance_watermark(self, watermark: int, marks: list[int], out: Emissions) -> None:
        """Processes the events of every key that the watermark has passed."""
        context, timers, waiting = self._context, self._context.event_timers, self._waiting
        self._waiting = {}
        while (timer := timers.pop(watermark)) is not None:
            waiting.setdefault(timer.key, [])
        results: list[tuple[int, int, Any]] = []  # time, key hash, result
        before = context.watermark
        context.watermark = max(before, watermark)
        for key, events in waiting.items():
            self._process_key(key, events, watermark, results)
        if len(results) > 1:
            results.sort(key=_time_and_hash)
        keep, fired = out.values.append, out.fired
        for time, hashed, result in results:
            due = max(time, before + 1)
            out.emitters.append(~len(fired))
            fired.append((due - 1, PHASE_EVENT_TIMER, due, hashed, time))
            keep(result)

    def _process_key(self, key: Any, events: list[Event], watermark: int, results: list[tuple[int, int, Any]]) -> None:
        context, operator = self._context, self._operator
        context.cell.at = key
        emitted: list[tuple[Any, int]] = []
        try:
            state = operator.load()
            if state.timer is not None and state.timer <= watermark:
                state.timer = None
            state.queue += events
            operator.advance(state, watermark, lambda result, time: emitted.append((result, time)))
            operator.save(state)
        except Exception as error:
            event = operator.event_under_test() if isinstance(error, PatternError) else None
            details = {} if event is None else {"element": event.value, "timestamp": event.timestamp}
            raise self.site.error(error, key=key, **details) from error
        if emitted:
            hashed = context.backend.keys[key].hash
            results += [(time, hashed, result) for result, time in emitted]


def _time_and_hash(result: tuple[int, int, Any]) -> tuple[int, int]:
    return result[:2]
