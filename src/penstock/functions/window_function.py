"""Functions over the elements of a window, with its key or without, with a context or without."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.functions.function import IN, KEY, OUT, Function, Yields
from penstock.functions.runtime_context import KeyedStateStore

W = TypeVar("W", contravariant=True, default=Any)  # the kind of window
WINDOW = TypeVar("WINDOW", covariant=True, default=Any)


class WindowContext(ABC, Generic[WINDOW]):
    """What a process window function may ask for beside its elements."""

    @abstractmethod
    def window(self) -> WINDOW:
        """The window that fires, or is dropped."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The batch clock, in milliseconds."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """State of the key and window; not for windows that merge. What it holds is dropped in `clear`."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """State of the key, shared by all its windows."""


class WindowFunction(Function, ABC, Generic[IN, OUT, KEY, W]):
    """Makes results of a key's window and its elements."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Yields[OUT]:
        """Called when a window fires; gives its results, and tagged ones for side outputs."""


class AllWindowFunction(Function, ABC, Generic[IN, OUT, W]):
    """Makes results of a window over the whole stream and its elements."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Yields[OUT]:
        """Called when a window fires; gives its results, and tagged ones for side outputs."""


class ProcessWindowFunction(Function, ABC, Generic[IN, OUT, KEY, W]):
    """Makes results of a key's window and its elements; its context knows the window, clocks and state."""

    class Context(WindowContext[WINDOW]):
        """What the function may ask for beside its elements."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Yields[OUT]:
        """Called when a window fires; gives its results, and tagged ones for side outputs."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Called when a window is dropped: the place to clear its state."""


class ProcessAllWindowFunction(Function, ABC, Generic[IN, OUT, W]):
    """Makes results of a window over the whole stream; its context knows the window, clocks and state."""

    class Context(WindowContext[WINDOW]):
        """What the function may ask for beside its elements."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Yields[OUT]:
        """Called when a window fires; gives its results, and tagged ones for side outputs."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Called when a window is dropped: the place to clear its state."""


class PassThroughWindowFunction(WindowFunction[Any, Any, Any, Any]):
    """Gives a window's elements as they are; of use behind `reduce`.

    >>> list(PassThroughWindowFunction().apply("key", None, [1, 2]))
    [1, 2]
    """

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs


class PassThroughAllWindowFunction(AllWindowFunction[Any, Any, Any]):
    """The same for windows over the whole stream."""

    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs
