"""A trigger that fires after a number of elements."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from penstock.errors import PlanError
from penstock.state import ReducingStateDescriptor
from penstock.types import Types
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import Window

_COUNT = ReducingStateDescriptor("count", operator.add, Types.LONG())


@dataclass(frozen=True, slots=True)
class CountTrigger(Trigger[Any, Window]):
    """Fires when a window has received `window_size` elements since it last fired.

    >>> CountTrigger.of(3).window_size
    3
    """

    window_size: int

    def __post_init__(self) -> None:
        if self.window_size <= 0:
            raise PlanError(
                "TRIGGER_COUNT",
                f"A count trigger has a count of {self.window_size}, but it must be positive. "
                "Pass the number of elements after which a window fires.",
            )

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Returns a trigger that fires after every `window_size` elements."""
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        count = ctx.get_partitioned_state(_COUNT)
        count.add(1)
        if count.get() < self.window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(_COUNT)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(_COUNT).clear()
