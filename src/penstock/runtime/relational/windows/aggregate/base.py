"""What all aggregates per window share: keys, accumulators in state, and results with the properties of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.aggregates.accumulators import Accumulators
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import RowGroups, decode_values, encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import WindowAggregateSpec
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable
from penstock.runtime.relational.windows.assign import window_columns
from penstock.runtime.relational.windows.due import WindowClock
from penstock.runtime.relational.windows.grid import WindowGrid
from penstock.runtime.relational.windows.local_time import Millis
from penstock.runtime.relational.windows.partials import AccumulatorCodec, partials_by_slice
from penstock.runtime.relational.windows.slice_rows import SliceRows, rows_by_slice
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import TimestampType


class WindowAggregateBase(BaseOperator):
    """An operator that adds the rows of a batch, then emits the results of the windows that have ended.

    Windows in processing time end before the rows of a batch. Those with an end in the past, which other operators gave them,
    end after it.
    """

    def __init__(self, spec: WindowAggregateSpec) -> None:
        super().__init__()
        self.spec = spec
        self.window = spec.window
        self.grid = WindowGrid(spec.window)
        self.clock = WindowClock(spec.window.event_time, spec.window.zone)
        self._codec = AccumulatorCodec(spec)
        self.aggregates = self._codec.aggregates
        self.schema = self._codec.schema
        self.keys = tuple(range(len(spec.keys))) if spec.partials else spec.keys
        self.key_types = [spec.input_types[k] for k in spec.keys]
        self._time_is_instant = self._is_instant()

    def _is_instant(self) -> bool:
        """Returns whether the property "time" is TIMESTAMP_LTZ."""
        spec = self.spec
        if "time" in spec.properties and spec.output_types:
            type_ = spec.output_types[len(spec.keys) + len(spec.calls) + spec.properties.index("time")]
            return isinstance(type_, TimestampType) and type_.local
        return spec.window.zone != ""

    def open(self, context: OperatorContext) -> None:
        """Loads the functions of users. Windows create their tables besides."""
        self.aggregates.open()

    # -- the batch

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        out = Output()
        self.begin(advance)
        if not self.clock.event_time:
            self.fire(self.clock.end(advance), advance, out)
        for given in inputs:
            if len(given):
                self.add(given, advance, out)
        self.fire(self.clock.end(advance), advance, out)
        return out

    def begin(self, advance: Advance) -> None:
        """Is called at the start of each batch."""

    def add(self, given: Input, advance: Advance, out: Output) -> None:
        """Adds the rows of a batch."""
        raise NotImplementedError

    def fire(self, clock: int, advance: Advance, out: Output) -> None:
        """Emits the results of the windows that have ended at a clock and were not emitted yet."""
        raise NotImplementedError

    # -- keys and accumulators

    def by_slice(self, given: Input, advance: Advance) -> SliceRows:
        """Returns the rows of a batch, or the partial accumulators, that are not late, with their slices."""
        clocks = self.clock.at_rows(given.watermarks, advance)
        if self.spec.partials:
            rows, late = partials_by_slice(given.changes, len(self.keys), self.grid, self.clock, clocks, advance.now)
        else:
            rows, late = rows_by_slice(given.changes, self.window, self.grid, self.clock, clocks, advance.now)
        self.late_records += late
        return rows

    def keys_of(self, changes: Changes, first: NDArray[np.int64]) -> list[bytes]:
        """Returns the keys of some rows."""
        at = pa.array(first)
        return encode_keys([changes.columns[k].take(at) for k in self.keys], self.key_types, len(first))

    def groups_of(self, changes: Changes, *times: Millis) -> RowGroups:
        """Groups rows by times (ends of slices, or starts and ends of windows) and keys."""
        columns = [pa.array(t) for t in times] + [changes.columns[k] for k in self.keys]
        return group_rows(columns, changes.length)

    def add_to(
        self, table: TimeOrderedTable, entries: Sequence[bytes], codes: NDArray[np.int64], rows: Changes
    ) -> None:
        """Adds rows, or partial accumulators, to the accumulators of entries of a table."""
        groups = self.load([table.get(entry) for entry in entries])
        if self.spec.partials:
            self.aggregates.merge(groups, codes, self.load(rows.columns[-1].to_pylist()))
        else:
            self.aggregates.accumulate(groups, codes, rows)
        for entry, value in zip(entries, self.dump(groups), strict=True):
            table.put(entry, value)

    def load(self, values: Sequence[bytes | None]) -> Accumulators:
        """Returns accumulators from their bytes."""
        return self._codec.load(values)

    def dump(self, groups: Accumulators) -> list[bytes]:
        """Returns the bytes of accumulators."""
        return self._codec.dump(groups)

    # -- results

    def emit(
        self, keys: Sequence[bytes], starts: Millis, ends: Millis, groups: Accumulators, advance: Advance, out: Output
    ) -> None:
        """Emits the results of windows, in their order. Windows without rows have no result."""
        changes, kept = self.results(keys, starts, ends, groups, advance)
        marks = self.clock.marks(ends, advance)
        out.add(changes, marks if kept is None else marks[kept])

    def results(
        self, keys: Sequence[bytes], starts: Millis, ends: Millis, groups: Accumulators, advance: Advance
    ) -> tuple[Changes, NDArray[np.int64] | None]:
        """Returns the results of windows as insertions, and the positions of the windows that have rows (None: all)."""
        results = self.aggregates.results(groups)
        kept = None
        if not self.spec.insert_only:
            counts = np.asarray(results.pop())
            if (counts <= 0).any():
                kept = np.flatnonzero(counts > 0)
                at = pa.array(kept)
                keys = [keys[i] for i in kept.tolist()]
                starts, ends, results = starts[kept], ends[kept], [column.take(at) for column in results]
        columns = [*decode_values(keys, self.key_types), *results, *self.properties(starts, ends, advance)]
        return Changes(columns, len(keys)), kept

    def properties(self, starts: Millis, ends: Millis, advance: Advance) -> list[pa.Array]:
        """Returns the properties of windows as columns."""
        columns: list[Any] = []
        position = len(self.spec.keys) + len(self.spec.calls)
        for number, name in enumerate(self.spec.properties):
            if name == "proctime":
                types = self.spec.output_types
                type_ = arrow_type(types[position + number]) if types else pa.timestamp("ms", "UTC")
                columns.append(
                    pa.array(np.full(len(ends), advance.now, np.int64)).cast(pa.timestamp("ms", type_.tz)).cast(type_)
                )
            else:
                columns += window_columns(starts, ends, self.window.zone, (name,), self._time_is_instant)
        return columns
