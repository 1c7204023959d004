"""One window per key, for ever; a trigger decides when it fires."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.windows.assigner import WindowAssigner
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import GlobalWindow, Window


@dataclass(frozen=True, slots=True)
class NeverTrigger(Trigger[Any, Window]):
    """Never fires: the trigger of global windows, unless they are given another."""

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
class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """All elements of a key in one window.

    >>> GlobalWindows.create().assign_windows("a", 5, None)
    [GlobalWindow()]
    """

    window_type: ClassVar[type[Window]] = GlobalWindow

    @staticmethod
    def create() -> GlobalWindows:
        return GlobalWindows()

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[GlobalWindow]:
        return [GlobalWindow()]

    def get_default_trigger(self, env: Any = None) -> NeverTrigger:
        return NeverTrigger()

    def is_event_time(self) -> bool:
        return False
