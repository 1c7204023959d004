"""Partial accumulators of slices: rows of a chunk are added up before the exchange, so that fewer rows travel.

A partial has the accumulators of the rows of one slice and key of which the same windows had ended when they arrived. So nothing
can happen between its rows, and the operator after the exchange treats it like one row. Only for aggregates whose accumulators can
be merged in any order, and for windows on a grid that the operator assigns.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa

from penstock.runtime.relational.aggregates.accumulators import Accumulators, AggregateSet
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import group_rows
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.operators import WindowAggregateSpec
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.runtime.relational.windows.assign import row_times
from penstock.runtime.relational.windows.due import WindowClock
from penstock.runtime.relational.windows.grid import WindowGrid
from penstock.runtime.relational.windows.local_time import Millis, is_shifted, local_times
from penstock.runtime.relational.windows.slice_rows import SliceRows, on_time_rows
from penstock.time import MIN_WATERMARK
from penstock.types.logical.kinds import (
    BIGINT,
    BinaryType,
    BooleanType,
    CharType,
    FloatType,
    IntegerType,
    LogicalType,
    TimestampType,
)

_encode = msgspec.msgpack.Encoder().encode
_PLAIN = (
    IntegerType,
    FloatType,
    CharType,
    BooleanType,
)  # accumulators of them are encoded as they are, which is faster
_HIDDEN_COUNT = AggregateCall("COUNT", (), (), BIGINT, name="COUNT(*)")


class AccumulatorCodec:
    """The accumulators of a window aggregate, and their bytes. With a changelog, a hidden count shows which windows have rows."""

    def __init__(self, spec: WindowAggregateSpec) -> None:
        calls = spec.calls if spec.insert_only else (*spec.calls, _HIDDEN_COUNT)
        self.aggregates = AggregateSet(calls, spec.input_types, spec.insert_only)
        self.schema = "|".join([call.name or call.function for call in calls])
        self._plain = all(isinstance(t, _PLAIN) for call in calls for t in call.argument_types)

    def dump(self, groups: Accumulators) -> list[bytes]:
        """Returns the bytes of accumulators."""
        values = self.aggregates.dump(groups)
        if self._plain:
            try:
                return list(map(_encode, values))
            except OverflowError:  # integers of more than 64 bits
                pass
        return list(map(pack, values))

    def load(self, values: Sequence[bytes | None]) -> Accumulators:
        """Returns accumulators from their bytes."""
        return self.aggregates.load([None if value is None else unpack(value) for value in values])


class SlicePartials:
    """Turns rows into partials: the key columns, the end of the slice, how many rows there are, and the accumulators.

    In processing time the slice is NULL, because only the operator knows its clock.
    """

    def __init__(self, spec: WindowAggregateSpec) -> None:
        self._spec = spec
        self._codec = AccumulatorCodec(spec)
        self._grid = WindowGrid(spec.window)
        self._clock = WindowClock(spec.window.event_time, spec.window.zone)

    def output_types(self) -> tuple[LogicalType, ...]:
        """Returns the types of the columns of partials."""
        keys = (self._spec.input_types[k] for k in self._spec.keys)
        return (*keys, TimestampType(3), BIGINT, BinaryType())

    def of(self, changes: Changes, watermarks: Millis) -> tuple[Changes, Millis]:
        """Returns the partials of rows and the watermark of each, given the watermark before each row in the chunk."""
        window = self._spec.window
        if window.event_time:
            rows, times = row_times(changes, window, 0)
            changes = changes if len(rows) == changes.length else changes.take(rows)
            slices = self._grid.slice_ends(local_times(times, window.zone))
            marks = self._last_passed(slices, watermarks[rows])
        else:
            slices = np.zeros(changes.length, np.int64)
            marks = np.full(changes.length, MIN_WATERMARK, np.int64)
        keys = [changes.columns[k] for k in self._spec.keys]
        groups = group_rows([pa.array(slices), pa.array(marks), *keys], changes.length)
        state = self._codec.aggregates.create(len(groups))
        self._codec.aggregates.accumulate(state, groups.codes, changes)
        first = pa.array(groups.first)
        ends = pa.array(slices).take(first).cast(pa.timestamp("ms"))
        columns = [
            *(key.take(first) for key in keys),
            ends if window.event_time else pa.nulls(len(groups), pa.timestamp("ms")),
            pa.array(np.bincount(groups.codes, minlength=len(groups)).astype(np.int64)),
            pa.array(self._codec.dump(state), pa.binary()),
        ]
        order = np.argsort(marks[groups.first], kind="stable")  # watermarks must ascend
        return Changes(columns, len(groups)).take(order), marks[groups.first][order]

    def _last_passed(self, slices: Millis, clocks: Millis) -> Millis:
        """Returns for each row the clock at which the last of its windows ended that had ended when it arrived; else the lowest."""
        grid = self._grid
        first, last = grid.first_window_ends(slices), grid.last_window_ends(slices)
        marks = np.full(len(slices), MIN_WATERMARK, np.int64)
        if not is_shifted(self._spec.window.zone):
            passed = first - 1 <= clocks
            near = np.where(passed, clocks, first)  # the lowest watermark would overflow
            ends = np.minimum(first + (near + 1 - first) // grid.step * grid.step, last)
            return np.where(passed, ends - 1, marks)
        for number in range(grid.size // grid.step + 1):
            ends = first + number * grid.step
            due = self._clock.due(ends)
            marks = np.where((ends <= last) & (due <= clocks), due, marks)
        return marks


def partials_by_slice(
    changes: Changes, keys: int, grid: WindowGrid, clock: WindowClock, clocks: Millis, now: int
) -> tuple[SliceRows, int]:
    """Returns partials by slice, without late ones, and the number of late rows. keys: how many key columns there are."""
    if clock.event_time:
        slices = np.asarray(changes.columns[keys].cast(pa.int64()))
    else:
        here = local_times(np.array([now], np.int64), clock.zone)
        slices = np.repeat(grid.slice_ends(here), changes.length)
    found, late = on_time_rows(changes, np.arange(changes.length), slices, clocks, grid, clock)
    return found, int(np.asarray(changes.columns[keys + 1])[late].sum())
