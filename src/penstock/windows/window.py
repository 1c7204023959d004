"""Windows: the finite groups that elements of a key are put into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.time import MAX_WATERMARK


class Window(ABC):
    """A group of elements with a last timestamp. A window of the user's own is a frozen dataclass of plain values."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The largest timestamp that still belongs to the window; its results carry it."""

    def namespace(self) -> tuple[Any, ...]:
        """The window as plain values: what its state and its timers are kept under."""
        fields = getattr(self, "__match_args__", None)
        return tuple(vars(self).values()) if fields is None else tuple(getattr(self, name) for name in fields)


@dataclass(frozen=True, slots=True, order=True)
class TimeWindow(Window):
    """The timestamps from `start` to `end`, without `end`.

    >>> TimeWindow(0, 10).max_timestamp()
    9
    """

    start: int
    end: int

    def max_timestamp(self) -> int:
        return self.end - 1

    def namespace(self) -> tuple[Any, ...]:
        return (self.start, self.end)

    def intersects(self, other: TimeWindow) -> bool:
        """Whether two windows overlap or touch: only then they merge."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that holds both.

        >>> TimeWindow(0, 10).cover(TimeWindow(5, 15))
        TimeWindow(start=0, end=15)
        """
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: Any) -> None:
        """Tells a `MergingWindowAssigner.MergeCallback` which of some windows overlap or touch, and their cover."""
        group: list[TimeWindow] = []
        cover: TimeWindow | None = None
        for window in sorted(windows):
            if cover is not None and cover.intersects(window):
                cover = cover.cover(window)
            else:
                if len(group) > 1:
                    callback.merge(group, cover)
                cover, group = window, []
            group.append(window)
        if len(group) > 1:
            callback.merge(group, cover)

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window of a size that holds a timestamp; works below zero too.

        >>> TimeWindow.get_window_start_with_offset(-1, 0, 10)
        -10
        """
        return timestamp - (timestamp - offset) % window_size


@dataclass(frozen=True, slots=True)
class CountWindow(Window):
    """A window of so many elements, by its number.

    >>> CountWindow(0).max_timestamp() == MAX_WATERMARK
    True
    """

    id: int

    def max_timestamp(self) -> int:
        return MAX_WATERMARK


@dataclass(frozen=True, slots=True)
class GlobalWindow(Window):
    """The one window of `GlobalWindows`: it never ends.

    >>> GlobalWindow.get() == GlobalWindow()
    True
    """

    @staticmethod
    def get() -> GlobalWindow:
        return GlobalWindow()

    def max_timestamp(self) -> int:
        return MAX_WATERMARK
