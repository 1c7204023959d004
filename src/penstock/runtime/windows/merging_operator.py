"""Windows that merge, with any trigger (time.md 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import TimeError
from penstock.runtime.lateness import window_is_late
from penstock.runtime.operator import Emitted, OperatorContext
from penstock.runtime.timers import Timer
from penstock.runtime.window import WindowOperator
from penstock.runtime.window_contents import At
from penstock.runtime.window_known import KnownWindow
from penstock.runtime.window_set import Merge, Namespace, WindowSet
from penstock.time import MAX_WATERMARK


class MergingWindowOperator(WindowOperator):
    """As WindowOperator; an element's window first becomes one with those it touches, and then the result is judged.

    >>> from penstock.windows import EventTimeSessionWindows
    >>> MergingWindowOperator(EventTimeSessionWindows.with_gap(10), reduce=max).merges
    True
    """

    merges = True
    _set: WindowSet

    def open(self, context: OperatorContext) -> None:
        self._set = WindowSet(self._assigner, context.backend)  # type: ignore[arg-type]
        super().open(context)

    def _places(self, value: Any, timestamp: int, context: OperatorContext) -> Iterator[tuple[KnownWindow, Namespace]]:
        for window in self._assigner.assign_windows(value, timestamp, self._pane):
            self._known.check(window)
            actual, kept = window.namespace(), None
            for merge in self._set.merges(actual):
                place = merge.merged[0][1] if merge.changes_nothing else self._merge(merge, context)
                if merge.takes_new:
                    actual, kept = merge.result, place
            known = self._known.named(actual)
            if not (self._event_time and window_is_late(known.cleanup, context.watermark)):
                yield known, self._set.add(actual) if kept is None else kept

    def _merge(self, merge: Merge, context: OperatorContext) -> Namespace:
        """Makes windows one; returns where the contents are kept: under the earliest of them."""
        key, pane = context.cell.at, self._pane
        result = self._known.named(merge.result)
        self._refuse_late(result, key, context)
        kept = self._set.apply(merge)
        pane.merged = [window for window, _ in merge.merged]
        self._trigger.on_merge(result.window, pane.at(key, merge.result))
        for namespace in pane.merged:
            if namespace != merge.result:
                gone = self._known.named(namespace)
                self._trigger.clear(gone.window, pane.at(key, namespace))
                self._delete_cleanup_timer(gone)
        self._join_contents(key, merge)
        return kept

    def _join_contents(self, key: Any, merge: Merge) -> None:
        first, *others = [(key, place) for _, place in merge.merged]
        if others:
            self._contents.merge(first, others)

    def _refuse_late(self, result: KnownWindow, key: Any, context: OperatorContext) -> None:
        if window_is_late(result.cleanup, context.watermark if self._event_time else context.now):
            raise TimeError(
                "MERGED_WINDOW_LATE",
                f"{type(self._assigner).__name__} merged windows of key {key!r} into {result.window}, whose end has "
                "passed. Windows may only merge into one that ends no earlier than each of them.",
            )

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        kept = self._set.kept_under(timer.namespace)
        if kept is not None:
            return self._at_time(timer, context, self._known.named(timer.namespace), (timer.key, kept))
        grown = self._set.covering(timer.namespace)
        if grown is not None:
            # Left by a trigger that does not delete its timers, or by SessionOperator before the trigger was changed.
            known = self._known.named(grown[0])
            pane = self._pane.at(timer.key, grown[0])
            pane.merged = []
            self._trigger.on_merge(known.window, pane)
            self._set_cleanup_timer(known)
        return None

    def on_failed_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        kept = self._set.kept_under(timer.namespace)
        if kept is not None:
            self._end_failed(timer, context, self._known.named(timer.namespace), (timer.key, kept))
        return None

    def _close_window(self, key: Any, known: KnownWindow, at: At) -> None:
        super()._close_window(key, known, at)
        self._set.retire(known.namespace)

    def _delete_cleanup_timer(self, known: KnownWindow) -> None:
        if known.cleanup != MAX_WATERMARK:
            if self._event_time:
                self._pane.delete_event_time_timer(known.cleanup)
            else:
                self._pane.delete_processing_time_timer(known.cleanup)
