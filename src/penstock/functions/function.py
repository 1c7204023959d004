"""Functions that users write. Each has `open` and `close`; a plain callable may stand wherever a class may."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.context import (
    BroadcastContext,
    KeyedContext,
    OnTimerContext,
    ProcessContext,
    ReadOnlyBroadcastContext,
    RuntimeContext,
)


class Function:
    """Anything with a life cycle around a subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called before the first element; state handles are got here."""

    def close(self) -> None:
        """Called after the last element."""


class MapFunction(Function, ABC):
    """One element in, one element out."""

    @abstractmethod
    def map(self, value: Any) -> Any: ...


class FlatMapFunction(Function, ABC):
    """One element in, any number out."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None: ...


class FilterFunction(Function, ABC):
    """Keeps the elements for which it returns True."""

    @abstractmethod
    def filter(self, value: Any) -> bool: ...


class ReduceFunction(Function, ABC):
    """Combines two elements into one of the same type."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any: ...


class AggregateFunction(Function, ABC):
    """Keeps an accumulator over elements."""

    @abstractmethod
    def create_accumulator(self) -> Any: ...

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any: ...

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any: ...

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any: ...


class KeySelector(Function, ABC):
    """Gives an element its key."""

    @abstractmethod
    def get_key(self, value: Any) -> Any: ...


class Partitioner(ABC):
    """Chooses the subtask of a key."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int: ...


class CoMapFunction(Function, ABC):
    """One element of either stream in, one out."""

    @abstractmethod
    def map1(self, value: Any) -> Any: ...

    @abstractmethod
    def map2(self, value: Any) -> Any: ...


class CoFlatMapFunction(Function, ABC):
    """One element of either stream in, any number out."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None: ...

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None: ...


class ProcessFunction(Function, ABC):
    """Sees every element with its timestamp and watermark."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessContext) -> Iterable[Any] | None: ...


class KeyedProcessFunction(Function, ABC):
    """Sees every element with its key; has keyed state and timers."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None: ...

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """Called when a timer of the key fires."""
        return None


class CoProcessFunction(Function, ABC):
    """Sees the elements of two streams."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: ProcessContext) -> Iterable[Any] | None: ...

    @abstractmethod
    def process_element2(self, value: Any, ctx: ProcessContext) -> Iterable[Any] | None: ...


class KeyedCoProcessFunction(Function, ABC):
    """Sees the elements of two streams by key; has keyed state and timers."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None: ...

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None: ...

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """Called when a timer of the key fires."""
        return None


class BroadcastProcessFunction(Function, ABC):
    """Sees a stream beside a broadcast one."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ReadOnlyBroadcastContext) -> Iterable[Any] | None: ...

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: BroadcastContext) -> Iterable[Any] | None: ...


class KeyedBroadcastProcessFunction(Function, ABC):
    """Sees a keyed stream beside a broadcast one; has keyed state and timers."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ReadOnlyBroadcastContext) -> Iterable[Any] | None: ...

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: BroadcastContext) -> Iterable[Any] | None: ...

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """Called when a timer of the key fires."""
        return None
