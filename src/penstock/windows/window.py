"""Windows: finite groups of the elements of a key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.time import MAX_WATERMARK


class Window(ABC):
    """A group of elements with a last timestamp. A custom window is a frozen dataclass of plain values."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Returns the largest timestamp that belongs to the window. It is the timestamp of the results of the window."""

    def namespace(self) -> tuple[Any, ...]:
        """Returns the window as plain values, under which its state and its timers are stored."""
        fields = getattr(self, "__match_args__", None)
        return tuple(vars(self).values()) if fields is None else tuple(getattr(self, name) for name in fields)


@dataclass(frozen=True, slots=True, order=True)
class TimeWindow(Window):
    """The time interval from `start` (inclusive) to `end` (exclusive), in milliseconds.

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
        """Returns whether two windows overlap or touch. Only such windows are merged."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Returns the smallest window that contains both windows.

        >>> TimeWindow(0, 10).cover(TimeWindow(5, 15))
        TimeWindow(start=0, end=15)
        """
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: Any) -> None:
        """Reports windows that overlap or touch to a `MergingWindowAssigner.MergeCallback`, each group with its cover."""
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
        """Returns the start of the window that contains a timestamp. Timestamps may be negative.

        >>> TimeWindow.get_window_start_with_offset(-1, 0, 10)
        -10
        """
        return timestamp - (timestamp - offset) % window_size


@dataclass(frozen=True, slots=True)
class CountWindow(Window):
    """A window of a fixed number of elements, identified by its number.

    >>> CountWindow(0).max_timestamp() == MAX_WATERMARK
    True
    """

    id: int

    def max_timestamp(self) -> int:
        return MAX_WATERMARK


@dataclass(frozen=True, slots=True)
class GlobalWindow(Window):
    """The window of `GlobalWindows`. It never ends.

    >>> GlobalWindow.get() == GlobalWindow()
    True
    """

    @staticmethod
    def get() -> GlobalWindow:
        """Returns the global window."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        return MAX_WATERMARK
