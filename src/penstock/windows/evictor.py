"""The base class of evictors, which remove elements from a window when it fires."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from penstock.windows.window import Window


@dataclass(frozen=True, slots=True)
class TimestampedValue:
    """An element of a window with its timestamp in milliseconds, or None if it has no timestamp.

    >>> TimestampedValue("a", 5).timestamp
    5
    """

    value: Any
    timestamp: int | None

    def get_value(self) -> Any:
        """Returns the element."""
        return self.value

    def get_timestamp(self) -> int | None:
        """Returns the timestamp in milliseconds, or None."""
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Returns whether the element has a timestamp."""
        return self.timestamp is not None


class Evictor(ABC):
    """Removes elements from a window when it fires, by deleting them from the list of elements."""

    __slots__ = ()

    class EvictorContext(ABC):
        """The context of an evictor."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Returns the current processing time in milliseconds."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Returns the current watermark in milliseconds."""

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        """Called before the window function. Elements deleted from the list are removed from the window."""

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        """Called after the window function. Elements that remain in the list stay in the window."""
