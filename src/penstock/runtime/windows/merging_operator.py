"""Window operator for merging windows with any trigger (time-rules 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import TimeError
from penstock.runtime.loop.lateness import window_is_late
from penstock.runtime.loop.operator import Emitted, OperatorContext
from penstock.runtime.state.timers import Timer
from penstock.runtime.windows.batch_cache import CachedWindow
from penstock.runtime.windows.contents import PaneKey
from penstock.runtime.windows.merging_window_set import Merge, MergingWindowSet, Namespace
from penstock.runtime.windows.operator import WindowOperator
from penstock.time import MAX_WATERMARK


class MergingWindowOperator(WindowOperator):
    """A WindowOperator that merges the window of an element with those it touches, before it checks for lateness.

    >>> from penstock.windows import EventTimeSessionWindows
    >>> MergingWindowOperator(EventTimeSessionWindows.with_gap(10), reduce=max).merges
    True
    """

    merges = True
    _window_set: MergingWindowSet

    def open(self, context: OperatorContext) -> None:
        self._window_set = MergingWindowSet(self._assigner, context.backend)  # type: ignore[arg-type]
        super().open(context)

    def _target_windows(
        self, value: Any, timestamp: int, context: OperatorContext
    ) -> Iterator[tuple[CachedWindow, Namespace]]:
        for window in self._assigner.assign_windows(value, timestamp, self._pane):
            self._cache.check(window)
            actual, state_window = window.namespace(), None
            for merge in self._window_set.find_merges(actual):
                merged_state = merge.merged[0][1] if merge.is_noop else self._merge(merge, context)
                if merge.includes_new_window:
                    actual, state_window = merge.result, merged_state
            cached = self._cache.from_namespace(actual)
            if not (self._event_time and window_is_late(cached.cleanup_time, context.watermark)):
                yield cached, self._window_set.add_window(actual) if state_window is None else state_window

    def _merge(self, merge: Merge, context: OperatorContext) -> Namespace:
        """Merges windows. Returns the state window of the result, which is that of the earliest merged window."""
        key, pane = context.cell.at, self._pane
        result = self._cache.from_namespace(merge.result)
        self._check_merged_window(result, key, context)
        state_window = self._window_set.apply(merge)
        pane.merged_windows = [window for window, _ in merge.merged]
        self._trigger.on_merge(result.window, pane.set_current(key, merge.result))
        for namespace in pane.merged_windows:
            if namespace != merge.result:
                merged = self._cache.from_namespace(namespace)
                self._trigger.clear(merged.window, pane.set_current(key, namespace))
                self._delete_cleanup_timer(merged)
        self._merge_contents(key, merge)
        return state_window

    def _merge_contents(self, key: Any, merge: Merge) -> None:
        target, *sources = [(key, state_window) for _, state_window in merge.merged]
        if sources:
            self._contents.merge(target, sources)

    def _check_merged_window(self, result: CachedWindow, key: Any, context: OperatorContext) -> None:
        if window_is_late(result.cleanup_time, context.watermark if self._event_time else context.now):
            raise TimeError(
                "MERGED_WINDOW_LATE",
                f"{type(self._assigner).__name__} merged windows of key {key!r} into {result.window}, whose end has already "
                "passed. The merged window must not end earlier than any of the windows that it replaces.",
            )

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        state_window = self._window_set.get_state_window(timer.namespace)
        if state_window is not None:
            return self._process_timer(
                timer, context, self._cache.from_namespace(timer.namespace), (timer.key, state_window)
            )
        covering = self._window_set.find_covering(timer.namespace)
        if covering is not None:
            # The timer is from a trigger that does not delete its timers, or from SessionWindowOperator before the trigger
            # was changed.
            cached = self._cache.from_namespace(covering[0])
            pane = self._pane.set_current(timer.key, covering[0])
            pane.merged_windows = []
            self._trigger.on_merge(cached.window, pane)
            self._set_cleanup_timer(cached)
        return None

    def on_failed_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        state_window = self._window_set.get_state_window(timer.namespace)
        if state_window is not None:
            self._continue_after_failed_timer(
                timer, context, self._cache.from_namespace(timer.namespace), (timer.key, state_window)
            )
        return None

    def _clear_window(self, key: Any, cached: CachedWindow, pane_key: PaneKey) -> None:
        super()._clear_window(key, cached, pane_key)
        self._window_set.retire_window(cached.namespace)

    def _delete_cleanup_timer(self, cached: CachedWindow) -> None:
        if cached.cleanup_time != MAX_WATERMARK:
            if self._event_time:
                self._pane.delete_event_time_timer(cached.cleanup_time)
            else:
                self._pane.delete_processing_time_timer(cached.cleanup_time)
