"""Which elements leave a window before or after its function sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from penstock.windows.window import Window


@dataclass(frozen=True, slots=True)
class TimestampedValue:
    """An element of a window, with its timestamp (None: it has none).

    >>> TimestampedValue("a", 5).timestamp
    5
    """

    value: Any
    timestamp: int | None

    def get_value(self) -> Any:
        return self.value

    def get_timestamp(self) -> int | None:
        return self.timestamp

    def has_timestamp(self) -> bool:
        return self.timestamp is not None


class Evictor(ABC):
    """Takes elements out of a window when it fires: it deletes them from the list that it is given."""

    __slots__ = ()

    class EvictorContext(ABC):
        """The clocks."""

        @abstractmethod
        def get_current_processing_time(self) -> int: ...

        @abstractmethod
        def get_current_watermark(self) -> int: ...

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        """Called before the window function."""

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        """Called after the window function; what is left stays in the window."""
