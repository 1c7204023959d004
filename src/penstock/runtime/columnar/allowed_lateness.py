"""Tumbling windows by event time that take late elements for a while (time.md 5.8).

Elements that come in time are folded at once. Those that come after their window has fired, and before it is dropped, fire
it again, each by itself and in their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.functions import TimeDomain
from penstock.runtime.lateness import cleanup_time
from penstock.runtime.operator import OperatorContext
from penstock.runtime.records import Column, column, order_of
from penstock.runtime.slot import Advance
from penstock.runtime.vector.arrived import Arrived
from penstock.runtime.vector.emissions import Firing, VectorEmissions
from penstock.runtime.vector.fold import as_list, narrow
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.measures import Groups
from penstock.runtime.vector.time_table import TimeTable
from penstock.runtime.vector.windows import VectorWindows
from penstock.windows import TimeWindow


class LateWindows(VectorWindows):
    """Tumbling windows with an allowed lateness, a late output, or both."""

    def __init__(self, grid: Grid, lateness: int, late_tag: Any, aggregate: Any, function: Any = None) -> None:
        super().__init__(aggregate, function)
        self._grid = grid
        self._lateness = min(lateness, 2**62)  # no sum of times may overflow
        self._late_tag = late_tag
        self._table: TimeTable

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = TimeTable(context.backend, "__windows__", self._keys, self.measures)

    def _last(self, start: int) -> int:
        return start + self._grid.size - 1

    def _cleanup(self, start: int) -> int:
        return cleanup_time(self._last(start), self._lateness)

    def _by_watermark(self, arrived: Arrived, advance: Advance, out: VectorEmissions) -> None:
        starts = self._grid.slices(arrived.times)
        last = starts + (self._grid.size - 1)
        in_time = arrived.effective < last
        refused = arrived.effective >= last + self._lateness
        self._refuse(arrived.take(np.flatnonzero(refused)), out)
        for start in self._grid.different(starts[in_time]):
            some = arrived.take(np.flatnonzero((starts == start) & in_time))
            self._add(start, self._by_key(Groups(some.codes, some.counts, some.columns)))
        self._fire_ended(advance, out)
        late = np.flatnonzero(~in_time & ~refused)
        if len(late):
            self._fire_again(arrived.take(late), out)
        if advance.end > advance.before:
            for start in self._table.times(advance.end):
                if self._cleanup(start) <= advance.end:
                    groups = self._table.all_of(start)
                    assert groups is not None
                    self._dropped(groups, (start, self._last(start) + 1), self._cleanup(start))
                    self._table.delete_all(start)

    def _refuse(self, late: Arrived, out: VectorEmissions) -> None:
        """Elements that come too late go to the late output, or are counted."""
        if not len(late):
            return
        if self._late_tag is None:
            self.late_records += int(late.counts.sum())
            return
        assert late.values is not None
        told = [(self._late_tag, value) for value in late.values]
        out.add_of_elements(late.tags(), late.effective, self._keys.hashes(late.codes), told, late.times)

    def _add(self, start: int, came: Groups) -> None:
        stored = self._table.some_of(start, came.codes)
        self._table.write(start, came if stored is None else self._by_key(Groups.join([stored, came])))

    def _fire_ended(self, advance: Advance, out: VectorEmissions) -> None:
        """Windows whose end the watermark passes; with a lateness they live on."""
        for start in self._table.times(advance.end) if advance.end > advance.before else []:
            if advance.before < self._last(start) <= advance.end:
                groups = self._table.all_of(start)
                assert groups is not None
                firing = Firing.of_window(groups, start, self._last(start) + 1, self._last(start))
                firing.closing = False
                self._fire(firing, advance, out)

    def _fire_again(self, late: Arrived, out: VectorEmissions) -> None:
        """Late elements that are still taken, one after the other: each shows its window as it is with it."""
        order = order_of(late.effective, late.tags())
        if order is not None:
            late = late.take(order)
        starts = self._grid.slices(late.times)
        shown = self._with_each(late, starts)
        results = self.measures.results(
            [row[0] for row in shown], [list(c) for c in zip(*(r[1:] for r in shown), strict=True)]
        )
        values: list[Any] = []
        emitters: list[int] = []
        for at, (start, result) in enumerate(zip(starts.tolist(), results, strict=True)):
            emitted = self._results(late, at, start, result)
            values += emitted
            emitters += [at] * len(emitted)
        some = late.take(column(emitters))
        stamps = self._grid.slices(some.times) + (self._grid.size - 1)
        out.add_of_elements(some.tags(), some.effective, self._keys.hashes(some.codes), values, stamps)

    def _with_each(self, late: Arrived, starts: Column) -> list[list[Any]]:
        """The count and the measures of each element's window when the element has been added; the last ones are kept."""
        held = self._held(late, starts)
        merging = self.measures.merging()
        shown = []
        rows = zip(late.counts.tolist(), *map(as_list, late.columns), strict=True)
        for start, code, row in zip(starts.tolist(), late.codes.tolist(), rows, strict=True):
            before = held.get((start, code))
            if before is None:
                now = list(row)
            else:
                now = [before[0] + row[0], *(m(a, b) for m, a, b in zip(merging, before[1:], row[1:], strict=True))]
            held[start, code] = now
            shown.append(now)
        for start in self._grid.different(starts):
            mine = [(code, row) for (at, code), row in held.items() if at == start]
            counts, *columns = zip(*(row for _, row in mine), strict=True)
            codes = column([code for code, _ in mine])
            self._table.write(start, Groups(codes, column(counts), [narrow(list(c)) for c in columns]))
        return shown

    def _held(self, late: Arrived, starts: Column) -> dict[tuple[int, int], list[Any]]:
        """What is kept of the windows that late elements belong to."""
        held: dict[tuple[int, int], list[Any]] = {}
        for start in self._grid.different(starts):
            stored = self._table.some_of(start, self._keys.different(late.codes[starts == start]))
            if stored is not None:
                rows = zip(stored.counts.tolist(), *map(as_list, stored.columns), strict=True)
                held |= {(start, c): list(r) for c, r in zip(stored.codes.tolist(), rows, strict=True)}
        return held

    def _results(self, late: Arrived, at: int, start: int, result: Any) -> list[Any]:
        if self._function is None:
            return [result]
        context, bounds = self._context, (start, self._last(start) + 1)
        key = self._keys.keys[int(late.codes[at])]
        context.cell.at = key
        context.watermark = int(late.effective[at])
        context.domain = TimeDomain.EVENT_TIME
        try:
            return self._evaluate(key, bounds, TimeWindow(*bounds), [result])
        except Exception as error:
            raise self._site.error(error, key=key, origin=(late.tags(), at), timestamp=int(late.times[at])) from error
