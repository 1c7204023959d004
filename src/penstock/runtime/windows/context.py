"""Contexts of triggers, assigners, evictors and window functions. Each is one object that is set to the current pane."""

from __future__ import annotations

import copy
from typing import Any

from penstock.errors import StateError
from penstock.functions import KeyedStateStore, ProcessAllWindowFunction, ProcessWindowFunction
from penstock.metrics import MetricGroup
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.windows.merging_window_set import Namespace
from penstock.state import AggregatingStateDescriptor, StateDescriptor
from penstock.windows import Evictor, Trigger, Window, WindowAssigner


class PaneContext(Trigger.OnMergeContext, Evictor.EvictorContext, WindowAssigner.WindowAssignerContext):
    """The context of one key and window. `set_current` is called before each use."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self._backend = context.backend
        self._event = context.event_timers
        self._processing = context.processing_timers
        self.key: Any = None
        self.namespace: Namespace = ()
        self._states: dict[str, Any] = {}
        self.merged_windows: list[Namespace] = []  # during on_merge: the windows that were merged into this one

    def set_current(self, key: Any, namespace: Namespace) -> PaneContext:
        self.key = key
        self.namespace = namespace
        return self

    def get_current_processing_time(self) -> int:
        return self._context.now

    def get_current_watermark(self) -> int:
        return self._context.watermark

    def get_runtime_context(self) -> Any:
        return self._context.runtime

    def get_metric_group(self) -> MetricGroup:
        return self._context.runtime.get_metrics_group()

    def register_event_time_timer(self, time: int) -> None:
        self._event.register(time, self.key, self.namespace, self._context.running_due)

    def register_processing_time_timer(self, time: int) -> None:
        self._processing.register(time, self.key, self.namespace)

    def delete_event_time_timer(self, time: int) -> None:
        self._event.delete(time, self.key, self.namespace)

    def delete_processing_time_timer(self, time: int) -> None:
        self._processing.delete(time, self.key, self.namespace)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        self._backend.set_namespace(self.key, self.namespace)
        state = self._states.get(state_descriptor.name)
        if state is None:
            prefixed = copy.copy(state_descriptor)
            prefixed.name = f"trigger:{prefixed.name}"  # a window function may have a state of the same name
            state = self._states[state_descriptor.name] = self._backend.handle(prefixed, "namespace")
        return state

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        state = self.get_partitioned_state(state_descriptor)
        if state_descriptor.kind not in ("reducing", "aggregating", "list"):
            raise StateError(
                "STATE_NOT_MERGEABLE",
                f"State '{state_descriptor.name}' of a trigger is {state_descriptor.kind} state, which cannot be merged when "
                "windows merge. Use reducing, aggregating or list state.",
            )
        for namespace in self.merged_windows:
            if namespace == self.namespace:
                continue
            self._backend.set_namespace(self.key, namespace)
            moved = list(state.get()) if state_descriptor.kind == "list" else state.inner.value()
            state.clear()
            self._backend.set_namespace(self.key, self.namespace)
            if moved is None or moved == []:
                continue
            if state_descriptor.kind == "list":
                state.add_all(moved)
            elif isinstance(state_descriptor, AggregatingStateDescriptor):
                current = state.inner.value()
                merge = state_descriptor.agg_function.merge
                state.inner.update(moved if current is None else merge(current, moved))
            else:
                state.add(moved)


class WindowFunctionContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """The context of a process window function: the window, the clocks, and state per window and per key."""

    def __init__(self, context: OperatorContext, merging: bool) -> None:
        self._context = context
        self._merging = merging
        self._window: Window | None = None
        self._window_state = ScopedStateStore(context, "namespace")
        self._global_state = ScopedStateStore(context, "key")

    @property
    def copies_elements(self) -> bool:
        return self._context.copies_elements

    def set_current(self, key: Any, namespace: Namespace, window: Window) -> WindowFunctionContext:
        self._window = window
        self._context.backend.set_namespace(key, namespace)
        return self

    def window(self) -> Any:
        return self._window

    def current_processing_time(self) -> int:
        return self._context.now

    def current_watermark(self) -> int:
        return self._context.watermark

    def window_state(self) -> ScopedStateStore:
        if self._merging:
            raise StateError(
                "STATE_OF_MERGING_WINDOW",
                "A window function uses per-window state, but its windows merge. The state would be lost with every merge. "
                "Use global_state(), or windows that do not merge.",
            )
        return self._window_state

    def global_state(self) -> ScopedStateStore:
        return self._global_state


class ScopedStateStore(KeyedStateStore):
    """State of the current key, or of the current key and window."""

    def __init__(self, context: OperatorContext, scope: str) -> None:
        self._backend = context.backend
        self._scope = scope

    def _state(self, state_descriptor: StateDescriptor) -> Any:
        return self._backend.handle(state_descriptor, self._scope)

    get_state = get_list_state = get_map_state = get_reducing_state = get_aggregating_state = _state
