"""What an operator emits in a batch, and how its clocks move in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.runtime.loop.element_copy import copy_element
from penstock.runtime.loop.operator import TimestampedResult
from penstock.runtime.loop.records import PHASE_ELEMENT, PHASE_PROCESSING_TIMER, Column, Records, Tags, column
from penstock.runtime.state.keys import KeyTable


@dataclass(slots=True)
class Advance:
    """How the clocks of an operator move in a batch; the same in all slots."""

    now: int  # processing time
    before: int  # watermark at the start of the batch
    end: int  # watermark at the end of the batch
    marks: list[int]  # explicit watermarks in between, ascending
    batch: int


@dataclass(slots=True)
class Emissions:
    """The values that an operator emitted in a batch.

    `emitters` holds the index of the element that each value came from, or ~i for the i-th fired timer.
    """

    records: Records
    values: list[Any] = field(default_factory=list)
    emitters: list[int] = field(default_factory=list)
    # Fired timers: watermark, phase, due time, key hash, timestamp.
    fired: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    key_table: KeyTable | None = None  # of a keyed operator
    slot: int = 0
    broadcast_inputs: tuple[int, ...] = ()
    own_timestamps: dict[int, int] = field(default_factory=dict)  # by index, of values emitted as TimestampedResult
    maybe_tagged: bool = True  # False if it is known that no value is for a side output

    def appender(self, copies: bool) -> Callable[[Any], None]:
        """Returns the function that adds an emitted value.

        With `copies`, mutable values are copied, because the function may change them later in the batch, or they may be part of
        state.
        """
        append = self.values.append
        return (lambda value: append(copy_element(value))) if copies else append

    def unwrap_timestamps(self) -> Emissions:
        """Replaces every TimestampedResult by its value and records its timestamp."""
        for index, value in enumerate(self.values):
            if value.__class__ is TimestampedResult:
                self.values[index], self.own_timestamps[index] = value
        return self

    def timestamps(self) -> Column:
        timestamps = self._column(self.records.timestamps, 4)
        if self.own_timestamps:
            timestamps[list(self.own_timestamps)] = list(self.own_timestamps.values())
        return timestamps

    def tags(self) -> Tags:
        """Positions of the emitted values in the order of the next operator."""
        old = self.records.tags
        n = len(self.emitters)
        after_processing_timer = old.phase == PHASE_PROCESSING_TIMER
        phase = np.where(after_processing_timer, PHASE_ELEMENT, old.phase)
        origin = np.where(after_processing_timer, -1, old.origin)
        position = np.where(after_processing_timer, old.origin, old.position)
        return Tags(
            self._column(self.records.effective, 0),
            self._column(phase, 1),
            self._column(origin, 2),
            self._column(position, None),
            self._column(self.emitter_hashes(), 3),
            np.arange(n, dtype=np.int64),
        )

    def emitter_hashes(self) -> Column:
        """A number per element for the emitter of its results: the hash of its key, or the emitter of the element itself.

        All slots process the same broadcast elements, so their slot is part of the number, counted from 1 because 0 is a record
        of a source. Otherwise the order of results from different slots would depend on which one arrives first.
        """
        keys, inputs, key_table = self.records.keys, self.records.inputs, self.key_table
        if key_table is None or keys is None:
            hashes = self.records.tags.emitter
        else:
            hashes = column([0 if k is None else key_table[k].hash for k in keys])
        if not self.broadcast_inputs or inputs is None:
            return hashes
        return np.where(np.isin(inputs, self.broadcast_inputs), hashes ^ (self.slot + 1), hashes)

    def _column(self, of_elements: Column, timer_field: int | None) -> Column:
        """Returns a column of the emitted values, from their elements or from a field of their timers (None: zero)."""
        emitters = column(self.emitters)
        if not self.fired:
            return of_elements[emitters]
        of_timers = column([0 if timer_field is None else f[timer_field] for f in self.fired])
        if len(of_elements) == 0:
            return of_timers[~emitters]
        return np.where(emitters >= 0, of_elements[np.maximum(emitters, 0)], of_timers[np.maximum(~emitters, 0)])
