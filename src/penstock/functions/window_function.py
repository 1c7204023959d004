"""Functions that process the elements of a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.functions.function import IN, KEY, OUT, Function, Yields
from penstock.functions.runtime_context import KeyedStateStore

W = TypeVar("W", contravariant=True, default=Any)  # the class of the window
WINDOW = TypeVar("WINDOW", covariant=True, default=Any)


class WindowContext(ABC, Generic[WINDOW]):
    """The context of a process window function."""

    @abstractmethod
    def window(self) -> WINDOW:
        """Returns the window that fires or is cleared."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Returns the current processing time in milliseconds."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Returns the current watermark in milliseconds."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """Returns the state of the key and window. Not available for merging windows. Clear it in `clear`."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """Returns the state of the key, shared by all its windows."""


class WindowFunction(Function, ABC, Generic[IN, OUT, KEY, W]):
    """Computes the results of a window of a key from its elements."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Yields[OUT]:
        """Called when a window fires. Yields the results, or `(tag, value)` for side outputs."""


class AllWindowFunction(Function, ABC, Generic[IN, OUT, W]):
    """Computes the results of a window of a non-keyed stream from its elements."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Yields[OUT]:
        """Called when a window fires. Yields the results, or `(tag, value)` for side outputs."""


class ProcessWindowFunction(Function, ABC, Generic[IN, OUT, KEY, W]):
    """Computes the results of a window of a key from its elements, with access to the window, time and state.

    >>> class Count(ProcessWindowFunction[str, tuple[str, int], str, Any]):
    ...     def process(self, key: str, context: Any, elements: Iterable[str]) -> Yields[tuple[str, int]]:
    ...         yield key, len(list(elements))
    """

    class Context(WindowContext[WINDOW]):
        """The context of the function: the window, time and state."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Yields[OUT]:
        """Called when a window fires. Yields the results, or `(tag, value)` for side outputs."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Called when a window is dropped. Clear its per-window state here."""


class ProcessAllWindowFunction(Function, ABC, Generic[IN, OUT, W]):
    """Computes the results of a window of a non-keyed stream, with access to the window, time and state."""

    class Context(WindowContext[WINDOW]):
        """The context of the function: the window, time and state."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Yields[OUT]:
        """Called when a window fires. Yields the results, or `(tag, value)` for side outputs."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Called when a window is dropped. Clear its per-window state here."""


class PassThroughWindowFunction(WindowFunction[Any, Any, Any, Any]):
    """Emits the elements of a window unchanged. Useful after `reduce`.

    >>> list(PassThroughWindowFunction().apply("key", None, [1, 2]))
    [1, 2]
    """

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs


class PassThroughAllWindowFunction(AllWindowFunction[Any, Any, Any]):
    """Emits the elements of a window of a non-keyed stream unchanged."""

    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs
