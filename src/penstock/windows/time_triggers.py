"""Triggers that fire in event time or in processing time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.errors import PlanError
from penstock.state import ReducingStateDescriptor
from penstock.time import Duration, to_millis
from penstock.types import Types
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.window import Window

_FIRE_TIME = ReducingStateDescriptor("fire-time", min, Types.LONG())


@dataclass(frozen=True, slots=True)
class EventTimeTrigger(Trigger[Any, Window]):
    """Fires when the watermark passes the end of a window, and again for each later element within the allowed lateness.

    >>> EventTimeTrigger.create().can_merge()
    True
    """

    @staticmethod
    def create() -> EventTimeTrigger:
        """Returns an event-time trigger."""
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
        return type(self) is EventTimeTrigger  # a subclass may behave differently


@dataclass(frozen=True, slots=True)
class ProcessingTimeTrigger(Trigger[Any, Window]):
    """Fires when processing time passes the end of a window.

    >>> ProcessingTimeTrigger.create().waits_for_end()
    True
    """

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Returns a processing-time trigger."""
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
class _ContinuousTrigger(Trigger[Any, Window]):
    """Fires at intervals. The time of the next firing is state of the window."""

    interval: int

    def __post_init__(self) -> None:
        if self.interval <= 0:
            raise PlanError(
                "TRIGGER_INTERVAL",
                f"A continuous trigger has an interval of {self.interval} ms, but it must be positive. "
                "Pass the time between two firings, such as Duration.of_seconds(10).",
            )

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(_FIRE_TIME)
        next_time = ctx.get_partitioned_state(_FIRE_TIME).get()
        if next_time is not None:
            self._register_timer(next_time, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(_FIRE_TIME)
        next_time = state.get()
        if next_time is not None:
            self._delete_timer(next_time, ctx)
            state.clear()

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: Any
    ) -> None:
        """Registers the timer of the next firing."""
        raise NotImplementedError

    def _register_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        raise NotImplementedError

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        raise NotImplementedError

    def _fire_if_due(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self._register_after_firing(time, window, ctx, state)
        return TriggerResult.FIRE

    def _register_after_firing(self, time: int, window: Window, ctx: Trigger.TriggerContext, state: Any) -> None:
        self.register_next_fire_timestamp(time, window, ctx, state)


@dataclass(frozen=True, slots=True)
class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires whenever the watermark passes a multiple of an interval, and at the end of the window.

    >>> ContinuousEventTimeTrigger.of(Duration.of_seconds(2)).interval
    2000
    """

    @staticmethod
    def of(interval: Duration | timedelta | int) -> ContinuousEventTimeTrigger:
        """Returns a trigger for an interval. An `int` is in milliseconds."""
        return ContinuousEventTimeTrigger(to_millis(interval))

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
        return TriggerResult.FIRE if time == window.max_timestamp() else self._fire_if_due(time, window, ctx)

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: Any
    ) -> None:
        """Registers the timer of the next firing, one interval later, but not after the end of the window."""
        next_time = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_time)
        self._register_timer(next_time, ctx)

    def _register_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


@dataclass(frozen=True, slots=True)
class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires whenever processing time passes a multiple of an interval, and at the end of a processing-time window.

    A window fires at most once per batch. If several intervals have passed since the last batch, for example because the job
    was down, they are one firing.

    >>> ContinuousProcessingTimeTrigger.of(Duration.of_seconds(2)).interval
    2000
    """

    @staticmethod
    def of(interval: Duration | timedelta | int) -> ContinuousProcessingTimeTrigger:
        """Returns a trigger for an interval. An `int` is in milliseconds."""
        return ContinuousProcessingTimeTrigger(to_millis(interval))

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(_FIRE_TIME)
        if state.get() is None:
            now = ctx.get_current_processing_time()
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._fire_if_due(time, window, ctx)

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: Any
    ) -> None:
        """Registers the timer of the next firing, one interval later, but not after the end of the window."""
        next_time = time + self.interval
        if time <= window.max_timestamp():
            next_time = min(next_time, window.max_timestamp())
        fire_timestamp_state.add(next_time)
        self._register_timer(next_time, ctx)

    def _register_after_firing(self, time: int, window: Window, ctx: Trigger.TriggerContext, state: Any) -> None:
        """Skips the intervals that passed while no batch ran, because the window would emit the same result for each of them.

        Processing time may have passed the end of an event-time window that is still open. Flink would fire such a window
        forever.
        """
        now, end = ctx.get_current_processing_time(), window.max_timestamp()
        if max(time, now) < end:
            self.register_next_fire_timestamp(last_interval(time, now, self.interval), window, ctx, state)
        else:
            next_time = last_interval(max(time, end), now, self.interval) + self.interval
            state.add(next_time)
            self._register_timer(next_time, ctx)

    def _register_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)


@dataclass(frozen=True, slots=True)
class EarlyFiringTrigger(ContinuousProcessingTimeTrigger):
    """Fires whenever processing time passes a multiple of an interval, and finally when the watermark passes the window end.

    It emits early results and a complete final result. With ContinuousProcessingTimeTrigger, elements that arrive after the
    last firing of an event-time window are not emitted. Intervals that have passed since the last batch are one early firing.
    Flink has early firing only in SQL (table.exec.emit.early-fire).

    >>> EarlyFiringTrigger.of(Duration.of_seconds(1)).interval
    1000
    """

    @staticmethod
    def of(interval: Duration | timedelta | int) -> EarlyFiringTrigger:
        """Returns a trigger for an interval. An `int` is in milliseconds."""
        return EarlyFiringTrigger(to_millis(interval))

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        if _AT_END.on_element(element, timestamp, window, ctx) is TriggerResult.FIRE:
            return TriggerResult.FIRE
        return _CONTINUOUS.on_element(self, element, timestamp, window, ctx)

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _AT_END.on_event_time(time, window, ctx)

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        _AT_END.on_merge(window, ctx)
        _CONTINUOUS.on_merge(self, window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        _AT_END.clear(window, ctx)
        _CONTINUOUS.clear(self, window, ctx)

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: Any
    ) -> None:
        """Registers the timer of the next firing, one interval later. The final firing is by the watermark."""
        fire_timestamp_state.add(time + self.interval)
        ctx.register_processing_time_timer(time + self.interval)

    def _register_after_firing(self, time: int, window: Window, ctx: Trigger.TriggerContext, state: Any) -> None:
        last = last_interval(time, ctx.get_current_processing_time(), self.interval)
        self.register_next_fire_timestamp(last, window, ctx, state)


def last_interval(time: int, now: int, interval: int) -> int:
    """Returns the last of the times `time`, `time + interval`, ... that is not after `now`, or `time` if there is none.

    >>> last_interval(1000, 3600_500, 1000), last_interval(1000, 999, 1000)
    (3600000, 1000)
    """
    return time + max(0, now - time) // interval * interval


_AT_END = EventTimeTrigger()
_CONTINUOUS = ContinuousProcessingTimeTrigger  # called by name, because super() does not work in a dataclass with slots
