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
    def process_element(self, value: IN, ctx: Context) -> Yields[OUT]: ...


class KeyedProcessFunction(Function, ABC, Generic[KEY, IN, OUT]):
    """Sees every element with its key; has keyed state and timers."""

    Context: TypeAlias = context.KeyedContext
    OnTimerContext: TypeAlias = context.OnTimerContext

    @abstractmethod
    def process_element(self, value: IN, ctx: Context) -> Yields[OUT]: ...

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Yields[OUT]:
        """Called when a timer of the key fires."""
        return None


class CoProcessFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Sees the elements of two streams."""

    Context: TypeAlias = context.ProcessContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Yields[OUT]: ...

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Yields[OUT]: ...


class KeyedCoProcessFunction(Function, ABC, Generic[KEY, IN1, IN2, OUT]):
    """Sees the elements of two streams by key; has keyed state and timers."""

    Context: TypeAlias = context.KeyedContext
    OnTimerContext: TypeAlias = context.OnTimerContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Yields[OUT]: ...

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Yields[OUT]: ...

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
    def process_element(self, value: IN1, ctx: ReadOnlyContext) -> Yields[OUT]: ...

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Context) -> Yields[OUT]: ...


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Sees a keyed stream beside a broadcast one; has keyed state and timers."""

    Context: TypeAlias = context.KeyedBroadcastContext
    ReadOnlyContext: TypeAlias = context.KeyedReadOnlyBroadcastContext
    OnTimerContext: TypeAlias = context.BroadcastOnTimerContext

    @abstractmethod
    def process_element(self, value: IN1, ctx: ReadOnlyContext) -> Yields[OUT]: ...

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Context) -> Yields[OUT]: ...

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Yields[OUT]:
        """Called when a timer of the key fires."""
        return None
