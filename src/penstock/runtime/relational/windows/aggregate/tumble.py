"""Aggregates of windows that share no rows: TUMBLE, and windows that the input has as columns."""

from __future__ import annotations

import numpy as np

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.operators.operator import Input, Output
from penstock.runtime.relational.state.time_ordered_table import TimeOrderedTable
from penstock.runtime.relational.windows.aggregate.base import WindowAggregateBase
from penstock.runtime.relational.windows.assign import column_millis

_SIGN = 1 << 63


class TumbleAggregateOperator(WindowAggregateBase):
    """Keeps the accumulators of each window and key until the window ends. The start of a given window follows its key."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = TimeOrderedTable(context, "windows", self.schema)

    def wake(self) -> int | None:
        return self.clock.wake(self._table)

    def next_event_time(self, watermark: int) -> int | None:
        return self.clock.next_event_time(self._table, watermark)

    def add(self, given: Input, advance: Advance, out: Output) -> None:
        if self.spec.end_column >= 0:
            self._add_given(given, advance)
            return
        rows = self.by_slice(given, advance)
        if len(rows) == 0:
            return
        groups = self.groups_of(rows.changes, rows.slices)
        suffixes = self._table.suffixes(self.keys_of(rows.changes, groups.first))
        ends = rows.slices[groups.first].tolist()
        entries = [self._table.entry(end, suffix) for end, suffix in zip(ends, suffixes, strict=True)]
        self.add_to(self._table, entries, groups.codes, rows.changes)

    def _add_given(self, given: Input, advance: Advance) -> None:
        changes = given.changes
        rows, ends = column_millis(changes.columns[self.spec.end_column])
        late = self.clock.due(ends) <= self.clock.at_rows(given.watermarks, advance)[rows]
        self.late_records += int(late.sum())
        rows, ends = rows[~late], ends[~late]
        if len(rows) == 0:
            return
        changes = changes if len(rows) == changes.length else changes.take(rows)
        starts = column_millis(changes.columns[self.spec.start_column])[1]
        groups = self.groups_of(changes, starts, ends)
        suffixes = self._table.suffixes(self.keys_of(changes, groups.first))
        bounds = zip(starts[groups.first].tolist(), ends[groups.first].tolist(), suffixes, strict=True)
        entries = [self._table.entry(end, suffix, (start + _SIGN).to_bytes(8, "big")) for start, end, suffix in bounds]
        self.add_to(self._table, entries, groups.codes, changes)

    def fire(self, clock: int, advance: Advance, out: Output) -> None:
        found = self.clock.take(self._table, clock)
        if not found:
            return
        ends = np.array([entry.time for entry in found], np.int64)
        if self.spec.end_column >= 0:
            starts = np.array([int.from_bytes(entry.sub_key, "big") - _SIGN for entry in found], np.int64)
        else:
            starts = self.grid.window_starts(ends)
        groups = self.load([entry.value for entry in found])
        self.emit([entry.key for entry in found], starts, ends, groups, advance, out)
