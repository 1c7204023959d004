"""Tumbling windows by processing time: elements come combined by key, and the batch's clock gives them their window."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operator import OperatorContext
from penstock.runtime.slot import Advance
from penstock.runtime.vector.arrived import Arrived
from penstock.runtime.vector.emissions import Firing, VectorEmissions
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.measures import Groups
from penstock.runtime.vector.time_table import TimeTable
from penstock.runtime.vector.windows import VectorWindows


class ClockWindows(VectorWindows):
    """Windows that fire when the clock passes their end, at the start of a batch."""

    def __init__(self, grid: Grid, aggregate: Any, function: Any = None) -> None:
        super().__init__(aggregate, function)
        self._grid = grid
        self._table: TimeTable

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = TimeTable(context.backend, "__windows__", self._keys, self.measures)

    def wake(self) -> int | None:
        first = self._table.first()
        return None if first is None else first + self._grid.size - 1

    def _by_clock(self, advance: Advance, out: VectorEmissions) -> None:
        size = self._grid.size
        for start in self._table.times(advance.now - size + 1):
            groups = self._table.all_of(start)
            assert groups is not None
            self._fire(Firing.of_window(groups, start, start + size, start + size - 1, advance.before), advance, out)
            self._table.delete_all(start)

    def _by_watermark(self, arrived: Arrived, advance: Advance, out: VectorEmissions) -> None:
        if not len(arrived):
            return
        start = advance.now - (advance.now - self._grid.offset) % self._grid.size
        stored = self._table.some_of(start, self._keys.different(arrived.codes))
        came = Groups(arrived.codes, arrived.counts, arrived.columns)
        self._table.write(start, self._by_key(came if stored is None else Groups.join([stored, came])))
