"""The base class of triggers, which determine when the results of a window are emitted.

A trigger object has no mutable attributes. It stores everything in the state of its context, per key and window.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.metrics import MetricGroup
from penstock.state import StateDescriptor
from penstock.windows.window import Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TriggerResult(Enum):
    """What happens to a window: FIRE emits its results, PURGE clears its contents.

    >>> TriggerResult.FIRE.is_fire(), TriggerResult.FIRE.is_purge()
    (True, False)
    """

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Returns whether the window emits its results."""
        return self is TriggerResult.FIRE or self is TriggerResult.FIRE_AND_PURGE

    def is_purge(self) -> bool:
        """Returns whether the contents of the window are cleared."""
        return self is TriggerResult.PURGE or self is TriggerResult.FIRE_AND_PURGE


class Trigger(ABC, Generic[T, W]):
    """Determines when a window emits its results. Called for each element and each timer of a window."""

    __slots__ = ()

    class TriggerContext(ABC):
        """Access to time, timers and state of the current key and window."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Returns the current processing time in milliseconds."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Returns the current watermark in milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Returns the metric group in which the trigger registers its metrics."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Registers a timer. `on_processing_time` is called when processing time reaches it."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Registers a timer. `on_event_time` is called when the watermark reaches it."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Deletes a processing-time timer, if it exists."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Deletes an event-time timer, if it exists."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """Returns the state of the trigger for the current key and window."""

    class OnMergeContext(TriggerContext):
        """The context of the window that results from a merge."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merges the state of the merged windows. Only reducing, aggregating and list state can be merged."""

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called after an element was added to a window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when a processing-time timer of a window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when an event-time timer of a window fires."""

    def can_merge(self) -> bool:
        """Returns whether the trigger supports merging windows. If so, it must implement `on_merge`."""
        return False

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Called when windows have been merged into a window, before the merged windows are cleared."""
        raise NotImplementedError(
            f"can_merge() of {type(self).__name__} returns True, but on_merge() is not implemented."
        )

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Deletes the state and the timers of the trigger for a window. Called when the window is dropped."""

    def waits_for_end(self) -> bool:
        """Returns whether `on_element`, before the end of the window, only registers the timer of that end.

        If so, it is called once per window, key and batch, and elements may be pre-aggregated before the shuffle.
        """
        return False
