"""Sessions of one key: intervals of local time that grow and merge while rows arrive.

A row opens the interval [time, time + gap). It merges with the sessions that it overlaps or touches, if they have not ended yet.
A row that merges with none is late if its own interval has ended.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.runtime.relational.windows.local_time import Millis, due_times, is_shifted

_MANY_ROWS = 12  # of a key, for which work by columns is faster


class Session:
    """A session while a batch is processed.

    parts: what it contains, in order: i is the i-th row of the batch, ~i the content of the i-th stored session of the key.
    """

    __slots__ = ("due", "end", "parts", "start")

    def __init__(self, start: int, end: int, due: int, parts: list[int]) -> None:
        self.start = start
        self.end = end
        self.due = due
        self.parts = parts

    def __repr__(self) -> str:
        return f"Session({self.start}, {self.end}, {self.parts})"


class SessionRows:
    """The rows of a batch whose sessions are searched: local times, and the watermark (or the clock) when each row arrived."""

    def __init__(self, times: Millis, clocks: Millis, gap: int, zone: str) -> None:
        self.times = times
        self.clocks = clocks
        self.gap = gap
        self.zone = zone
        self._due = due_times(times + gap, zone)

    def add(self, stored: Sequence[tuple[int, int]], rows: NDArray[np.int64]) -> tuple[list[Session], int]:
        """Adds the rows of one key, in their order, to its stored sessions (start, end).

        Returns the sessions in the order in which they were opened or, for merged ones, of the earliest of them, and the number
        of late rows. Sessions that ended in between are among them.
        """
        ends: list[int] = [end - 1 for _, end in stored]
        if stored and is_shifted(self.zone):
            ends = due_times(np.array(ends, np.int64) + 1, self.zone).tolist()
        live = [Session(start, end, due, [~i]) for i, ((start, end), due) in enumerate(zip(stored, ends, strict=True))]
        live.sort(key=_start)
        if len(rows) >= _MANY_ROWS and len(live) <= 1 and not is_shifted(self.zone):
            found = self._in_order(live, rows)
            if found is not None:
                return found
        return self._one_by_one(live, rows)

    def _in_order(self, live: list[Session], rows: NDArray[np.int64]) -> tuple[list[Session], int] | None:
        """The sessions of rows in ascending order of time, by columns; None if they are not."""
        times, clocks, gap = self.times[rows], self.clocks[rows], self.gap
        if len(rows) > 1 and (times[1:] < times[:-1]).any():
            return None
        if live and (times[0] < live[0].start or times[0] + gap < live[0].end):
            return None
        if (times + gap - 1 <= clocks).any():  # late, unless it merges
            return None
        last_end = np.empty(len(rows), np.int64)  # of the session before each row
        last_end[1:] = times[:-1] + gap
        last_end[0] = live[0].end if live else times[0] - 1
        opens = (times > last_end) | (last_end - 1 <= clocks)
        cuts = np.flatnonzero(opens)
        result = list(live)
        bounds = [*cuts.tolist(), len(rows)]
        if bounds[0] > 0:  # the first rows continue the stored session
            self._extend(live[0], rows[: bounds[0]])
        for start, stop in itertools.pairwise(bounds):
            first = int(times[start])
            session = Session(first, first, 0, [])
            self._extend(session, rows[start:stop])
            result.append(session)
        return result, 0

    def _extend(self, session: Session, rows: NDArray[np.int64]) -> None:
        last = int(self.times[rows[-1]]) + self.gap
        session.end = max(session.end, last)
        session.due = session.end - 1
        session.parts.extend(rows.tolist())

    def _one_by_one(self, live: list[Session], rows: NDArray[np.int64]) -> tuple[list[Session], int]:
        result = list(live)
        late = 0
        gap = self.gap
        at = rows.tolist()
        columns = (self.times[rows].tolist(), self.clocks[rows].tolist(), self._due[rows].tolist())
        for row, time, clock, due in zip(at, *columns, strict=True):
            if live and min(session.due for session in live) <= clock:
                live = [session for session in live if session.due > clock]
            place = bisect_right(live, time, key=_start)
            after = live[place] if place < len(live) and live[place].start <= time + gap else None
            before = live[place - 1] if place and live[place - 1].end >= time else None
            if before is None and after is None:
                if due <= clock:
                    late += 1
                    continue
                session = Session(time, time + gap, due, [row])
                live.insert(place, session)
                result.append(session)
                continue
            if before is None:
                assert after is not None
                target = after
                target.start = time
            else:
                target = before
                if after is not None:
                    target.end, target.due = after.end, after.due
                    target.parts.extend(after.parts)
                    live.pop(place)
                    result.remove(after)
            target.parts.append(row)
            if time + gap > target.end:
                target.end, target.due = time + gap, due
        return result, late


def _start(session: Session) -> int:
    return session.start


def runs_of(parts: Sequence[int]) -> list[tuple[int, int]]:
    """Splits the parts of a session into stored sessions and runs of rows: (first, last) positions in `parts`, last exclusive.

    >>> runs_of([4, 5, ~0, 6])
    [(0, 2), (2, 3), (3, 4)]
    """
    result: list[tuple[int, int]] = []
    start = 0
    for i, part in enumerate(parts):
        if part < 0:
            if start < i:
                result.append((start, i))
            result.append((i, i + 1))
            start = i + 1
    if start < len(parts):
        result.append((start, len(parts)))
    return result
