"""Watermarks of an operator's channels, and how they combine (time.md 2.1, 2.6, 2.7).

A channel is a split of a source, or an edge from an upstream operator. All slots keep the same table, since all get the
same marks.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.time import MAX_WATERMARK, MIN_WATERMARK


class Channel(msgspec.Struct, array_like=True):
    """One channel's mark, for how long it had no records, whether it is idle and whether it has ended."""

    mark: int = MIN_WATERMARK
    idle_ms: int = 0
    idle: bool = False
    ended: bool = False


class Combined(msgspec.Struct, frozen=True):
    """What the channels of an operator amount to."""

    watermark: int
    idle: bool
    ended: bool


def combine(channels: Iterable[Channel]) -> Combined:
    """The minimum of the active channels; of idle ones the maximum; of none but ended ones the end of time.

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
        return Combined(active, False, False)
    if idle is not None:
        return Combined(idle, True, False)
    return Combined(MAX_WATERMARK, False, True)


class SplitTable(msgspec.Struct, array_like=True):
    """The splits of one watermarked source stream."""

    splits: dict[str, Channel] = {}
    idle_timeout: int | None = None

    def known(self, names: Iterable[str]) -> None:
        for name in names:
            self.splits.setdefault(name, Channel())

    def ended(self, names: Iterable[str]) -> None:
        for name in names:
            self.splits.setdefault(name, Channel()).ended = True

    def end_all(self) -> None:
        """Ends the stream, also one that never had a split."""
        self.ended([*self.splits] or ["*"])

    def mark(self, name: str, mark: int) -> None:
        channel = self.splits.setdefault(name, Channel())
        channel.mark = max(channel.mark, mark)

    def age(self, passed: int, spoke: set[str], waiting: set[str], fresh_run: bool) -> None:
        """Counts silence: none for a split that spoke, nor in a run's first batch, nor while data waits unread."""
        for name, channel in self.splits.items():
            if name in spoke or fresh_run:
                channel.idle_ms = 0
            elif name not in waiting:
                channel.idle_ms += passed
            channel.idle = self.idle_timeout is not None and channel.idle_ms > self.idle_timeout

    def next_idle(self, now: int) -> int | None:
        """When the next split becomes idle if it stays silent."""
        if self.idle_timeout is None:
            return None
        quiet = [c.idle_ms for c in self.splits.values() if not c.idle and not c.ended]
        return now + self.idle_timeout - max(quiet) + 1 if quiet else None
