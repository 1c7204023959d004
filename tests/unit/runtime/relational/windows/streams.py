"""Random streams for tests of window operators: rows with the watermarks at which they arrive, cut into batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from tests.unit.runtime.relational.driver import Change, RelationalSlot

MS = 1_000_000  # nanoseconds: timestamps of rows in tests


@dataclass
class Stream:
    """Rows in their order. marks: the watermark before each row; after the last row comes the maximal one."""

    rows: list[Any]
    marks: list[int]
    cuts: list[int]  # positions where a batch ends
    restarts: list[bool]

    def run(self, slot: RelationalSlot, *, cuts: list[int] | None = None) -> list[Change]:
        """Runs the stream. The watermark after a batch is the one before the next row."""
        out: list[Change] = []
        start = 0
        for number, stop in enumerate([*(self.cuts if cuts is None else cuts), len(self.rows)]):
            end = self.marks[stop] if stop < len(self.marks) else max(self.marks, default=MIN_WATERMARK)
            out += slot.run(self.rows[start:stop], watermarks=self.marks[start:stop], watermark=end)
            start = stop
            if self.restarts and self.restarts[number % len(self.restarts)]:
                slot.restart()
        return out + slot.run(watermark=MAX_WATERMARK)

    def run_one_by_one(self, slot: RelationalSlot) -> list[Change]:
        """Runs the stream with one row per batch."""
        return self.run(slot, cuts=list(range(1, len(self.rows))))


@st.composite
def streams(draw: st.DrawFn, *, most: int = 25, latest: int = 60, changes: bool = False) -> Stream:
    """Returns rows (key, value, time), some of them late. With `changes`, rows have kinds, and earlier rows are removed."""
    times = draw(st.lists(st.integers(0, latest), max_size=most))
    if draw(st.booleans()):  # mostly in order
        times = [t + i * 3 for i, t in enumerate(draw(st.lists(st.integers(0, 8), max_size=most)))]
    delay = draw(st.integers(0, 15))
    rows: list[Any] = []
    marks: list[int] = []
    mark = MIN_WATERMARK
    for i, time in enumerate(times):
        marks.append(mark)
        row = (draw(st.sampled_from(["a", "b", None])), i, time * MS)
        rows.append(("+I", row) if changes else row)
        mark = max(mark, time - delay - 1)
        if changes and draw(st.integers(0, 3)) == 0:
            added = [r for kind, r in rows if kind == "+I"]
            removed = [r for kind, r in rows if kind == "-D"]
            alive = [r for r in added if r not in removed]
            if alive:
                marks.append(mark)
                rows.append(("-D", draw(st.sampled_from(alive))))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=6)))
    return Stream(rows, marks, cuts, draw(st.lists(st.booleans(), max_size=3)))
