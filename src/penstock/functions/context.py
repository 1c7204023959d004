"""Contexts that functions receive with each element and timer."""

from __future__ import annotations

import random
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState, StateDescriptor

K = TypeVar("K")
V = TypeVar("V")


class TimeDomain:
    """The time domain of a timer: event time or processing time."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class TimerService(ABC):
    """Access to time, and to the timers of the current key. All times are in milliseconds."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Returns the processing time of the current batch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Returns the current watermark."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Registers a timer. `on_timer` is called for the current key in the first batch at or after this time."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Registers a timer. `on_timer` is called for the current key when the watermark reaches this time."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Deletes a processing-time timer of the current key, if it exists."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Deletes an event-time timer of the current key, if it exists."""


class ProcessContext(ABC):
    """The context of one element."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """Returns the timestamp of the element in milliseconds, or None if it has none."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Returns the timer service. Timers are available on keyed streams only."""


class KeyedContext(ProcessContext):
    """The context of an element with a key. `random` and `uuid` return the same values when a batch is repeated."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """Returns the key of the current element or timer."""

    @property
    @abstractmethod
    def random(self) -> random.Random:
        """A random generator that returns the same numbers when the batch is repeated."""

    @abstractmethod
    def uuid(self) -> uuid.UUID:
        """Returns a random UUID, which is the same when the batch is repeated."""


class OnTimerContext(KeyedContext):
    """The context of a timer that fires."""

    @abstractmethod
    def time_domain(self) -> int:
        """Returns the time domain of the timer, `TimeDomain.EVENT_TIME` or `TimeDomain.PROCESSING_TIME`."""


class BaseBroadcastContext(ABC):
    """The common part of the contexts of broadcast process functions."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """Returns the timestamp of the element in milliseconds, or None if it has none."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Returns the processing time of the current batch in milliseconds."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Returns the current watermark in milliseconds."""


class BroadcastContext(BaseBroadcastContext):
    """The context of an element of the broadcast stream."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """Returns the broadcast state of a descriptor, for reading and writing."""


class ReadOnlyBroadcastContext(BaseBroadcastContext):
    """The context of an element of the non-broadcast stream."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> ReadOnlyBroadcastState[K, V]:
        """Returns the broadcast state of a descriptor, for reading only."""


class KeyedBroadcastContext(BroadcastContext):
    """The context of an element of the broadcast stream that is connected with a keyed stream."""

    @abstractmethod
    def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
        """Calls `function(key, state)` for each key of this subtask that has the state (`applyToKeyedState` in Flink)."""


class KeyedReadOnlyBroadcastContext(ReadOnlyBroadcastContext):
    """The context of an element of the keyed stream that is connected with a broadcast stream."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """Returns the key of the current element or timer."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Returns the timer service of the current key."""


class BroadcastOnTimerContext(KeyedReadOnlyBroadcastContext):
    """The context of a timer that fires in a keyed broadcast process function."""

    @abstractmethod
    def time_domain(self) -> int:
        """Returns the time domain of the timer, `TimeDomain.EVENT_TIME` or `TimeDomain.PROCESSING_TIME`."""
