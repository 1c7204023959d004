"""The window operator: puts elements into windows, asks the trigger, fires and cleans up (time.md 4 and 5).

Windows that merge are in `window_merging.py` and `window_session.py`; `window_build.py` picks the class.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from penstock.errors import PlanError
from penstock.functions import OutputTag, TimeDomain
from penstock.runtime.codec import is_immutable
from penstock.runtime.lateness import element_is_late, window_is_late
from penstock.runtime.operator import Emitted, OperatorContext
from penstock.runtime.stamped import Stamped
from penstock.runtime.timers import Timer
from penstock.runtime.window_contents import At, Contents, Fold, Timed, contents_of
from penstock.runtime.window_context import PaneContext, WindowFunctionContext
from penstock.runtime.window_function import Evaluate, clearing, evaluation, pass_through
from penstock.runtime.window_known import KnownWindow, KnownWindows
from penstock.runtime.window_set import Namespace
from penstock.time import MAX_WATERMARK, NO_TIMESTAMP
from penstock.types import TypeInformation, type_information
from penstock.windows import (
    Evictor,
    MergingWindowAssigner,
    TimestampedValue,
    Trigger,
    TriggerResult,
    Window,
    WindowAssigner,
)
from penstock.windows.agreement import check_lateness, check_trigger

CONTINUE = TriggerResult.CONTINUE


class WindowOperator:
    """Windows over a keyed stream: of `reduce`, of `aggregate`, or of all elements; then `function`, if given.

    Results carry their window's last timestamp. Late elements go to `late_tag`, or are counted in `late_records`.

    >>> from penstock.windows import TumblingEventTimeWindows
    >>> WindowOperator(TumblingEventTimeWindows.of(10), reduce=max).late_records
    0
    """

    keyed = True
    stamps_results = True
    merges = False  # whether the class can merge windows

    def __init__(
        self,
        assigner: WindowAssigner[Any, Any],
        *,
        reduce: Any = None,
        aggregate: Any = None,
        function: Any = None,
        value_type: TypeInformation | type | None = None,  # of elements; with `aggregate`, of its accumulators
        trigger: Trigger[Any, Any] | None = None,
        evictor: Evictor | None = None,
        allowed_lateness: int = 0,
        late_tag: OutputTag | None = None,
        contents: Contents | None = None,  # how panes are kept, where neither function nor evictor says it
    ) -> None:
        self.late_records = 0
        self._assigner = assigner
        self._trigger = assigner.get_default_trigger(None) if trigger is None else trigger
        self._evictor = evictor
        self._late_tag = late_tag
        self._event_time = assigner.is_event_time()
        self._lateness = allowed_lateness if self._event_time else 0
        self._fold = Fold.of(reduce, aggregate)
        kept = type_information(value_type)
        self._contents = contents or contents_of(self._fold, kept, evictor is not None)
        self._functions = [f for f in (reduce, aggregate, function) if f is not None]
        self._function = function
        self._evaluate: Evaluate = pass_through
        self._clear: Callable[[Any, Namespace, Window], None] | None = None
        self._aligned = assigner.grid() is not None and self._trigger.waits_for_end()
        self._known = KnownWindows(assigner, self._lateness)
        self._pane: PaneContext
        self._check(allowed_lateness)

    def _check(self, allowed_lateness: int) -> None:
        check_lateness(allowed_lateness)
        check_trigger(self._assigner, self._trigger)
        if self._fold is None and self._function is None:
            raise PlanError(
                "WINDOW_WITHOUT_FUNCTION",
                "A window has neither reduce, aggregate nor a window function, so it has no results. Give one of them.",
            )
        if isinstance(self._assigner, MergingWindowAssigner) and not self.merges:
            raise TypeError("This operator cannot merge windows; make it with window_operator().")

    # -- the operator's life

    def open(self, context: OperatorContext) -> None:
        self._pane = PaneContext(context)
        self._contents.open(context.backend)
        for function in self._functions:
            if hasattr(function, "open"):
                function.open(context.runtime)
        view = WindowFunctionContext(context, self.merges)
        self._evaluate = evaluation(self._function, view)
        self._clear = clearing(self._function, view)

    def close(self) -> None:
        for function in self._functions:
            if hasattr(function, "close"):
                function.close()

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        """Called once a batch, before its first element: what is known of panes holds until the batch is written."""
        self._known = KnownWindows(self._assigner, self._lateness)
        return (self._aligned_element if self._aligned else self._element,)

    # -- elements

    def _aligned_element(self, value: Any, context: OperatorContext) -> Emitted:
        """Most elements change a pane that is at hand: no state, timer or trigger is touched."""
        timestamp = context.timestamps[context.index]
        time = timestamp if self._event_time else context.now
        at = self._known.slice
        if not at.start <= time < at.end:
            at = self._known.enter(value, time, timestamp, self._pane)
        if at.fires <= context.watermark:
            return self._take(value, timestamp, context)
        key, add = context.cell.at, self._contents.add
        for known in at.windows:
            pane = known.panes.get(key)
            if pane is None:
                pane = known.panes[key] = self._contents.pane((key, known.namespace))
                self._ask(value, timestamp, known, key, context)
            add(pane, value, timestamp)
        return None

    def _element(self, value: Any, context: OperatorContext) -> Emitted:
        return self._take(value, context.timestamps[context.index], context)

    def _take(self, value: Any, timestamp: int, context: OperatorContext) -> Emitted:
        """Adds an element to its windows, which may fire at once."""
        key, contents = context.cell.at, self._contents
        emitted: list[Any] = []
        taken = False
        for known, kept in self._places(value, timestamp, context):
            taken = True
            at = (key, kept)
            contents.add(contents.pane(at), value, timestamp)
            result = self._ask(value, timestamp, known, key, context)
            if result is not CONTINUE:
                emitted += self._act(result, key, known, at, stamped=True)
        if not taken:
            return self._late(value, timestamp, context.watermark)
        return emitted or None

    def _places(self, value: Any, timestamp: int, context: OperatorContext) -> Iterator[tuple[KnownWindow, Namespace]]:
        """The windows that still take an element, and where their contents are kept."""
        for window in self._assigner.assign_windows(value, timestamp, self._pane):
            known = self._known.of(window)
            if not (self._event_time and window_is_late(known.cleanup, context.watermark)):
                yield known, known.namespace

    def _ask(self, value: Any, timestamp: int, known: KnownWindow, key: Any, context: OperatorContext) -> TriggerResult:
        pane = self._pane.at(key, known.namespace)
        result = self._trigger.on_element(value, timestamp, known.window, pane)
        self._set_cleanup_timer(known)
        return result

    def _late(self, value: Any, timestamp: int, watermark: int) -> Emitted:
        if self._event_time and element_is_late(timestamp, self._lateness, watermark):
            if self._late_tag is not None:
                return ((self._late_tag, value),)
            self.late_records += 1
        return None

    # -- timers

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return self._at_time(timer, context, self._known.named(timer.namespace), (timer.key, timer.namespace))

    def on_failed_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        """Behind a call of `on_timer` that raised and left a dead letter: a window whose end has come is dropped."""
        self._end_failed(timer, context, self._known.named(timer.namespace), (timer.key, timer.namespace))
        return None

    def _end_failed(self, timer: Timer, context: OperatorContext, known: KnownWindow, at: At) -> None:
        if (context.domain == TimeDomain.EVENT_TIME) == self._event_time and timer.time == known.cleanup:
            self._close_window(timer.key, known, at)

    def _at_time(self, timer: Timer, context: OperatorContext, known: KnownWindow, at: At) -> Emitted:
        key = timer.key
        of_event_time = context.domain == TimeDomain.EVENT_TIME
        ask = self._trigger.on_event_time if of_event_time else self._trigger.on_processing_time
        result = ask(timer.time, known.window, self._pane.at(key, known.namespace))
        closing = of_event_time == self._event_time and timer.time == known.cleanup
        emitted: list[Any] = []
        if result is not CONTINUE:
            stamped = not of_event_time or timer.time != known.fires
            emitted = self._act(result, key, known, at, stamped, closing)
        if closing:
            self._close_window(key, known, at)
        return emitted or None

    def _act(
        self, result: TriggerResult, key: Any, known: KnownWindow, at: At, stamped: bool, closing: bool = False
    ) -> list[Any]:
        """Fires and purges. `stamped`: results need a timestamp of their own."""
        emitted: list[Any] = []
        purging = result.is_purge()
        if result.is_fire():
            emitted = self._fire(key, known, at, lives_on=not (purging or closing))
            if stamped:
                emitted = [Stamped(value, known.fires) for value in emitted]
        if purging:
            self._drop(key, known, at)
        return emitted

    def _fire(self, key: Any, known: KnownWindow, at: At, lives_on: bool) -> list[Any]:
        elements = self._contents.elements(at)
        if elements is None:
            return []
        if self._evictor is not None:
            return self._fire_evicting(key, known, at, elements)
        if lives_on and self._fold is not None and not is_immutable(elements[0]):
            elements = copy.deepcopy(elements)  # later elements may change the accumulator in place
        return self._evaluate(key, known.namespace, known.window, elements)

    def _fire_evicting(self, key: Any, known: KnownWindow, at: At, elements: list[Any]) -> list[Any]:
        evictor, contents, pane = self._evictor, self._contents, self._pane.at(key, known.namespace)
        assert evictor is not None
        assert isinstance(contents, Timed)
        timed = [TimestampedValue(value, None if time == NO_TIMESTAMP else time) for time, value in elements]
        evictor.evict_before(timed, len(timed), known.window, pane)
        values = [t.value for t in timed]
        given = values if self._fold is None else self._fold.of_all(values)
        emitted = self._evaluate(key, known.namespace, known.window, given)
        evictor.evict_after(timed, len(timed), known.window, pane)
        contents.replace(at, [(NO_TIMESTAMP if t.timestamp is None else t.timestamp, t.value) for t in timed])
        return emitted

    def _drop(self, key: Any, known: KnownWindow, at: At) -> None:
        self._contents.clear(at)
        known.panes.pop(key, None)

    def _close_window(self, key: Any, known: KnownWindow, at: At) -> None:
        """Drops all that is kept of a key's window."""
        self._drop(key, known, at)
        self._trigger.clear(known.window, self._pane.at(key, known.namespace))
        if self._clear is not None:
            self._clear(key, known.namespace, known.window)

    def _set_cleanup_timer(self, known: KnownWindow) -> None:
        """For the key and window that `_pane` stands at; a window whose cleanup is at the end of time gets none."""
        if known.cleanup != MAX_WATERMARK:
            if self._event_time:
                self._pane.register_event_time_timer(known.cleanup)
            else:
                self._pane.register_processing_time_timer(known.cleanup)
