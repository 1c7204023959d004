"""Watermark alignment: which splits have run too far ahead of their group (time.md 2.9).

It is a matter of admission: the driver asks before it plans a batch, and a paused split gets no new offsets.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.engine.program import Program

# A stream's splits as the last batch left them: mark, and whether they count (not idle, not ended).
SplitMarks = Mapping[str, tuple[int, bool]]


def paused_splits(program: Program, source: int, marks: Mapping[str, SplitMarks]) -> frozenset[str]:
    """The splits of a source that must wait: ahead of the slowest of their group by more than the drift.

    >>> from penstock.engine.program import StreamProgram
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
        counted = [mark for uid in members for mark, counts in marks.get(uid, {}).values() if counts]
        if counted:
            slowest = min(counted)
            paused |= {
                split
                for split, (mark, counts) in marks.get(stream.uid, {}).items()
                if counts and mark > slowest + drift
            }
    return frozenset(paused)
