"""Functions that users write. Each has `open` and `close`. A plain callable can be passed instead of a class with one method.

The classes are generic in their input and output types, as in the Java API of Flink, for example `MapFunction[str, int]`. The
type parameters are optional.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.functions.output_tag import OutputTag
from penstock.functions.runtime_context import RuntimeContext

IN = TypeVar("IN", contravariant=True, default=Any)
IN1 = TypeVar("IN1", contravariant=True, default=Any)
IN2 = TypeVar("IN2", contravariant=True, default=Any)
OUT = TypeVar("OUT", covariant=True, default=Any)
KEY = TypeVar("KEY", contravariant=True, default=Any)
SELECTED = TypeVar("SELECTED", covariant=True, default=Any)
ACC = TypeVar("ACC", default=Any)
T = TypeVar("T", default=Any)

Yields = Iterable[T | tuple[OutputTag[Any], Any]] | None  # the results of a process function: elements and (tag, value)


class Function:
    """Base class of all functions, with a lifecycle in each subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once before the first element. Get state handles and open connections here."""

    def close(self) -> None:
        """Called once after the last element. Release resources here."""


class MapFunction(Function, ABC, Generic[IN, OUT]):
    """Transforms each element into one element.

    >>> class Length(MapFunction[str, int]):
    ...     def map(self, value: str) -> int:
    ...         return len(value)
    """

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """Returns the element to emit. Called for each element."""


class FlatMapFunction(Function, ABC, Generic[IN, OUT]):
    """Transforms each element into any number of elements.

    >>> class Words(FlatMapFunction[str, str]):
    ...     def flat_map(self, value: str) -> Iterable[str]:
    ...         return value.split()
    """

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT] | None:
        """Returns the elements to emit, or None. Called for each element."""


class FilterFunction(Function, ABC, Generic[IN]):
    """Selects elements."""

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Returns whether to emit the element. Called for each element."""


class ReduceFunction(Function, ABC, Generic[T]):
    """Combines two elements into one of the same type. It must be associative."""

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """Returns the combination of two elements."""


class AggregateFunction(Function, ABC, Generic[IN, ACC, OUT]):
    """Aggregates elements in an accumulator.

    >>> class Mean(AggregateFunction[float, tuple[float, int], float]):
    ...     def create_accumulator(self) -> tuple[float, int]:
    ...         return 0.0, 0
    ...     def add(self, value: float, accumulator: tuple[float, int]) -> tuple[float, int]:
    ...         return accumulator[0] + value, accumulator[1] + 1
    ...     def get_result(self, accumulator: tuple[float, int]) -> float:
    ...         return accumulator[0] / accumulator[1]
    ...     def merge(self, acc_a: tuple[float, int], acc_b: tuple[float, int]) -> tuple[float, int]:
    ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
    """

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Returns a new, empty accumulator."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """Adds an element and returns the accumulator, which may be modified in place."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Returns the result of an accumulator. Called when a window fires."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Merges two accumulators. Required for session windows."""


class KeySelector(Function, ABC, Generic[IN, SELECTED]):
    """Extracts the key of an element."""

    @abstractmethod
    def get_key(self, value: IN) -> SELECTED:
        """Returns the key. It must be deterministic."""


class NullByteKeySelector(KeySelector[Any, int]):
    """Assigns the key 0 to every element, so that keyed operators can process a non-keyed stream.

    >>> NullByteKeySelector().get_key("anything")
    0
    """

    def get_key(self, value: Any) -> int:
        """Returns 0."""
        return 0


class Partitioner(Function, ABC, Generic[KEY]):
    """Selects the subtask for a key."""

    @abstractmethod
    def partition(self, key: KEY, num_partitions: int) -> int:
        """Returns the index of the subtask, between 0 and `num_partitions` - 1."""


class CoMapFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Transforms each element of two streams into one element. None emits nothing."""

    @abstractmethod
    def map1(self, value: IN1) -> OUT | None:
        """Returns the element to emit for an element of the first stream, or None."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT | None:
        """Returns the element to emit for an element of the second stream, or None."""


class CoFlatMapFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Transforms each element of two streams into any number of elements."""

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """Returns the elements to emit for an element of the first stream, or None."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """Returns the elements to emit for an element of the second stream, or None."""
