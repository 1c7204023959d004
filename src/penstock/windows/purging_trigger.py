"""A trigger that purges the window whenever its nested trigger fires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.validation import check_trigger_result
from penstock.windows.window import Window


@dataclass(frozen=True, slots=True)
class PurgingTrigger(Trigger[Any, Window]):
    """Fires when its nested trigger fires, and then clears the contents of the window.

    >>> from penstock.windows.count_trigger import CountTrigger
    >>> PurgingTrigger.of(CountTrigger.of(3)).nested_trigger
    CountTrigger(window_size=3)
    """

    nested_trigger: Trigger[Any, Any]

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Returns a purging trigger around another trigger."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._add_purge(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._add_purge(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._add_purge(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def waits_for_end(self) -> bool:
        return type(self) is PurgingTrigger and self.nested_trigger.waits_for_end()

    def _add_purge(self, nested: TriggerResult) -> TriggerResult:
        result = check_trigger_result(self.nested_trigger, nested)
        return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result
