"""Window operator for event-time sessions whose trigger fires only at their end. It registers far fewer timers.

A session grows with almost every element, and moving its timer each time would cost more than everything else. So a session
has one timer, registered for its state window. It is set to the first end of the session. When it fires and the session has
grown, it is set again to the current end. The results and their order are those of MergingWindowOperator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.runtime.loop.lateness import window_is_late
from penstock.runtime.loop.operator import Emitted, OperatorContext
from penstock.runtime.state.timers import Timer
from penstock.runtime.windows.batch_cache import CachedWindow
from penstock.runtime.windows.contents import PaneKey
from penstock.runtime.windows.merging_operator import MergingWindowOperator
from penstock.runtime.windows.merging_window_set import Merge, Namespace
from penstock.runtime.windows.operator import CONTINUE
from penstock.time import MAX_WATERMARK
from penstock.windows import EventTimeSessionWindows, TriggerResult


class SessionWindowOperator(MergingWindowOperator):
    """Sessions. A session always has a timer that is at most at its end or, after it has fired, at its cleanup time.

    >>> SessionWindowOperator(EventTimeSessionWindows.with_gap(10), reduce=max).keyed
    True
    """

    def __init__(self, assigner: Any, **settings: Any) -> None:
        super().__init__(assigner, **settings)
        self._gap = assigner.gap if isinstance(assigner, EventTimeSessionWindows) else 0
        self._panes: dict[Any, tuple[Namespace, Any]] = {}  # by key: the last pane to which this batch added elements

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        self._panes = {}
        functions = super().elements()
        return functions if not self._gap else (self._process_session_element,)

    def _process_session_element(self, value: Any, context: OperatorContext) -> Emitted:
        """Adds an element to the last session of its key, if it belongs there. Most elements do."""
        start = context.timestamps[context.index]
        sessions = self._window_set.entries()
        if sessions:
            (first, end), state_window = sessions[-1]
            if first <= start <= end and context.watermark < end - 1:
                if start + self._gap > end:
                    sessions[-1] = ((first, start + self._gap), state_window)
                    self._window_set.update_entries(sessions)
                self._contents.add(self._cached_pane(context.cell.at, state_window), value, start)
                return None
        return self._add_to_windows(value, start, context)

    def _cached_pane(self, key: Any, state_window: Namespace) -> Any:
        cached = self._panes.get(key)
        if cached is not None and cached[0] == state_window:
            return cached[1]
        pane = self._contents.pane((key, state_window))
        self._panes[key] = (state_window, pane)
        return pane

    def _target_windows(
        self, value: Any, timestamp: int, context: OperatorContext
    ) -> Iterator[tuple[CachedWindow, Namespace]]:
        key, watermark = context.cell.at, context.watermark
        for window in self._assigner.assign_windows(value, timestamp, self._pane):
            new = window.namespace()
            merges = self._window_set.find_merges(new)
            if merges:
                yield self._cache.from_namespace(merges[0].result), self._grow(merges[0], context)
                continue
            cached = self._cache.from_namespace(new)
            if not window_is_late(cached.cleanup_time, watermark):
                self._window_set.add_window(new)
                self._set_timer(key, cached, new, watermark)
                yield cached, new

    def _grow(self, merge: Merge, context: OperatorContext) -> Namespace:
        """Merges sessions. Returns the state window of the result."""
        key, state_window = context.cell.at, merge.merged[0][1]
        if merge.is_noop:
            return state_window
        result = self._cache.from_namespace(merge.result)
        self._check_merged_window(result, key, context)
        self._window_set.apply(merge)
        self._panes.pop(key, None)
        self._merge_contents(key, merge)
        if merge.merged[0][0][1] - 1 <= context.watermark:  # it has fired, so its timer is at its cleanup time
            self._set_timer(key, result, state_window, context.watermark)
        return state_window

    def _call_trigger(
        self, value: Any, timestamp: int, cached: CachedWindow, key: Any, context: OperatorContext
    ) -> TriggerResult:
        if context.watermark < cached.max_timestamp:
            return CONTINUE
        return self._trigger.on_element(value, timestamp, cached.window, self._pane.set_current(key, cached.namespace))

    def _set_timer(self, key: Any, cached: CachedWindow, state_window: Namespace, passed: int) -> None:
        time = cached.max_timestamp if cached.max_timestamp > passed else cached.cleanup_time
        if time != MAX_WATERMARK:
            self._pane.set_current(key, state_window).register_event_time_timer(time)

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        session = self._window_set.find_covering(timer.namespace)
        if session is None:
            return None
        cached, state_window = self._cache.from_namespace(session[0]), session[1]
        emitted: Emitted = None
        if timer.time >= cached.max_timestamp:
            if timer.namespace not in session:
                return None  # the timer is of a session that was merged into this one, which has its own timer
            if timer.time in (cached.max_timestamp, cached.cleanup_time):
                emitted = self._process_timer(timer, context, cached, (timer.key, state_window))
        if timer.time < cached.cleanup_time:
            self._set_timer(timer.key, cached, state_window, timer.time)
        return emitted

    def on_failed_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        session = self._window_set.find_covering(timer.namespace)
        if session is not None and timer.namespace in session:
            cached, state_window = self._cache.from_namespace(session[0]), session[1]
            if timer.time >= cached.cleanup_time:
                self._clear_window(timer.key, cached, (timer.key, state_window))
            else:
                self._set_timer(timer.key, cached, state_window, timer.time)
        return None

    def _clear_contents(self, key: Any, cached: CachedWindow, pane_key: PaneKey) -> None:
        super()._clear_contents(key, cached, pane_key)
        self._panes.pop(key, None)

    def _clear_window(self, key: Any, cached: CachedWindow, pane_key: PaneKey) -> None:
        """Does not clear the trigger. The session has one timer, which this operator registered and which has fired."""
        self._clear_contents(key, cached, pane_key)
        if self._clear is not None:
            self._clear(key, cached.namespace, cached.window)
        self._window_set.retire_window(cached.namespace)
