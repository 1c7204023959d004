"""Watermark alignment: finds the splits that are too far ahead of their group (time-rules 2.9).

The driver pauses them before it plans a batch. A paused split gets no new offsets. The driver computes the watermarks of splits
from the reports of source tasks, because a job without keyed operators has no slots that know them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.engine.program.program import Program
from penstock.engine.slots.split_progress import apply_progress
from penstock.engine.wire.frames import ChunkProgress
from penstock.runtime.loop.channels import ALL_SPLITS, HIGHEST_OF_SPLITS, SplitTable
from penstock.time import MIN_WATERMARK

AlignmentTables = dict[str, SplitTable]  # the splits of aligned streams after the last batch, by the uid of the stream


def is_aligned(program: Program) -> bool:
    """Whether any stream of a job uses watermark alignment."""
    return any(stream.alignment is not None for stream in program.streams)


def advance_alignment(
    program: Program, tables: AlignmentTables, progress: Sequence[ChunkProgress], now: int, passed: int
) -> None:
    """Applies the progress of a batch, `passed` milliseconds after the previous one."""
    paused = {number: paused_splits(program, number, tables) for number in range(len(program.sources))}
    for number, stream in enumerate(program.streams):
        if stream.alignment is None:
            continue
        table = tables.setdefault(stream.uid, SplitTable({}, stream.idle_timeout))
        activity = apply_progress(table, stream, [p for p in progress if p.stream == number], now)
        table.update_idleness(passed, activity.active, activity.waiting | paused[stream.source], False)


def paused_splits(
    program: Program,
    source: int,
    tables: Mapping[str, SplitTable],
    ended: Mapping[int, Sequence[str]] | None = None,
) -> frozenset[str]:
    """The splits of a source that are ahead of the slowest split of their group by more than the maximum drift.

    `ended` are splits that have ended since the tables were computed, by the number of their source.

    >>> from penstock.engine.program.program import StreamProgram
    >>> from penstock.runtime.loop.channels import Channel
    >>> group = ("g", 10)
    >>> streams = [StreamProgram("a", 0, -1, alignment=group), StreamProgram("b", 1, -1, alignment=group)]
    >>> program = Program("", 1, 1, {}, [], streams, [], [], [], 1)
    >>> tables = {"a": SplitTable({"0": Channel(mark=50)}), "b": SplitTable({"0": Channel(mark=20)})}
    >>> paused_splits(program, 0, tables), paused_splits(program, 0, tables, {1: ["0"]})
    (frozenset({'0'}), frozenset())
    """
    paused: set[str] = set()
    for stream in program.streams:
        if stream.source != source or stream.alignment is None:
            continue
        group, drift = stream.alignment
        members = [s for s in program.streams if s.alignment is not None and s.alignment[0] == group]
        marks = [m for s in members for _, m in _active(tables.get(s.uid), (ended or {}).get(s.source, ()))]
        if marks:
            limit = min(marks) + drift
            own = _active(tables.get(stream.uid), (ended or {}).get(source, ()))
            paused |= {split for split, mark in own if mark > limit}
    return frozenset(paused)


def _active(table: SplitTable | None, ended: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The splits that the group waits for, with their watermarks.

    As in Flink, the group does not wait for a split that has no watermark yet, since it may never have records. It waits for
    files while unread ones hold their watermark back.
    """
    if table is None:
        return
    highest = table.splits.get(HIGHEST_OF_SPLITS)
    held_back = {ALL_SPLITS} if highest is not None and highest.mark > MIN_WATERMARK else set()
    for name, channel in table.splits.items():
        if channel.idle or channel.ended or name in ended:
            continue
        if channel.mark > MIN_WATERMARK or name in held_back:
            yield name, channel.mark
