"""What a function is handed while it runs: contexts, timers, and the runtime around it."""

from __future__ import annotations

import random
import uuid
from abc import ABC, abstractmethod
from typing import Any

from penstock.functions.output_tag import OutputTag
from penstock.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)

__all__ = [
    "KeyedContext",
    "OnTimerContext",
    "OutputTag",
    "ProcessContext",
    "RuntimeContext",
    "TimeDomain",
    "TimerService",
]


class TimeDomain:
    """Which clock a timer belongs to."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class TimerService(ABC):
    """Clock and timers of the current key."""

    @abstractmethod
    def current_processing_time(self) -> int: ...

    @abstractmethod
    def current_watermark(self) -> int: ...

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None: ...

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None: ...

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None: ...

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None: ...


class ProcessContext(ABC):
    """The context of one element."""

    @abstractmethod
    def timestamp(self) -> int | None: ...

    @abstractmethod
    def timer_service(self) -> TimerService: ...


class KeyedContext(ProcessContext):
    """The context of one element with a key. `random` and `uuid` repeat exactly when a batch is run again."""

    @abstractmethod
    def get_current_key(self) -> Any: ...

    @property
    @abstractmethod
    def random(self) -> random.Random: ...

    @abstractmethod
    def uuid(self) -> uuid.UUID: ...


class OnTimerContext(KeyedContext):
    """The context of a firing timer."""

    @abstractmethod
    def time_domain(self) -> int: ...


class BroadcastContext(ProcessContext):
    """The context of an element of the broadcast side."""

    @abstractmethod
    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> BroadcastState: ...


class ReadOnlyBroadcastContext(ProcessContext):
    """The context of an element of the other side."""

    @abstractmethod
    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState: ...


class RuntimeContext(ABC):
    """The surroundings of a function, given to `open`."""

    @abstractmethod
    def get_task_name(self) -> str: ...

    @abstractmethod
    def get_index_of_this_subtask(self) -> int: ...

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int: ...

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int: ...

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str: ...

    @abstractmethod
    def get_state(self, descriptor: ValueStateDescriptor) -> ValueState[Any]: ...

    @abstractmethod
    def get_list_state(self, descriptor: ListStateDescriptor) -> ListState[Any]: ...

    @abstractmethod
    def get_map_state(self, descriptor: MapStateDescriptor) -> MapState: ...

    @abstractmethod
    def get_reducing_state(self, descriptor: ReducingStateDescriptor) -> ReducingState[Any]: ...

    @abstractmethod
    def get_aggregating_state(self, descriptor: AggregatingStateDescriptor) -> AggregatingState: ...
