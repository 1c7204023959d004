"""The runtime context of a function: its subtask, state and metrics."""

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
    """Returns handles of keyed state. The type in the descriptor is the type of the state."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """Returns the value state of a descriptor."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Returns the list state of a descriptor."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """Returns the map state of a descriptor."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """Returns the reducing state of a descriptor."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor[K, V]) -> AggregatingState[K, V]:
        """Returns the aggregating state of a descriptor."""


class RuntimeContext(KeyedStateStore):
    """Information about the subtask in which a function runs, and access to its state and metrics. Passed to `open`."""

    @abstractmethod
    def get_task_name(self) -> str:
        """Returns the name of the operator."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Returns the name of the operator, the subtask and the attempt, for example `count (2/4)#0`."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Returns the parallelism of the operator."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Returns the maximum parallelism, which is the number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Returns the index of this subtask, starting at 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Returns the attempt number: 0 in the first attempt, incremented with each restart of the job."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> Any:
        """Returns a job parameter that was set on the environment, or the default value."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Returns the metric group of this subtask."""
