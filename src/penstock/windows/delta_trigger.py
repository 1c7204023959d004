"""A trigger that fires when the distance between elements exceeds a threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.state import ValueStateDescriptor
from penstock.types import TypeInformation
from penstock.windows.delta_function import DeltaFunction, to_delta_callable
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import Window


@dataclass(frozen=True, slots=True)
class DeltaTrigger(Trigger[Any, Window]):
    """Fires when an element is farther than `threshold` from the element of the last firing (or from the first element).

    >>> DeltaTrigger.of(0.5, lambda old, new: abs(new - old)).threshold
    0.5
    """

    threshold: float
    delta_function: DeltaFunction | Callable[[Any, Any], float]
    state_type: TypeInformation | type | None = None  # the type of the elements; the last one is stored

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaFunction | Callable[[Any, Any], float],
        state_type: TypeInformation | type | None = None,
    ) -> DeltaTrigger:
        """Returns a trigger for a threshold and a function of the old and the new element."""
        return DeltaTrigger(threshold, delta_function, state_type)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = self._last_element_state(ctx)
        last = state.value()
        if last is None:
            state.update(element)
            return TriggerResult.CONTINUE
        if to_delta_callable(self.delta_function)(last, element) <= self.threshold:
            return TriggerResult.CONTINUE
        state.update(element)
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        self._last_element_state(ctx).clear()

    def _last_element_state(self, ctx: Trigger.TriggerContext) -> Any:
        return ctx.get_partitioned_state(ValueStateDescriptor("last-element", self.state_type))
