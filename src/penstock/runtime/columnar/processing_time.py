"""Tumbling processing-time windows. Elements arrive combined by key, and the batch clock determines their window."""

from __future__ import annotations

from penstock.runtime.columnar.accumulators import Groups
from penstock.runtime.columnar.emissions import ColumnarEmissions, Firing
from penstock.runtime.columnar.input_columns import InputColumns
from penstock.runtime.columnar.operator import GridWindowOperator
from penstock.runtime.loop.emissions import Advance


class ProcessingTimeWindowOperator(GridWindowOperator):
    """Windows that fire at the start of a batch when processing time has passed their end."""

    def wake(self) -> int | None:
        first = self._table.first_time()
        return None if first is None else self._max_timestamp(first)

    def next_event_time(self, watermark: int) -> int | None:
        return None

    def _advance_processing_time(self, advance: Advance, out: ColumnarEmissions) -> None:
        size = self._grid.size
        for start in self._table.times_until(advance.now - size + 1):
            groups = self._table.read_all(start)
            assert groups is not None
            self._fire(Firing.of_window(groups, start, start + size, start + size - 1, advance.before), advance, out)
            self._table.delete_all(start)

    def _process_elements(self, columns: InputColumns, advance: Advance, out: ColumnarEmissions) -> None:
        if not len(columns):
            return
        start = advance.now - (advance.now - self._grid.offset) % self._grid.size
        stored = self._table.read_keys(start, self._keys.distinct(columns.codes))
        added = columns.groups()
        self._table.write(start, self._fold_by_key(added if stored is None else Groups.join([stored, added])))
