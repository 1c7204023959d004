"""Functions that see an element together with its time: the process functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeAlias

from penstock.functions import context
from penstock.functions.function import IN, IN1, IN2, KEY, OUT, Function, Yields


class ProcessFunction(Function, ABC, Generic[IN, OUT]):
    """Sees every element with its timestamp and watermark."""

    Context: TypeAlias = context.ProcessContext

    @abstractmethod
    def process_element(self, value: IN, ctx: Context) -> Yields[OUT]:
        """Called with each element; yields what it emits."""


class KeyedProcessFunction(Function, ABC, Generic[KEY, IN, OUT]):
    """Sees every element with its key; has keyed state and timers."""

    Context: TypeAlias = context.KeyedContext
    OnTimerContext: TypeAlias = context.OnTimerContext

    @abstractmethod
    def process_element(self, value: IN, ctx: Context) -> Yields[OUT]:
        """Called with each element; yields what it emits. State and timers are those of its key."""

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Yields[OUT]:
        """Called when a timer of the key fires."""
        return None


class CoProcessFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Sees the elements of two streams."""

    Context: TypeAlias = context.ProcessContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Yields[OUT]:
        """Called with each element of the first stream; yields what it emits."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Yields[OUT]:
        """Called with each element of the second stream; yields what it emits."""


class KeyedCoProcessFunction(Function, ABC, Generic[KEY, IN1, IN2, OUT]):
    """Sees the elements of two streams by key; has keyed state and timers."""

    Context: TypeAlias = context.KeyedContext
    OnTimerContext: TypeAlias = context.OnTimerContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Yields[OUT]:
        """Called with each element of the first stream; yields what it emits. State and timers are those of its key."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Yields[OUT]:
        """Called with each element of the second stream; yields what it emits. State and timers are those of its
        key.
        """

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Yields[OUT]:
        """Called when a timer of the key fires."""
        return None


class BaseBroadcastProcessFunction(Function, ABC):
    """What functions beside a broadcast stream have in common."""

    BaseContext: TypeAlias = context.BaseBroadcastContext
    Context: TypeAlias = context.BroadcastContext
    ReadOnlyContext: TypeAlias = context.ReadOnlyBroadcastContext


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Sees a stream beside a broadcast one."""

    Context: TypeAlias = context.BroadcastContext
    ReadOnlyContext: TypeAlias = context.ReadOnlyBroadcastContext

    @abstractmethod
    def process_element(self, value: IN1, ctx: ReadOnlyContext) -> Yields[OUT]:
        """Called with each element of the stream; yields what it emits. Broadcast state can be read."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Context) -> Yields[OUT]:
        """Called with each broadcast element in every subtask; changes broadcast state the same everywhere."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Sees a keyed stream beside a broadcast one; has keyed state and timers."""

    Context: TypeAlias = context.KeyedBroadcastContext
    ReadOnlyContext: TypeAlias = context.KeyedReadOnlyBroadcastContext
    OnTimerContext: TypeAlias = context.BroadcastOnTimerContext

    @abstractmethod
    def process_element(self, value: IN1, ctx: ReadOnlyContext) -> Yields[OUT]:
        """Called with each element of the keyed stream; yields what it emits. It has keyed state and timers, and
        reads broadcast state.
        """

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Context) -> Yields[OUT]:
        """Called with each broadcast element in every subtask; changes broadcast state the same everywhere."""

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Yields[OUT]:
        """Called when a timer of the key fires."""
        return None
