"""Tumbling event-time windows with allowed lateness (time-rules 5.8).

Elements that are on time are folded in one step. An element that arrives after its window has fired and before the window is
dropped fires it again. Such elements are processed one by one, in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.functions import TimeDomain
from penstock.runtime.columnar.accumulators import Groups
from penstock.runtime.columnar.emissions import ColumnarEmissions, Firing
from penstock.runtime.columnar.fold import as_list, pack_values
from penstock.runtime.columnar.input_columns import InputColumns
from penstock.runtime.columnar.operator import GridWindowOperator
from penstock.runtime.columnar.slices import Grid
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.lateness import cleanup_time
from penstock.runtime.loop.records import Column, column, sort_order
from penstock.windows import TimeWindow


class AllowedLatenessWindowOperator(GridWindowOperator):
    """Tumbling windows with allowed lateness, a side output of late elements, or both."""

    def __init__(self, grid: Grid, lateness: int, late_tag: Any, aggregate: Any, function: Any = None) -> None:
        super().__init__(grid, aggregate, function)
        self._lateness = min(lateness, 2**62)  # no sum of times may overflow
        self._late_tag = late_tag

    def _cleanup_time(self, start: int) -> int:
        return cleanup_time(self._max_timestamp(start), self._lateness)

    def _process_elements(self, columns: InputColumns, advance: Advance, out: ColumnarEmissions) -> None:
        starts = self._grid.slice_starts(columns.times)
        last = starts + (self._grid.size - 1)
        on_time = columns.effective < last
        too_late = columns.effective >= last + self._lateness
        self._handle_too_late(columns.take(np.flatnonzero(too_late)), out)
        for start in self._grid.distinct(starts[on_time]):
            added = columns.take(np.flatnonzero((starts == start) & on_time))
            self._add_groups(start, self._fold_by_key(added.groups()))
        self._fire_ended_windows(advance, out)
        late = np.flatnonzero(~on_time & ~too_late)
        if len(late):
            self._fire_late_elements(columns.take(late), out)
        if advance.end > advance.before:
            for start in self._table.times_until(advance.end):
                if self._cleanup_time(start) <= advance.end:
                    groups = self._table.read_all(start)
                    assert groups is not None
                    self._clear_windows(groups, (start, self._max_timestamp(start) + 1), self._cleanup_time(start))
                    self._table.delete_all(start)

    def _handle_too_late(self, late: InputColumns, out: ColumnarEmissions) -> None:
        """Emits elements that are later than the allowed lateness to the side output, or counts them."""
        if not len(late):
            return
        if self._late_tag is None:
            self.late_records += int(late.counts.sum())
            return
        assert late.values is not None
        tagged = [(self._late_tag, value) for value in late.values]
        out.add_from_elements(late.tags(), late.effective, self._keys.hashes(late.codes), tagged, late.times)

    def _fire_ended_windows(self, advance: Advance, out: ColumnarEmissions) -> None:
        """Fires the windows whose end the watermark passes. They stay in state until their cleanup time."""
        for start in self._table.times_until(advance.end) if advance.end > advance.before else []:
            if advance.before < self._max_timestamp(start) <= advance.end:
                groups = self._table.read_all(start)
                assert groups is not None
                firing = Firing.of_window(groups, start, self._max_timestamp(start) + 1, self._max_timestamp(start))
                firing.closing = False
                self._fire(firing, advance, out)

    def _fire_late_elements(self, late: InputColumns, out: ColumnarEmissions) -> None:
        """Adds accepted late elements in order. Each emits the updated result of its window."""
        order = sort_order(late.effective, late.tags())
        if order is not None:
            late = late.take(order)
        starts = self._grid.slice_starts(late.times)
        updated = self._add_one_by_one(late, starts)
        results = self.accumulators.results(
            [row[0] for row in updated], [list(c) for c in zip(*(r[1:] for r in updated), strict=True)]
        )
        values: list[Any] = []
        emitters: list[int] = []
        for index, (start, result) in enumerate(zip(starts.tolist(), results, strict=True)):
            emitted = self._evaluate_late(late, index, start, result)
            values += emitted
            emitters += [index] * len(emitted)
        emitting = late.take(column(emitters))
        stamps = self._grid.slice_starts(emitting.times) + (self._grid.size - 1)
        out.add_from_elements(emitting.tags(), emitting.effective, self._keys.hashes(emitting.codes), values, stamps)

    def _add_one_by_one(self, late: InputColumns, starts: Column) -> list[list[Any]]:
        """Returns the count and accumulators of the window after each element, and writes the last ones."""
        rows_by_window = self._read_windows(late, starts)
        merge_functions = self.accumulators.merge_functions()
        updated = []
        rows = zip(late.counts.tolist(), *map(as_list, late.columns), strict=True)
        for start, code, row in zip(starts.tolist(), late.codes.tolist(), rows, strict=True):
            before = rows_by_window.get((start, code))
            if before is None:
                after = list(row)
            else:
                merged = (merge(a, b) for merge, a, b in zip(merge_functions, before[1:], row[1:], strict=True))
                after = [before[0] + row[0], *merged]
            rows_by_window[start, code] = after
            updated.append(after)
        for start in self._grid.distinct(starts):
            written = [(code, row) for (window, code), row in rows_by_window.items() if window == start]
            counts, *columns = zip(*(row for _, row in written), strict=True)
            codes = column([code for code, _ in written])
            self._table.write(start, Groups(codes, column(counts), [pack_values(list(c)) for c in columns]))
        return updated

    def _read_windows(self, late: InputColumns, starts: Column) -> dict[tuple[int, int], list[Any]]:
        """Returns the stored rows of the windows that late elements belong to, by window start and key code."""
        rows_by_window: dict[tuple[int, int], list[Any]] = {}
        for start in self._grid.distinct(starts):
            stored = self._table.read_keys(start, self._keys.distinct(late.codes[starts == start]))
            if stored is not None:
                rows = zip(stored.counts.tolist(), *map(as_list, stored.columns), strict=True)
                rows_by_window |= {(start, c): list(r) for c, r in zip(stored.codes.tolist(), rows, strict=True)}
        return rows_by_window

    def _evaluate_late(self, late: InputColumns, index: int, start: int, result: Any) -> list[Any]:
        if self._function is None:
            return [result]
        context, bounds = self._context, (start, self._max_timestamp(start) + 1)
        key = self._keys.keys[int(late.codes[index])]
        context.cell.at = key
        context.watermark = int(late.effective[index])
        context.domain = TimeDomain.EVENT_TIME
        try:
            return self._evaluate(key, bounds, TimeWindow(*bounds), [result])
        except Exception as error:
            origin, timestamp = (late.tags(), index), int(late.times[index])
            raise self._site.error(error, key=key, origin=origin, timestamp=timestamp) from error
