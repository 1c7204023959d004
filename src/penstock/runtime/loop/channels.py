"""Watermarks of the channels of an operator, and how they combine (time-rules 2.1, 2.6, 2.7).

A channel is a split of a source, or an edge from an upstream operator. All slots have the same table, because all get the same
watermarks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from penstock.time import MAX_WATERMARK, MIN_WATERMARK

ALL_SPLITS = "*"  # the name of one channel for all transient splits of a stream, or for a stream without splits
# A channel that has always ended: the highest watermark of all transient splits so far, even while unread ones hold time back.
HIGHEST_OF_SPLITS = "*highest"


class Channel(msgspec.Struct, array_like=True):
    """The watermark of a channel, the time without records, and whether it is idle or has ended."""

    mark: int = MIN_WATERMARK
    idle_ms: int = 0
    idle: bool = False
    ended: bool = False


class CombinedWatermark(msgspec.Struct, frozen=True):
    """The combined watermark of the channels of an operator."""

    watermark: int
    idle: bool
    ended: bool


def combine(channels: Iterable[Channel]) -> CombinedWatermark:
    """Returns the minimum of the active channels, else the maximum of the idle ones, else (all ended) the maximum watermark.

    >>> combine([Channel(mark=5), Channel(mark=3, idle=True)]).watermark
    5
    """
    active = idle = None
    for channel in channels:
        if channel.ended:
            continue
        if channel.idle:
            idle = channel.mark if idle is None else max(idle, channel.mark)
        else:
            active = channel.mark if active is None else min(active, channel.mark)
    if active is not None:
        return CombinedWatermark(active, False, False)
    if idle is not None:
        return CombinedWatermark(idle, True, False)
    return CombinedWatermark(MAX_WATERMARK, False, True)


class SplitTable(msgspec.Struct, array_like=True):
    """The splits of one watermarked source stream."""

    splits: dict[str, Channel] = {}
    idle_timeout: int | None = None

    def add_splits(self, names: Iterable[str]) -> None:
        for name in names:
            self.splits.setdefault(name, Channel())

    def end_splits(self, names: Iterable[str]) -> None:
        for name in names:
            self.splits.setdefault(name, Channel()).ended = True

    def end_all(self) -> None:
        """Ends the stream, even if it never had a split."""
        self.end_splits([*self.splits] or [ALL_SPLITS])

    def mark(self, name: str, mark: int) -> None:
        channel = self.splits.setdefault(name, Channel())
        channel.mark = max(channel.mark, mark)

    def mark_concurrent(self, marks: Mapping[str, int]) -> None:
        """Combines transient splits of a batch whose successors in the next batch are not known, such as Spark tasks."""
        self.mark(ALL_SPLITS, min(marks.values()))

    def mark_sequence(self, marks: Mapping[str, int]) -> None:
        """Combines transient splits that follow each other in time: together they are one split."""
        self.mark(ALL_SPLITS, max(marks.values()))

    def mark_unordered(self, marks: Mapping[str, int], unread: Collection[str]) -> None:
        """Combines transient splits that may overlap in time, such as files that are read one after the other.

        `unread` contains the splits that have been read in part, and ALL_SPLITS if there are known splits that have not been
        started. Those have no watermark yet, so they hold event time back. Splits that were read completely have ended.

        >>> table = SplitTable({})
        >>> table.mark_unordered({"a": 60}, unread=["*"]); table.splits["*"].mark == MIN_WATERMARK
        True
        >>> table.mark_unordered({"b": 20}, unread=["b"]); table.splits["*"].mark
        20
        >>> table.mark_unordered({"b": 40}, unread=[]); table.splits["*"].mark
        60
        """
        self.add_splits([ALL_SPLITS])
        self.end_splits([HIGHEST_OF_SPLITS])
        for mark in marks.values():
            self.mark(HIGHEST_OF_SPLITS, mark)
        if all(split in marks for split in unread):
            highest = self.splits[HIGHEST_OF_SPLITS].mark
            self.mark(ALL_SPLITS, min((marks[split] for split in unread), default=highest))

    def update_idleness(self, passed: int, active: set[str], waiting: set[str], first_batch: bool) -> None:
        """Updates the idle times after `passed` milliseconds.

        The idle time restarts for splits with records and in the first batch of a run. It does not grow for splits in
        `waiting`, which have unread data.
        """
        for name, channel in self.splits.items():
            if name in active or first_batch:
                channel.idle_ms = 0
            elif name not in waiting:
                channel.idle_ms += passed
            channel.idle = self.idle_timeout is not None and channel.idle_ms > self.idle_timeout

    def next_idle(self, now: int) -> int | None:
        """Returns when the next split becomes idle if it gets no records."""
        if self.idle_timeout is None:
            return None
        idle_times = [c.idle_ms for c in self.splits.values() if not c.idle and not c.ended]
        return now + self.idle_timeout - max(idle_times) + 1 if idle_times else None
