"""A trigger that also fires after a timeout."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.errors import PlanError
from penstock.state import ValueStateDescriptor
from penstock.time import Duration, to_millis
from penstock.types import Types
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.validation import check_trigger_result
from penstock.windows.window import Window


@dataclass(frozen=True, slots=True)
class ProcessingTimeoutTrigger(Trigger[Any, Window]):
    """Fires when its nested trigger fires, or when a timeout has passed in processing time since the first element.

    With `reset_timer_on_new_record` the timeout starts again with each element. With `should_clear_on_timeout` (the default),
    the state and the timers of both triggers are cleared when the timeout fires.

    >>> from penstock.windows.count_trigger import CountTrigger
    >>> ProcessingTimeoutTrigger.of(CountTrigger.of(100), Duration.of_seconds(5)).interval
    5000
    """

    nested_trigger: Trigger[Any, Any]
    interval: int
    reset_timer_on_new_record: bool = False
    should_clear_on_timeout: bool = True

    def __post_init__(self) -> None:
        if self.interval <= 0:
            raise PlanError(
                "TRIGGER_INTERVAL",
                f"A timeout trigger has a timeout of {self.interval} ms, but it must be positive. "
                "Pass the time to wait, such as Duration.of_seconds(10).",
            )

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: Duration | timedelta | int,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        """Returns a trigger with a timeout around another trigger. An `int` timeout is in milliseconds."""
        return ProcessingTimeoutTrigger(
            nested_trigger, to_millis(timeout), reset_timer_on_new_record, should_clear_on_timeout
        )

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = check_trigger_result(
            self.nested_trigger, self.nested_trigger.on_element(element, timestamp, window, ctx)
        )
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = _timeout_state(ctx)
        due = state.value()
        if due is not None and self.reset_timer_on_new_record:
            ctx.delete_processing_time_timer(due)
            due = None
        if due is None:
            due = ctx.get_current_processing_time() + self.interval
            state.update(due)
            ctx.register_processing_time_timer(due)
        return result

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._fire(self.nested_trigger.on_processing_time(time, window, ctx), window, ctx)

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._fire(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        state = _timeout_state(ctx)
        due = state.value()
        if due is not None:
            ctx.delete_processing_time_timer(due)
            state.clear()
        self.nested_trigger.clear(window, ctx)

    def _fire(self, nested: TriggerResult, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fires for any timer of the window, as in Flink."""
        if self.should_clear_on_timeout:
            self.clear(window, ctx)
        result = check_trigger_result(self.nested_trigger, nested)
        return TriggerResult.FIRE_AND_PURGE if result.is_purge() else TriggerResult.FIRE


def _timeout_state(ctx: Trigger.TriggerContext) -> Any:
    return ctx.get_partitioned_state(ValueStateDescriptor("timeout", Types.LONG()))
