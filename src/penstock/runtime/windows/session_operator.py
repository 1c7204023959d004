"""Event-time sessions with a trigger that only waits for their end: the common case, without its timer traffic.

A session grows with almost every element, and moving its timer each time would cost more than all else. So a session
has one timer, under the window that its contents are kept under: set at its first end, and when it fires on a session
that has grown, set again at the end that the session has by then. Results are those of MergingWindowOperator, in the
same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.runtime.lateness import window_is_late
from penstock.runtime.operator import Emitted, OperatorContext
from penstock.runtime.timers import Timer
from penstock.runtime.window import CONTINUE
from penstock.runtime.window_contents import At
from penstock.runtime.window_known import KnownWindow
from penstock.runtime.window_merging import MergingWindowOperator
from penstock.runtime.window_set import Merge, Namespace
from penstock.time import MAX_WATERMARK
from penstock.windows import EventTimeSessionWindows, TriggerResult


class SessionOperator(MergingWindowOperator):
    """Sessions. At any time a session has a timer no later than its end, or, once it has fired, at its cleanup.

    >>> SessionOperator(EventTimeSessionWindows.with_gap(10), reduce=max).keyed
    True
    """

    def __init__(self, assigner: Any, **settings: Any) -> None:
        super().__init__(assigner, **settings)
        self._gap = assigner.gap if isinstance(assigner, EventTimeSessionWindows) else 0
        self._panes: dict[Any, tuple[Namespace, Any]] = {}  # by key: the pane that this batch has added to last

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        self._panes = {}
        functions = super().elements()
        return functions if not self._gap else (self._session_element,)

    def _session_element(self, value: Any, context: OperatorContext) -> Emitted:
        """Most elements belong to the key's last session and make it longer."""
        start = context.timestamps[context.index]
        sessions = self._set.entries()
        if sessions:
            (first, end), kept = sessions[-1]
            if first <= start <= end and context.watermark < end - 1:
                if start + self._gap > end:
                    sessions[-1] = ((first, start + self._gap), kept)
                    self._set.changed(sessions)
                self._contents.add(self._pane_of(context.cell.at, kept), value, start)
                return None
        return self._take(value, start, context)

    def _pane_of(self, key: Any, kept: Namespace) -> Any:
        known = self._panes.get(key)
        if known is not None and known[0] == kept:
            return known[1]
        pane = self._contents.pane((key, kept))
        self._panes[key] = (kept, pane)
        return pane

    def _places(self, value: Any, timestamp: int, context: OperatorContext) -> Iterator[tuple[KnownWindow, Namespace]]:
        key, watermark = context.cell.at, context.watermark
        for window in self._assigner.assign_windows(value, timestamp, self._pane):
            new = window.namespace()
            merges = self._set.merges(new)
            if merges:
                yield self._known.named(merges[0].result), self._grow(merges[0], context)
                continue
            known = self._known.named(new)
            if not window_is_late(known.cleanup, watermark):
                self._set.add(new)
                self._set_timer(key, known, new, watermark)
                yield known, new

    def _grow(self, merge: Merge, context: OperatorContext) -> Namespace:
        key, kept = context.cell.at, merge.merged[0][1]
        if merge.changes_nothing:
            return kept
        result = self._known.named(merge.result)
        self._refuse_late(result, key, context)
        self._set.apply(merge)
        self._panes.pop(key, None)
        self._join_contents(key, merge)
        if merge.merged[0][0][1] - 1 <= context.watermark:  # it has fired, so its timer is at its cleanup
            self._set_timer(key, result, kept, context.watermark)
        return kept

    def _ask(self, value: Any, timestamp: int, known: KnownWindow, key: Any, context: OperatorContext) -> TriggerResult:
        if context.watermark < known.fires:
            return CONTINUE
        return self._trigger.on_element(value, timestamp, known.window, self._pane.at(key, known.namespace))

    def _set_timer(self, key: Any, known: KnownWindow, kept: Namespace, passed: int) -> None:
        time = known.fires if known.fires > passed else known.cleanup
        if time != MAX_WATERMARK:
            self._pane.at(key, kept).register_event_time_timer(time)

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        session = self._set.covering(timer.namespace)
        if session is None:
            return None
        known, kept = self._known.named(session[0]), session[1]
        emitted: Emitted = None
        if timer.time >= known.fires:
            if timer.namespace not in session:
                return None  # of a session that has become part of this one, which has a timer of its own
            if timer.time in (known.fires, known.cleanup):
                emitted = self._at_time(timer, context, known, (timer.key, kept))
        if timer.time < known.cleanup:
            self._set_timer(timer.key, known, kept, timer.time)
        return emitted

    def on_failed_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        session = self._set.covering(timer.namespace)
        if session is not None and timer.namespace in session:
            known, kept = self._known.named(session[0]), session[1]
            if timer.time >= known.cleanup:
                self._close_window(timer.key, known, (timer.key, kept))
            else:
                self._set_timer(timer.key, known, kept, timer.time)
        return None

    def _drop(self, key: Any, known: KnownWindow, at: At) -> None:
        super()._drop(key, known, at)
        self._panes.pop(key, None)

    def _close_window(self, key: Any, known: KnownWindow, at: At) -> None:
        """The trigger has nothing to clear: the one timer is ours, and has fired."""
        self._drop(key, known, at)
        if self._clear is not None:
            self._clear(key, known.namespace, known.window)
        self._set.retire(known.namespace)
