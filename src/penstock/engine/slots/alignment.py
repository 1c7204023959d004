"""Watermark alignment: finds the splits that are too far ahead of their group (time-rules 2.9).

The driver pauses them before it plans a batch. A paused split gets no new offsets.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.engine.program.program import Program

# Splits of a stream after the last batch: watermark, and whether the split is active (not idle, not ended).
SplitWatermarks = Mapping[str, tuple[int, bool]]


def paused_splits(program: Program, source: int, watermarks: Mapping[str, SplitWatermarks]) -> frozenset[str]:
    """The splits of a source that are ahead of the slowest split of their group by more than the maximum drift.

    >>> from penstock.engine.program.program import StreamProgram
    >>> group = ("g", 10)
    >>> streams = [StreamProgram("a", 0, -1, alignment=group), StreamProgram("b", 1, -1, alignment=group)]
    >>> program = Program("", 1, 1, {}, [], streams, [], [], [], 1)
    >>> paused_splits(program, 0, {"a": {"0": (50, True)}, "b": {"0": (20, True)}})
    frozenset({'0'})
    """
    paused: set[str] = set()
    for stream in program.streams:
        if stream.source != source or stream.alignment is None:
            continue
        group, drift = stream.alignment
        members = [s.uid for s in program.streams if s.alignment is not None and s.alignment[0] == group]
        active = [mark for uid in members for mark, is_active in watermarks.get(uid, {}).values() if is_active]
        if active:
            slowest = min(active)
            paused |= {
                split
                for split, (mark, is_active) in watermarks.get(stream.uid, {}).items()
                if is_active and mark > slowest + drift
            }
    return frozenset(paused)
