"""What all window operators by columns share: their life, and what becomes of a window's keys when it fires."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.functions import TimeDomain
from penstock.functions.named_aggregates import WithWindow
from penstock.runtime.call_site import CallSite
from penstock.runtime.codec import is_immutable
from penstock.runtime.operator import OperatorContext
from penstock.runtime.records import column
from penstock.runtime.slot import Advance
from penstock.runtime.timers import Timer
from penstock.runtime.vector.arrived import Arrived
from penstock.runtime.vector.blocks import Block
from penstock.runtime.vector.emissions import Firing, VectorEmissions
from penstock.runtime.vector.key_codes import KeyCodes
from penstock.runtime.vector.measures import Groups, Measures
from penstock.runtime.window_context import WindowFunctionContext
from penstock.runtime.window_function import Evaluate, clearing, evaluation
from penstock.windows import TimeWindow


class VectorWindows:
    """Windows of named aggregates over a keyed stream. Subclasses say when windows fire, and keep their measures."""

    keyed = True
    merges = False

    def __init__(self, aggregate: Any, function: Any = None) -> None:
        self.late_records = 0
        self.measures = Measures(aggregate)
        self._function = function
        self._evaluate: Evaluate
        self._clear: Callable[..., None] | None = None
        self._context: OperatorContext
        self._keys: KeyCodes
        self._site: CallSite

    def open(self, context: OperatorContext) -> None:
        self._context = context
        self._keys = KeyCodes(context.backend)
        if hasattr(self._function, "open"):
            self._function.open(context.runtime)
        view = WindowFunctionContext(context, self.merges)
        self._evaluate = evaluation(self._function, view)
        self._clear = clearing(self._function, view)

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._function.close()

    def run(self, blocks: list[Block], advance: Advance, site: CallSite) -> VectorEmissions:
        """One batch: all that came, and how far the clocks go."""
        self._site = site
        self._keys.begin()
        self._context.begin_batch(advance.batch, advance.now)
        out = VectorEmissions()
        try:
            self._by_clock(advance, out)
            arrived = Arrived.of(blocks, self._keys, advance.before, advance.end, len(self.measures.wanted))
            self._by_watermark(arrived, advance, out)
        finally:
            self._context.backend.unset_key()
        return out

    def wake(self) -> int | None:
        """When the clock lets the next window fire."""
        return None

    def _by_clock(self, advance: Advance, out: VectorEmissions) -> None:
        """Fires what is due by the clock, before the elements."""

    def _by_watermark(self, arrived: Arrived, advance: Advance, out: VectorEmissions) -> None:
        """Takes the elements, and fires what the watermark has passed."""
        raise NotImplementedError

    def _by_key(self, groups: Groups) -> Groups:
        """One group for each key."""
        codes, anew = self._keys.numbered(groups.codes)
        if len(codes) == len(groups.codes):
            return groups
        counts = np.zeros(len(codes), np.int64)
        np.add.at(counts, anew, groups.counts)
        return Groups(codes, counts, self.measures.fold(anew, len(codes), groups.columns))

    # -- firing

    def _fire(self, firing: Firing, advance: Advance, out: VectorEmissions) -> None:
        """Emits the results of windows, in the order of their timers. A window that fires at its end is done."""
        order = self._keys.in_order(firing.groups.codes, firing.dues, firing.times, windows=firing.window_ranks())
        firing = firing.take(order)
        groups, keys = firing.groups, [self._keys.keys[code] for code in firing.groups.codes.tolist()]
        hashes = self._keys.hashes(groups.codes)
        results = self.measures.results(groups.counts.tolist(), groups.columns)
        function = self._function
        if function is None:
            out.add(firing, hashes, results)
        elif isinstance(function, WithWindow):
            starts, ends = firing.starts.tolist(), firing.ends.tolist()
            out.add(firing, hashes, list(map(function.result, keys, starts, ends, results)))
        else:
            self._call(firing, keys, hashes, results, advance, out)

    def _call(
        self,
        firing: Firing,
        keys: list[Any],
        hashes: Any,
        results: list[Any],
        advance: Advance,
        out: VectorEmissions,
    ) -> None:
        """Asks the user's window function about each key and window."""
        context, mutable, clear = self._context, self._context.backend.mutable, self._clear if firing.closing else None
        by_event_time = firing.before is None
        context.domain = TimeDomain.EVENT_TIME if by_event_time else TimeDomain.PROCESSING_TIME
        bounds = zip(firing.starts.tolist(), firing.ends.tolist(), strict=True)
        timers = zip(firing.times.tolist(), firing.dues.tolist(), strict=True)
        values: list[Any] = []
        emitters: list[int] = []
        for at, (key, result, namespace, (time, due)) in enumerate(zip(keys, results, bounds, timers, strict=True)):
            window = TimeWindow(*namespace)
            context.cell.at = key
            context.watermark = seen_watermark(due, advance.marks) if by_event_time else advance.before
            context.fired = Timer(time, 0, b"", b"", key, namespace, None)
            try:
                emitted = self._evaluate(key, namespace, window, [result])
                if clear is not None and time == namespace[1] - 1:
                    clear(key, namespace, window)
            except Exception as error:
                raise self._site.error(error, key=key, timer=time) from error
            values += [_kept(v) for v in emitted] if mutable else emitted
            emitters += [at] * len(emitted)
        context.fired = None
        out.add(firing, hashes, values, column(emitters))

    def _dropped(self, groups: Groups, bounds: tuple[int, int], seen: int) -> None:
        """Tells the window function that a window of these keys is gone, without having fired."""
        if self._clear is None:
            return
        self._context.watermark = seen
        for code in groups.codes[self._keys.in_order(groups.codes)].tolist():
            key = self._keys.keys[code]
            self._context.cell.at = key
            try:
                self._clear(key, bounds, TimeWindow(*bounds))
            except Exception as error:
                raise self._site.error(error, key=key, timer=bounds[1] - 1) from error


def _kept(value: Any) -> Any:
    """A copy of what may be a part of state that can still change."""
    return value if is_immutable(value) else pickle.loads(pickle.dumps(value, 5))


def seen_watermark(time: int, marks: list[int]) -> int:
    """What `current_watermark()` shows when a timer fires: the explicit mark that is applied, else the timer's time.

    >>> seen_watermark(5, [3, 8]), seen_watermark(9, [3, 8])
    (8, 9)
    """
    at = int(np.searchsorted(marks, time)) if marks else 0
    return marks[at] if marks and at < len(marks) else time
