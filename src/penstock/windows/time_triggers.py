"""Triggers that fire by a clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.errors import PlanError
from penstock.state import ReducingStateDescriptor
from penstock.time import Duration, millis_of
from penstock.types import Types
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import Window

_FIRE_TIME = ReducingStateDescriptor("fire-time", min, Types.LONG())


@dataclass(frozen=True, slots=True)
class EventTimeTrigger(Trigger[Any, Window]):
    """Fires when the watermark passes the window's end, and again for each element that comes later.

    >>> EventTimeTrigger.create().can_merge()
    True
    """

    @staticmethod
    def create() -> EventTimeTrigger:
        return EventTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        end = window.max_timestamp()
        if end > ctx.get_current_watermark():
            ctx.register_event_time_timer(end)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())

    def waits_for_end(self) -> bool:
        return type(self) is EventTimeTrigger  # what a subclass does is not known


@dataclass(frozen=True, slots=True)
class ProcessingTimeTrigger(Trigger[Any, Window]):
    """Fires when the batch clock passes the window's end.

    >>> ProcessingTimeTrigger.create().waits_for_end()
    True
    """

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        end = window.max_timestamp()
        if end > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(end)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())

    def waits_for_end(self) -> bool:
        return type(self) is ProcessingTimeTrigger


@dataclass(frozen=True, slots=True)
class ContinuousEventTimeTrigger(Trigger[Any, Window]):
    """Fires at every multiple of an interval that the watermark passes, and at the window's end.

    >>> ContinuousEventTimeTrigger.of(Duration.of_seconds(2)).interval
    2000
    """

    interval: int

    def __post_init__(self) -> None:
        _check_interval(self.interval)

    @staticmethod
    def of(interval: Duration | timedelta | int) -> ContinuousEventTimeTrigger:
        return ContinuousEventTimeTrigger(millis_of(interval))

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() is None:
            self.register_next_fire_timestamp(timestamp - timestamp % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(_FIRE_TIME)
        following = ctx.get_partitioned_state(_FIRE_TIME).get()
        if following is not None:
            ctx.register_event_time_timer(following)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(_FIRE_TIME)
        following = state.get()
        if following is not None:
            ctx.delete_event_time_timer(following)
            state.clear()

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: Any
    ) -> None:
        """Sets the timer of the next firing: an interval later, but no later than the window's end."""
        following = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(following)
        ctx.register_event_time_timer(following)


@dataclass(frozen=True, slots=True)
class ContinuousProcessingTimeTrigger(Trigger[Any, Window]):
    """Fires at every multiple of an interval that the batch clock passes, and at the end of a processing-time window.

    >>> ContinuousProcessingTimeTrigger.of(Duration.of_seconds(2)).interval
    2000
    """

    interval: int

    def __post_init__(self) -> None:
        _check_interval(self.interval)

    @staticmethod
    def of(interval: Duration | timedelta | int) -> ContinuousProcessingTimeTrigger:
        return ContinuousProcessingTimeTrigger(millis_of(interval))

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() is None:
            now = ctx.get_current_processing_time()
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(_FIRE_TIME)
        following = ctx.get_partitioned_state(_FIRE_TIME).get()
        if following is not None:
            ctx.register_processing_time_timer(following)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(_FIRE_TIME)
        following = state.get()
        if following is not None:
            ctx.delete_processing_time_timer(following)
            state.clear()

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: Any
    ) -> None:
        """Sets the timer of the next firing: an interval later, but no later than the window's end while that is ahead.

        The clock may have passed the end of an event-time window that is still open; Flink would fire such a window for ever.
        """
        following = time + self.interval
        if time < window.max_timestamp():
            following = min(following, window.max_timestamp())
        fire_timestamp_state.add(following)
        ctx.register_processing_time_timer(following)


@dataclass(frozen=True, slots=True)
class EarlyFiringTrigger(Trigger[Any, Window]):
    """Fires at every multiple of an interval that the batch clock passes, and at last when the watermark passes the window's end.

    The result so far for those who look, and the final one for sure: ContinuousProcessingTimeTrigger drops what came since it
    fired last when an event-time window ends. Flink has it in SQL only (table.exec.emit.early-fire).

    >>> EarlyFiringTrigger.of(Duration.of_seconds(1)).interval
    1000
    """

    interval: int

    def __post_init__(self) -> None:
        _check_interval(self.interval)

    @staticmethod
    def of(interval: Duration | timedelta | int) -> EarlyFiringTrigger:
        return EarlyFiringTrigger(millis_of(interval))

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() is None:
            now = ctx.get_current_processing_time()
            self._fire_next(now - now % self.interval, ctx, state)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self._fire_next(time, ctx, state)
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        end = window.max_timestamp()
        if end > ctx.get_current_watermark():
            ctx.register_event_time_timer(end)
        ctx.merge_partitioned_state(_FIRE_TIME)
        following = ctx.get_partitioned_state(_FIRE_TIME).get()
        if following is not None:
            ctx.register_processing_time_timer(following)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
        state = ctx.get_partitioned_state(_FIRE_TIME)
        following = state.get()
        if following is not None:
            ctx.delete_processing_time_timer(following)
            state.clear()

    def _fire_next(self, time: int, ctx: Trigger.TriggerContext, fire_timestamp_state: Any) -> None:
        fire_timestamp_state.add(time + self.interval)
        ctx.register_processing_time_timer(time + self.interval)


def _check_interval(interval: int) -> None:
    if interval <= 0:
        raise PlanError(
            "TRIGGER_INTERVAL",
            f"A continuous trigger has an interval of {interval} ms; it must be positive. "
            "Give the time between two firings, such as Duration.of_seconds(10).",
        )
