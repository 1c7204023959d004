"""Base classes of the columnar window operators: lifecycle, firing, and calls of window functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.functions import TimeDomain
from penstock.functions.named_aggregates import WithWindow
from penstock.runtime.columnar.accumulators import Accumulators, Groups
from penstock.runtime.columnar.column_block import ColumnBlock
from penstock.runtime.columnar.emissions import ColumnarEmissions, Firing
from penstock.runtime.columnar.input_columns import InputColumns
from penstock.runtime.columnar.key_codes import KeyCodes
from penstock.runtime.columnar.slices import Grid
from penstock.runtime.columnar.time_table import TimeTable
from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.loop.records import column
from penstock.runtime.state.timers import Timer
from penstock.runtime.windows.context import WindowFunctionContext
from penstock.runtime.windows.functions import WindowEvaluator, make_clear_function, make_evaluator
from penstock.windows import TimeWindow


class ColumnarWindowOperator:
    """Windows of named aggregates over a keyed stream. Subclasses store the accumulators and decide when windows fire."""

    keyed = True
    merges = False

    def __init__(self, aggregate: Any, function: Any = None) -> None:
        self.late_records = 0
        self.accumulators = Accumulators(aggregate)
        self._function = function
        self._evaluate: WindowEvaluator
        self._clear: Callable[..., None] | None = None
        self._context: OperatorContext
        self._keys: KeyCodes
        self._site: CallSite

    def open(self, context: OperatorContext) -> None:
        self._context = context
        self._keys = KeyCodes(context.backend)
        if hasattr(self._function, "open"):
            self._function.open(context.runtime)
        function_context = WindowFunctionContext(context, self.merges)
        self._evaluate = make_evaluator(self._function, function_context)
        self._clear = make_clear_function(self._function, function_context)

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._function.close()

    def run(self, blocks: list[ColumnBlock], advance: Advance, site: CallSite) -> ColumnarEmissions:
        """Processes one batch: processing time first, then the elements and the watermark."""
        self._site = site
        self._keys.begin_batch()
        self._context.begin_batch(advance.batch, advance.now)
        out = ColumnarEmissions()
        try:
            self._advance_processing_time(advance, out)
            definitions = self.accumulators.definitions
            columns = InputColumns.from_blocks(blocks, self._keys, advance.before, advance.end, len(definitions))
            self._process_elements(columns, advance, out)
        finally:
            self._context.backend.unset_key()
        return out

    def wake(self) -> int | None:
        """Returns the processing time at which the next window fires, or None."""
        return None

    def next_event_time(self, watermark: int) -> int | None:
        """Returns the next watermark, after the current one, at which a window may fire, or None."""
        raise NotImplementedError

    def _advance_processing_time(self, advance: Advance, out: ColumnarEmissions) -> None:
        """Fires the windows that are due in processing time. Called before the elements are processed."""

    def _process_elements(self, columns: InputColumns, advance: Advance, out: ColumnarEmissions) -> None:
        """Adds the elements to their windows and fires the windows that the watermark has passed."""
        raise NotImplementedError

    def _fold_by_key(self, groups: Groups) -> Groups:
        """Merges groups so that each key has one group."""
        codes, inverse = self._keys.distinct_with_inverse(groups.codes)
        if len(codes) == len(groups.codes):
            return groups
        counts = np.zeros(len(codes), np.int64)
        np.add.at(counts, inverse, groups.counts)
        return Groups(codes, counts, self.accumulators.fold(inverse, len(codes), groups.columns))

    # -- firing

    def _fire(self, firing: Firing, advance: Advance, out: ColumnarEmissions) -> None:
        """Emits the results of windows in timer order. A window that fires at its end is complete."""
        order = self._keys.timer_order(firing.groups.codes, firing.dues, firing.times, windows=firing.window_ranks())
        firing = firing.take(order)
        groups, keys = firing.groups, [self._keys.keys[code] for code in firing.groups.codes.tolist()]
        hashes = self._keys.hashes(groups.codes)
        results = self.accumulators.results(groups.counts.tolist(), groups.columns)
        function = self._function
        if function is None:
            out.add_firing(firing, hashes, results)
        elif isinstance(function, WithWindow):
            starts, ends = firing.starts.tolist(), firing.ends.tolist()
            out.add_firing(firing, hashes, list(map(function.result, keys, starts, ends, results)))
        else:
            self._call_function(firing, keys, hashes, results, advance, out)

    def _call_function(
        self,
        firing: Firing,
        keys: list[Any],
        hashes: Any,
        results: list[Any],
        advance: Advance,
        out: ColumnarEmissions,
    ) -> None:
        """Calls the user's window function for each key and window."""
        context, clear = self._context, self._clear if firing.closing else None
        in_event_time = firing.before is None
        context.domain = TimeDomain.EVENT_TIME if in_event_time else TimeDomain.PROCESSING_TIME
        bounds = zip(firing.starts.tolist(), firing.ends.tolist(), strict=True)
        timers = zip(firing.times.tolist(), firing.dues.tolist(), strict=True)
        values: list[Any] = []
        emitters: list[int] = []
        for index, (key, result, namespace, (time, due)) in enumerate(zip(keys, results, bounds, timers, strict=True)):
            window = TimeWindow(*namespace)
            context.cell.at = key
            context.watermark = watermark_at_timer(due, advance.marks) if in_event_time else advance.before
            context.fired = Timer(time, 0, b"", b"", key, namespace, None)
            try:
                emitted = self._evaluate(key, namespace, window, [result])
                if clear is not None and time == namespace[1] - 1:
                    clear(key, namespace, window)
            except Exception as error:
                raise self._site.error(error, key=key, timer=time) from error
            values += emitted
            emitters += [index] * len(emitted)
        context.fired = None
        out.add_firing(firing, hashes, values, column(emitters))

    def _clear_windows(self, groups: Groups, bounds: tuple[int, int], watermark: int) -> None:
        """Calls `clear` of the window function for a window that is dropped without firing, once per key."""
        if self._clear is None:
            return
        self._context.watermark = watermark
        for code in groups.codes[self._keys.timer_order(groups.codes)].tolist():
            key = self._keys.keys[code]
            self._context.cell.at = key
            try:
                self._clear(key, bounds, TimeWindow(*bounds))
            except Exception as error:
                raise self._site.error(error, key=key, timer=bounds[1] - 1) from error


class GridWindowOperator(ColumnarWindowOperator):
    """Windows on a grid of time. The accumulators are stored in a table by window start (or slice start) and key."""

    table_name = "__windows__"

    def __init__(self, grid: Grid, aggregate: Any, function: Any = None) -> None:
        super().__init__(aggregate, function)
        self._grid = grid
        self._table: TimeTable

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = TimeTable(context.backend, self.table_name, self._keys, self.accumulators, self._stored_grid())

    def _stored_grid(self) -> list[int]:
        """What the times in the table depend on. Stored accumulators are wrong for windows of another grid."""
        return [self._grid.size, self._grid.slide, self._grid.offset]

    def next_event_time(self, watermark: int) -> int | None:
        start = self._table.first_time(max(watermark - self._grid.size + 1, -(2**62)))  # ends after the watermark
        return None if start is None else self._max_timestamp(start)

    def _max_timestamp(self, start: int) -> int:
        """Returns the last timestamp that belongs to a window."""
        return start + self._grid.size - 1

    def _add_groups(self, start: int, groups: Groups) -> None:
        """Adds groups, one per key, to the stored accumulators of a window."""
        stored = self._table.read_keys(start, groups.codes)
        self._table.write(start, groups if stored is None else self._fold_by_key(Groups.join([stored, groups])))


def watermark_at_timer(due: int, marks: list[int]) -> int:
    """Returns `current_watermark()` while a timer fires: the explicit watermark that made it due, else its due time.

    >>> watermark_at_timer(5, [3, 8]), watermark_at_timer(9, [3, 8])
    (8, 9)
    """
    index = int(np.searchsorted(marks, due)) if marks else 0
    return marks[index] if marks and index < len(marks) else due
