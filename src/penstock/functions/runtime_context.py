"""The surroundings of a function: its subtask, its state, its metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from penstock.metrics import MetricGroup
from penstock.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class KeyedStateStore(ABC):
    """Where a function gets the handles of its keyed state; the type in the descriptor is the type of the state."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """The value state of a descriptor."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """The list state of a descriptor."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """The map state of a descriptor."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """The reducing state of a descriptor."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor[K, V]) -> AggregatingState[K, V]:
        """The aggregating state of a descriptor."""


class RuntimeContext(KeyedStateStore):
    """The surroundings of a function, given to `open`."""

    @abstractmethod
    def get_task_name(self) -> str:
        """The operator's name."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """The operator's name, which subtask of how many this is, and the attempt: `count (2/4)#0`."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """How many subtasks the operator has."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups: no operator can have more subtasks."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """From 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often the job was restarted before this attempt: 0 in the first one."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> Any:
        """A parameter of the whole job, as set on the environment."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where this subtask of the operator registers its metrics."""
