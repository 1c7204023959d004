"""Process functions, which have access to timestamps, watermarks, state and timers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeAlias

from penstock.functions import context
from penstock.functions.function import IN, IN1, IN2, KEY, OUT, Function, Yields


class ProcessFunction(Function, ABC, Generic[IN, OUT]):
    """Processes each element with its timestamp and the current watermark.

    >>> class Late(ProcessFunction[str, str]):
    ...     def process_element(self, value: str, ctx: ProcessFunction.Context) -> Yields[str]:
    ...         yield f"{value} at {ctx.timestamp()}"
    """

    Context: TypeAlias = context.ProcessContext

    @abstractmethod
    def process_element(self, value: IN, ctx: Context) -> Yields[OUT]:
        """Called for each element. Yields the elements to emit."""


class KeyedProcessFunction(Function, ABC, Generic[KEY, IN, OUT]):
    """Processes each element with its key. It has access to keyed state and timers.

    >>> class Remind(KeyedProcessFunction[str, str, str]):
    ...     def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Yields[str]:
    ...         ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 60_000)
    ...         return ()
    ...     def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Yields[str]:
    ...         yield f"a minute after {ctx.get_current_key()}"
    """

    Context: TypeAlias = context.KeyedContext
    OnTimerContext: TypeAlias = context.OnTimerContext

    @abstractmethod
    def process_element(self, value: IN, ctx: Context) -> Yields[OUT]:
        """Called for each element. Yields the elements to emit. State and timers are those of the key of the element."""

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Yields[OUT]:
        """Called when a timer fires. Yields the elements to emit. State and timers are those of the key of the timer."""
        return None


class CoProcessFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Processes the elements of two connected streams."""

    Context: TypeAlias = context.ProcessContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Yields[OUT]:
        """Called for each element of the first stream. Yields the elements to emit."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Yields[OUT]:
        """Called for each element of the second stream. Yields the elements to emit."""


class KeyedCoProcessFunction(Function, ABC, Generic[KEY, IN1, IN2, OUT]):
    """Processes the elements of two connected streams with their keys. It has access to keyed state and timers."""

    Context: TypeAlias = context.KeyedContext
    OnTimerContext: TypeAlias = context.OnTimerContext

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Yields[OUT]:
        """Called for each element of the first stream. Yields the elements to emit. State and timers are per key."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Yields[OUT]:
        """Called for each element of the second stream. Yields the elements to emit. State and timers are per key."""

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Yields[OUT]:
        """Called when a timer fires. Yields the elements to emit. State and timers are those of the key of the timer."""
        return None


class BaseBroadcastProcessFunction(Function, ABC):
    """Base class of broadcast process functions."""

    BaseContext: TypeAlias = context.BaseBroadcastContext
    Context: TypeAlias = context.BroadcastContext
    ReadOnlyContext: TypeAlias = context.ReadOnlyBroadcastContext


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Processes the elements of a stream that is connected with a broadcast stream."""

    Context: TypeAlias = context.BroadcastContext
    ReadOnlyContext: TypeAlias = context.ReadOnlyBroadcastContext

    @abstractmethod
    def process_element(self, value: IN1, ctx: ReadOnlyContext) -> Yields[OUT]:
        """Called for each element of the non-broadcast stream. Yields the elements to emit. Broadcast state is read-only."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Context) -> Yields[OUT]:
        """Called for each broadcast element in every subtask. It must change broadcast state in the same way everywhere."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Processes a keyed stream that is connected with a broadcast stream. It has access to keyed state and timers."""

    Context: TypeAlias = context.KeyedBroadcastContext
    ReadOnlyContext: TypeAlias = context.KeyedReadOnlyBroadcastContext
    OnTimerContext: TypeAlias = context.BroadcastOnTimerContext

    @abstractmethod
    def process_element(self, value: IN1, ctx: ReadOnlyContext) -> Yields[OUT]:
        """Called for each element of the keyed stream. Yields the elements to emit. Broadcast state is read-only."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Context) -> Yields[OUT]:
        """Called for each broadcast element in every subtask. It must change broadcast state in the same way everywhere."""

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Yields[OUT]:
        """Called when a timer fires. Yields the elements to emit. State and timers are those of the key of the timer."""
        return None
