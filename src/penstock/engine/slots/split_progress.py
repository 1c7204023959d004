"""Applies the progress of a batch to the splits of a stream: their watermarks, and which of them are not idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.engine.program.program import StreamProgram
from penstock.engine.wire.frames import ChunkProgress
from penstock.runtime.loop.channels import ALL_SPLITS, SplitTable
from penstock.time import MIN_WATERMARK


@dataclass(frozen=True, slots=True)
class SplitActivity:
    """The splits with records in a batch, and those with unread data after it. Neither are idle."""

    active: set[str]
    waiting: set[str]


def apply_progress(
    table: SplitTable, stream: StreamProgram, progress: Sequence[ChunkProgress], now: int
) -> SplitActivity:
    """Advances the watermarks of the splits of a stream. `progress` is that of the stream in one batch."""
    unread = {split for p in progress for split in p.backlogged_splits}
    transient: dict[str, int] = {}
    for p in progress:
        if p.transient and p.split:
            transient[p.split] = max(transient.get(p.split, MIN_WATERMARK), p.watermark)
        elif p.split:
            table.mark(p.split, p.watermark)
    if stream.transient_splits == "unordered":
        if progress:
            table.mark_unordered(transient, unread)
    elif transient:
        mark = table.mark_sequence if stream.transient_splits == "sequence" else table.mark_concurrent
        mark(transient)
    if stream.follows_clock:
        for split, channel in table.splits.items():
            if not channel.ended:
                table.mark(split, now - 1)
    if unread and stream.transient_splits != "concurrent":
        unread.add(ALL_SPLITS)
    return SplitActivity({ALL_SPLITS if p.transient else p.split for p in progress if p.count}, unread)
