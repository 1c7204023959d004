"""What a function is handed with each element and timer."""

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
    """Which clock a timer belongs to."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class TimerService(ABC):
    """Clock and timers of the current key."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The time of the running batch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Calls `on_timer` for the current key in the first batch at or after this time."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Calls `on_timer` for the current key when the watermark reaches this time."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Removes the timer; nothing happens when there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Removes the timer; nothing happens when there is none."""


class ProcessContext(ABC):
    """The context of one element."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The element's event time; None when it has none."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Clocks; and timers, where the stream is keyed."""


class KeyedContext(ProcessContext):
    """The context of one element with a key. `random` and `uuid` repeat exactly when a batch is run again."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the element or timer."""

    @property
    @abstractmethod
    def random(self) -> random.Random:
        """A random generator that gives the same numbers when the batch runs again."""

    @abstractmethod
    def uuid(self) -> uuid.UUID:
        """A random id that is the same when the batch runs again."""


class OnTimerContext(KeyedContext):
    """The context of a firing timer."""

    @abstractmethod
    def time_domain(self) -> int:
        """Whether the timer is one of event time or of processing time."""


class BaseBroadcastContext(ABC):
    """What both sides of a broadcast process function may ask for."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The element's event time; None when it has none."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The time of the running batch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come."""


class BroadcastContext(BaseBroadcastContext):
    """The context of an element of the broadcast side."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """The broadcast state of a descriptor, to be read and changed."""


class ReadOnlyBroadcastContext(BaseBroadcastContext):
    """The context of an element of the other side."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> ReadOnlyBroadcastState[K, V]:
        """The broadcast state of a descriptor, to be read."""


class KeyedBroadcastContext(BroadcastContext):
    """The context of an element of the broadcast side beside a keyed stream."""

    @abstractmethod
    def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
        """Calls function(key, state) for each key of this subtask that has the state (Flink's `applyToKeyedState`)."""


class KeyedReadOnlyBroadcastContext(ReadOnlyBroadcastContext):
    """The context of an element of a keyed stream beside a broadcast one."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the element or timer."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Clocks and timers."""


class BroadcastOnTimerContext(KeyedReadOnlyBroadcastContext):
    """The context of a firing timer beside a broadcast stream."""

    @abstractmethod
    def time_domain(self) -> int:
        """Whether the timer is one of event time or of processing time."""
