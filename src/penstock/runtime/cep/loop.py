"""The loop of patterns in event time: a whole batch of one slot, key by key.

All that a batch's watermarks will pass is known when it begins, and no condition or function sees a watermark. So events
that the watermark passes in their own batch never wait in state, and a key is read and written once. Results are put in the
order, and get the place, that timers would have given them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.cep.matcher import Event
from penstock.runtime.cep.operator import PatternOperator
from penstock.runtime.records import PHASE_EVENT_TIMER, Records, column
from penstock.runtime.slot import Emissions, SlotLoop
from penstock.runtime.state.cell import NO_KEY


class PatternLoop(SlotLoop):
    """Runs the batches of patterns in one slot."""

    _operator: PatternOperator

    def _elements(self, records: Records, marks: list[int], out: Emissions) -> None:
        """Puts events to their keys, late ones aside. Before patterns change, all that came before is shown to them."""
        self._coming: dict[Any, list[Event]] = {}
        self._operator.begin_batch()
        if not records.values:
            return
        assert records.keys is not None
        inputs = np.zeros(0, np.int64) if records.inputs is None else column(records.inputs)
        changes = np.flatnonzero(inputs).tolist()
        late = records.timestamps <= records.effective
        late[changes] = False
        if late.any():
            self._late(records, np.flatnonzero(late).tolist(), out)
        left_out = {*np.flatnonzero(late).tolist(), *changes}
        start = 0
        for index in changes:
            self._collect(records, range(start, index), left_out)
            self._advance(int(records.effective[index]), marks, out)
            self._change(records, index)
            start = index + 1
        self._collect(records, range(start, len(records.values)), left_out)

    def _change(self, records: Records, index: int) -> None:
        self._context.index = index
        self._context.cell.at = NO_KEY
        try:
            self._operator.change(records.values[index], self._context)  # type: ignore[attr-defined]
        except Exception as error:
            raise self.site.error(error, **self._known(records, index)) from error

    def _late(self, records: Records, at: list[int], out: Emissions) -> None:
        for index in at:
            try:
                emitted = self._operator.late(records.values[index], int(records.timestamps[index]))
            except Exception as error:
                raise self.site.error(error, **self._known(records, index)) from error
            for value in emitted or ():
                out.values.append(value)
                out.emitters.append(index)

    def _collect(self, records: Records, at: range, left_out: set[int]) -> None:
        operator, coming = self._operator, self._coming
        conditions_of, made, dull = operator.conditions_of, operator.event, 0 if operator.quiet else None
        keys, stamps, values = records.keys, self._context.timestamps, records.values
        assert keys is not None
        for index in at:
            value = values[index]
            fulfilled = conditions_of(value)
            if fulfilled != dull and index not in left_out:
                key = keys[index]
                if key in coming:
                    coming[key].append(made(stamps[index], value, fulfilled))
                else:
                    coming[key] = [made(stamps[index], value, fulfilled)]

    def _advance(self, watermark: int, marks: list[int], out: Emissions) -> None:
        """Shows every key's patterns what the watermark has passed."""
        context, timers, coming = self._context, self._context.event_timers, self._coming
        self._coming = {}
        while (timer := timers.pop(watermark)) is not None:
            coming.setdefault(timer.key, [])
        results: list[tuple[int, int, Any]] = []  # time, key hash, result
        before = context.watermark
        context.watermark = max(before, watermark)
        for key, events in coming.items():
            self._run_key(key, events, watermark, results)
        if len(results) > 1:
            results.sort(key=_place)
        keep, fired = self._keep(out), out.fired
        for time, hashed, result in results:
            due = max(time, before + 1)
            out.emitters.append(~len(fired))
            fired.append((due - 1, PHASE_EVENT_TIMER, due, hashed, time))
            keep(result)

    def _run_key(self, key: Any, events: list[Event], watermark: int, results: list[tuple[int, int, Any]]) -> None:
        context, operator = self._context, self._operator
        context.cell.at = key
        found: list[tuple[Any, int]] = []
        try:
            state = operator.load()
            if state.timer is not None and state.timer <= watermark:
                state.timer = None
            state.queue += events
            operator.advance(state, watermark, lambda result, time: found.append((result, time)))
            operator.save(state)
        except Exception as error:
            event = operator.asked_about() if hasattr(error, "penstock_pattern") else None
            known = {} if event is None else {"element": event.value, "timestamp": event.timestamp}
            raise self.site.error(error, key=key, **known) from error
        if found:
            hashed = context.backend.keys[key].hash
            results += [(time, hashed, result) for result, time in found]


def _place(result: tuple[int, int, Any]) -> tuple[int, int]:
    return result[:2]
