"""The window operator, which assigns elements to windows, calls the trigger, fires and clears windows (time-rules 5.1, 5.2, 5.4).

Subclasses for merging windows are in `merging_operator.py` and `session_operator.py`. `factory.py` chooses the class.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from penstock.errors import PlanError
from penstock.functions import OutputTag, TimeDomain
from penstock.runtime.loop.element_copy import copy_elements
from penstock.runtime.loop.lateness import element_is_late, window_is_late
from penstock.runtime.loop.operator import Emitted, OperatorContext, TimestampedResult
from penstock.runtime.state.codec import is_immutable
from penstock.runtime.state.timers import Timer
from penstock.runtime.windows.batch_cache import CachedWindow, WindowCache
from penstock.runtime.windows.contents import Fold, PaneKey, TimestampedContents, WindowContents, make_contents
from penstock.runtime.windows.context import PaneContext, WindowFunctionContext
from penstock.runtime.windows.functions import WindowEvaluator, make_clear_function, make_evaluator, pass_through
from penstock.runtime.windows.merging_window_set import Namespace
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
from penstock.windows.validation import check_lateness, check_trigger, check_trigger_result

CONTINUE = TriggerResult.CONTINUE


class WindowOperator:
    """Windows over a keyed stream with `reduce`, `aggregate` or all elements, and an optional window function.

    The timestamp of a result is the last timestamp of its window. Late elements are emitted to `late_tag` or counted in
    `late_records`.

    >>> from penstock.windows import TumblingEventTimeWindows
    >>> WindowOperator(TumblingEventTimeWindows.of(10), reduce=max).late_records
    0
    """

    keyed = True
    stamps_results = True
    copies_results = True
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
        contents: WindowContents | None = None,  # the storage of panes, if neither function nor evictor determines it
    ) -> None:
        self.late_records = 0
        self._assigner = assigner
        self._trigger = assigner.get_default_trigger(None) if trigger is None else trigger
        self._evictor = evictor
        self._late_tag = late_tag
        self._event_time = assigner.is_event_time()
        self._lateness = allowed_lateness if self._event_time else 0
        self._fold = Fold.from_functions(reduce, aggregate)
        stored_type = type_information(value_type)
        self._contents = contents or make_contents(self._fold, stored_type, evictor is not None)
        self._functions = [f for f in (reduce, aggregate, function) if f is not None]
        self._function = function
        self._evaluate: WindowEvaluator = pass_through
        self._clear: Callable[[Any, Namespace, Window], None] | None = None
        self._on_grid = assigner.grid() is not None
        self._aligned = self._on_grid and self._trigger.waits_for_end()
        self._cache = WindowCache(assigner, self._lateness)
        self._copies = True  # elements are copied for the function, unless they are not used again
        self._pane: PaneContext
        self._check(allowed_lateness)

    def _check(self, allowed_lateness: int) -> None:
        check_lateness(allowed_lateness)
        check_trigger(self._assigner, self._trigger)
        if self._fold is None and self._function is None:
            raise PlanError(
                "WINDOW_WITHOUT_FUNCTION",
                "A window has no reduce, aggregate or window function, so it has no results. Pass one of them.",
            )
        if isinstance(self._assigner, MergingWindowAssigner) and not self.merges:
            raise TypeError("This operator cannot merge windows. Create it with window_operator().")

    # -- lifecycle

    def open(self, context: OperatorContext) -> None:
        self._pane = PaneContext(context)
        self._copies = context.copies_elements
        self._contents.open(context.backend)
        for function in self._functions:
            if hasattr(function, "open"):
                function.open(context.runtime)
        function_context = WindowFunctionContext(context, self.merges)
        self._evaluate = make_evaluator(self._function, function_context)
        self._clear = make_clear_function(self._function, function_context)

    def close(self) -> None:
        for function in self._functions:
            if hasattr(function, "close"):
                function.close()

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        """Called once per batch, before its first element. The cache is valid until the state of the batch is written."""
        self._cache = WindowCache(self._assigner, self._lateness)
        return (self._process_aligned_element if self._aligned else self._process_element,)

    # -- elements

    def _process_aligned_element(self, value: Any, context: OperatorContext) -> Emitted:
        """Adds an element to cached panes. Most elements need no access to state, timers or the trigger."""
        timestamp = context.timestamps[context.index]
        time = timestamp if self._event_time else context.now
        current = self._cache.current_slice
        if not current.start <= time < current.end:
            current = self._cache.enter_slice(time, value, timestamp, self._pane)
        if current.first_max_timestamp <= context.watermark:
            return self._add_to_windows(value, timestamp, context)
        key = context.cell.at
        panes = current.panes.get(key)
        if panes is None:
            panes = current.panes[key] = [self._pane_of(w, value, timestamp, context) for w in current.windows]
        self._contents.add_to_all(panes, value, timestamp)
        return None

    def _pane_of(self, cached: CachedWindow, value: Any, timestamp: int, context: OperatorContext) -> Any:
        """Returns the pane of a window and the current key. The first element in a batch is shown to the trigger."""
        key = context.cell.at
        pane = cached.panes.get(key)
        if pane is None:
            pane = cached.panes[key] = self._contents.pane((key, cached.namespace))
            self._call_trigger(value, timestamp, cached, key, context)
        return pane

    def _process_element(self, value: Any, context: OperatorContext) -> Emitted:
        return self._add_to_windows(value, context.timestamps[context.index], context)

    def _add_to_windows(self, value: Any, timestamp: int, context: OperatorContext) -> Emitted:
        """Adds an element to its windows. Each of them may fire."""
        key, contents = context.cell.at, self._contents
        emitted: list[Any] = []
        added = False
        for cached, state_window in self._target_windows(value, timestamp, context):
            added = True
            pane_key = (key, state_window)
            # A function may change what a window contains. The other windows and the trigger must not see that.
            value = contents.add_shared(contents.pane(pane_key), value, timestamp)
            result = self._call_trigger(value, timestamp, cached, key, context)
            if result is not CONTINUE:
                emitted += self._apply_trigger_result(result, key, cached, pane_key, stamped=True)
        if not added:
            return self._handle_late(value, timestamp, context.watermark)
        return emitted or None

    def _target_windows(
        self, value: Any, timestamp: int, context: OperatorContext
    ) -> Iterator[tuple[CachedWindow, Namespace]]:
        """Yields the windows that still accept an element, each with its state window."""
        for cached in self._assigned_windows(value, timestamp, context):
            if not (self._event_time and window_is_late(cached.cleanup_time, context.watermark)):
                yield cached, cached.namespace

    def _assigned_windows(self, value: Any, timestamp: int, context: OperatorContext) -> list[CachedWindow]:
        if not self._on_grid:
            return [self._cache.get(w) for w in self._assigner.assign_windows(value, timestamp, self._pane)]
        time = timestamp if self._event_time else context.now
        current = self._cache.current_slice
        if not current.start <= time < current.end:
            current = self._cache.enter_slice(time, value, timestamp, self._pane)
        return current.windows

    def _call_trigger(
        self, value: Any, timestamp: int, cached: CachedWindow, key: Any, context: OperatorContext
    ) -> TriggerResult:
        pane = self._pane.set_current(key, cached.namespace)
        result = self._trigger.on_element(value, timestamp, cached.window, pane)
        self._set_cleanup_timer(cached)
        return result

    def _handle_late(self, value: Any, timestamp: int, watermark: int) -> Emitted:
        if self._event_time and element_is_late(timestamp, self._lateness, watermark):
            if self._late_tag is not None:
                return ((self._late_tag, value),)
            self.late_records += 1
        return None

    # -- timers

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return self._process_timer(
            timer, context, self._cache.from_namespace(timer.namespace), (timer.key, timer.namespace)
        )

    def on_failed_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        """Called after `on_timer` raised and a dead letter was emitted."""
        self._continue_after_failed_timer(
            timer, context, self._cache.from_namespace(timer.namespace), (timer.key, timer.namespace)
        )
        return None

    def _continue_after_failed_timer(
        self, timer: Timer, context: OperatorContext, cached: CachedWindow, pane_key: PaneKey
    ) -> None:
        """Clears the window if it is due for cleanup. Otherwise calls the trigger again, so that it sets its next timer."""
        in_event_time = context.domain == TimeDomain.EVENT_TIME
        if in_event_time == self._event_time and timer.time == cached.cleanup_time:
            self._clear_window(timer.key, cached, pane_key)
            return
        on_time = self._trigger.on_event_time if in_event_time else self._trigger.on_processing_time
        with suppress(Exception):  # if the trigger itself has failed
            on_time(timer.time, cached.window, self._pane.set_current(timer.key, cached.namespace))

    def _process_timer(
        self, timer: Timer, context: OperatorContext, cached: CachedWindow, pane_key: PaneKey
    ) -> Emitted:
        key = timer.key
        in_event_time = context.domain == TimeDomain.EVENT_TIME
        on_time = self._trigger.on_event_time if in_event_time else self._trigger.on_processing_time
        result = on_time(timer.time, cached.window, self._pane.set_current(key, cached.namespace))
        closing = in_event_time == self._event_time and timer.time == cached.cleanup_time
        emitted: list[Any] = []
        if result is not CONTINUE:
            stamped = not in_event_time or timer.time != cached.max_timestamp
            emitted = self._apply_trigger_result(result, key, cached, pane_key, stamped, closing)
        if closing:
            self._clear_window(key, cached, pane_key)
        return emitted or None

    def _apply_trigger_result(
        self,
        result: TriggerResult,
        key: Any,
        cached: CachedWindow,
        pane_key: PaneKey,
        stamped: bool,
        closing: bool = False,
    ) -> list[Any]:
        """Fires and purges. If `stamped`, results are emitted with their own timestamp, not with that of the timer."""
        check_trigger_result(self._trigger, result)
        emitted: list[Any] = []
        purging = result.is_purge()
        if result.is_fire():
            emitted = self._fire(key, cached, pane_key, reused=not (purging or closing))
            if stamped:
                emitted = [TimestampedResult(value, cached.max_timestamp) for value in emitted]
        if purging:
            self._clear_contents(key, cached, pane_key)
        return emitted

    def _fire(self, key: Any, cached: CachedWindow, pane_key: PaneKey, reused: bool) -> list[Any]:
        elements = self._contents.elements(pane_key)
        if elements is None:
            return []
        if self._evictor is not None:
            return self._fire_evicting(key, cached, pane_key, elements, reused)
        if reused and self._fold is not None and not is_immutable(elements[0]):
            elements = copy.deepcopy(elements)  # later elements may change the accumulator in place
        elif reused and self._copies:
            elements = copy_elements(elements)  # the function may change them, and the window fires again
        return self._evaluate(key, cached.namespace, cached.window, elements)

    def _fire_evicting(
        self, key: Any, cached: CachedWindow, pane_key: PaneKey, elements: list[Any], reused: bool
    ) -> list[Any]:
        evictor, contents, pane = self._evictor, self._contents, self._pane.set_current(key, cached.namespace)
        assert evictor is not None
        assert isinstance(contents, TimestampedContents)
        timed = [TimestampedValue(value, None if time == NO_TIMESTAMP else time) for time, value in elements]
        evictor.evict_before(timed, len(timed), cached.window, pane)
        values = [t.value for t in timed]
        if reused and self._copies:
            values = copy_elements(values)
        inputs = values if self._fold is None else self._fold.fold_values(values)
        emitted = self._evaluate(key, cached.namespace, cached.window, inputs)
        evictor.evict_after(timed, len(timed), cached.window, pane)
        contents.replace(pane_key, [(NO_TIMESTAMP if t.timestamp is None else t.timestamp, t.value) for t in timed])
        return emitted

    def _clear_contents(self, key: Any, cached: CachedWindow, pane_key: PaneKey) -> None:
        self._contents.clear(pane_key)
        cached.forget_pane(key)

    def _clear_window(self, key: Any, cached: CachedWindow, pane_key: PaneKey) -> None:
        """Removes all state of a window of a key."""
        self._clear_contents(key, cached, pane_key)
        self._trigger.clear(cached.window, self._pane.set_current(key, cached.namespace))
        if self._clear is not None:
            self._clear(key, cached.namespace, cached.window)

    def _set_cleanup_timer(self, cached: CachedWindow) -> None:
        """Registers the cleanup timer of the current pane, unless the window never ends."""
        if cached.cleanup_time != MAX_WATERMARK:
            if self._event_time:
                self._pane.register_event_time_timer(cached.cleanup_time)
            else:
                self._pane.register_processing_time_timer(cached.cleanup_time)
