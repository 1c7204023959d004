"""Global windows: one window per key that never ends. A trigger determines when it fires."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from penstock.windows.assigner import WindowAssigner
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import GlobalWindow, Window


@dataclass(frozen=True, slots=True)
class NeverTrigger(Trigger[Any, Window]):
    """Never fires. This is the default trigger of global windows."""

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        pass


@dataclass(frozen=True, slots=True)
class EndOfStreamTrigger(Trigger[Any, Window]):
    """Fires once, when all sources have ended (at the end of a bounded job).

    >>> EndOfStreamTrigger().can_merge()
    False
    """

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        pass


@dataclass(frozen=True, slots=True)
class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """Assigns all elements of a key to one window. Set a trigger, because by default the window never fires.

    >>> GlobalWindows.create().assign_windows("a", 5, None)
    [GlobalWindow()]
    """

    default_trigger: Trigger[Any, Any] = NeverTrigger()

    @staticmethod
    def create() -> GlobalWindows:
        """Returns an assigner whose windows never fire by default."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """Returns an assigner whose windows fire when all sources have ended (`createWithEndOfStreamTrigger` in Flink)."""
        return GlobalWindows(EndOfStreamTrigger())

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[GlobalWindow]:
        return [GlobalWindow()]

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        return self.default_trigger

    def is_event_time(self) -> bool:
        return False
