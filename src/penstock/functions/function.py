"""Functions that users write. Each has `open` and `close`; a plain callable may stand wherever a class has one method.

They are generic in what goes in and what comes out, as in Flink's Java API: `MapFunction[str, int]`. The parameters may be
left out.
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

Yields = Iterable[T | tuple[OutputTag[Any], Any]] | None  # what a process function gives: elements and tagged elements


class Function:
    """Anything with a life cycle around a subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called before the first element; state handles are got here."""

    def close(self) -> None:
        """Called after the last element."""


class MapFunction(Function, ABC, Generic[IN, OUT]):
    """One element in, one element out."""

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """What the element becomes."""


class FlatMapFunction(Function, ABC, Generic[IN, OUT]):
    """One element in, any number out."""

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT] | None:
        """What the element becomes: any number of elements, or None."""


class FilterFunction(Function, ABC, Generic[IN]):
    """Keeps the elements for which it returns True."""

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Whether the element stays."""


class ReduceFunction(Function, ABC, Generic[T]):
    """Combines two elements into one of the same type."""

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """Two elements as one of the same type."""


class AggregateFunction(Function, ABC, Generic[IN, ACC, OUT]):
    """Keeps an accumulator over elements."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """An accumulator that nothing was added to."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """The accumulator with one more element; it may be changed in place and given back."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """What the elements so far amount to."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Two accumulators as one; session windows need it."""


class KeySelector(Function, ABC, Generic[IN, SELECTED]):
    """Gives an element its key."""

    @abstractmethod
    def get_key(self, value: IN) -> SELECTED:
        """The element's key; always the same for the same element."""


class NullByteKeySelector(KeySelector[Any, int]):
    """Gives every element the key 0, so that keyed operators take a whole stream.

    >>> NullByteKeySelector().get_key("anything")
    0
    """

    def get_key(self, value: Any) -> int:
        """0."""
        return 0


class Partitioner(Function, ABC, Generic[KEY]):
    """Chooses the subtask of a key."""

    @abstractmethod
    def partition(self, key: KEY, num_partitions: int) -> int:
        """The subtask, from 0, that elements of this key go to."""


class CoMapFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """One element of either stream in, one out; None stands for no element."""

    @abstractmethod
    def map1(self, value: IN1) -> OUT | None:
        """What an element of the first stream becomes; None: nothing."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT | None:
        """What an element of the second stream becomes; None: nothing."""


class CoFlatMapFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """One element of either stream in, any number out."""

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """What an element of the first stream becomes: any number of elements, or None."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """What an element of the second stream becomes: any number of elements, or None."""
