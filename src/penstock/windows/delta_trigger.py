"""A trigger that fires when elements have changed enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.state import ValueStateDescriptor
from penstock.types import TypeInformation
from penstock.windows.delta_function import DeltaFunction, delta_of
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import Window


@dataclass(frozen=True, slots=True)
class DeltaTrigger(Trigger[Any, Window]):
    """Fires with an element that is farther than `threshold` from the one that it fired with before, or the first one.

    >>> DeltaTrigger.of(0.5, lambda old, new: abs(new - old)).threshold
    0.5
    """

    threshold: float
    delta_function: DeltaFunction | Callable[[Any, Any], float]
    state_type: TypeInformation | type | None = None  # of the elements, which are kept

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaFunction | Callable[[Any, Any], float],
        state_type: TypeInformation | type | None = None,
    ) -> DeltaTrigger:
        return DeltaTrigger(threshold, delta_function, state_type)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = self._last(ctx)
        last = state.value()
        if last is None:
            state.update(element)
            return TriggerResult.CONTINUE
        if delta_of(self.delta_function)(last, element) <= self.threshold:
            return TriggerResult.CONTINUE
        state.update(element)
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        self._last(ctx).clear()

    def _last(self, ctx: Trigger.TriggerContext) -> Any:
        return ctx.get_partitioned_state(ValueStateDescriptor("last-element", self.state_type))
