"""When a window's results are emitted: the contract of triggers.

A trigger is a description. Whatever it must remember lives in state that its context gives it, per key and window.
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
    """What happens to a window. FIRE emits its results, PURGE drops its contents.

    >>> TriggerResult.FIRE.is_fire(), TriggerResult.FIRE.is_purge()
    (True, False)
    """

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        return self is TriggerResult.FIRE or self is TriggerResult.FIRE_AND_PURGE

    def is_purge(self) -> bool:
        return self is TriggerResult.PURGE or self is TriggerResult.FIRE_AND_PURGE


class Trigger(ABC, Generic[T, W]):
    """Decides at every element and timer of a window what happens to it."""

    __slots__ = ()

    class TriggerContext(ABC):
        """Clocks, timers and state of the window that a trigger is asked about."""

        @abstractmethod
        def get_current_processing_time(self) -> int: ...

        @abstractmethod
        def get_current_watermark(self) -> int: ...

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Where a trigger registers its metrics."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """State of the current key and window."""

    class OnMergeContext(TriggerContext):
        """The context of the window that a merge results in."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Moves the merged windows' state into the result's; for reducing, aggregating and list state."""

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called after an element was added to a window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when a processing timer of a window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when an event timer of a window fires."""

    def can_merge(self) -> bool:
        """Whether the trigger may be used with windows that merge; then it must have `on_merge`."""
        return False

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Called when windows have become one, before the merged ones are cleared."""
        raise NotImplementedError(f"{type(self).__name__} says that it can merge, but has no on_merge.")

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Drops the trigger's state and timers of a window."""

    def waits_for_end(self) -> bool:
        """Whether an element, while its window's end is ahead, sets the timer of that end and does nothing else.

        Then asking once per window, key and batch is enough, and elements may be combined before the shuffle.
        """
        return False
