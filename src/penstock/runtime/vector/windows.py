"""What all window operators by columns share: their life, and what becomes of a window's keys when it fires."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import repeat
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

    # -- firing

    def _fire(self, groups: Groups, window: tuple[int, int], firing: Firing, seen: int, out: VectorEmissions) -> None:
        """Emits a window's results of all keys, in the order of their timers. `seen`: what functions see as watermark."""
        groups = groups.take(self._keys.in_order(groups.codes))
        codes = groups.codes.tolist()
        keys = [self._keys.keys[code] for code in codes]
        hashes = self._keys.hashes(groups.codes)
        results = self.measures.results(groups.counts.tolist(), groups.columns)
        function = self._function
        if function is None:
            out.add(firing, hashes, results)
        elif isinstance(function, WithWindow):
            start, end = window
            out.add(firing, hashes, list(map(function.result, keys, repeat(start), repeat(end), results)))
        else:
            self._call(keys, hashes, results, window, firing, seen, out)

    def _call(
        self, keys: list[Any], hashes: Any, results: list[Any], bounds: Any, firing: Firing, seen: int, out: Any
    ) -> None:
        """Asks the user's window function about each key."""
        context, window, mutable = self._context, TimeWindow(*bounds), self._context.backend.mutable
        context.watermark = seen
        context.domain = TimeDomain.EVENT_TIME if firing.event_time else TimeDomain.PROCESSING_TIME
        values: list[Any] = []
        emitters: list[int] = []
        for at, (key, result) in enumerate(zip(keys, results, strict=True)):
            context.cell.at = key
            context.fired = Timer(firing.time, 0, b"", b"", key, bounds, None)
            try:
                emitted = self._evaluate(key, bounds, window, [result])
            except Exception as error:
                raise self._site.error(error, key=key, timer=firing.time) from error
            values += [_kept(v) for v in emitted] if mutable else emitted
            emitters += [at] * len(emitted)
        context.fired = None
        out.add(firing, hashes[column(emitters)] if emitters else hashes[:0], values)

    def _dropped(self, groups: Groups, bounds: tuple[int, int], seen: int) -> None:
        """Tells the window function that a window of these keys is gone."""
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
