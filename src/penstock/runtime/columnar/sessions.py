"""Event-time sessions by columns: elements are sorted by key and time, and stretches without a gap are folded at once.

That is exact for keys none of whose elements of the batch is behind its watermark (timestamp <= effective watermark). Then an
element can touch only sessions that have not fired yet, whatever the order of the elements, but for one case: it stands
exactly at the end of a session, and the watermark stood directly before it, so that this session had fired. The elements of all
other keys are taken one by one, in their order (time.md 5.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.operator import OperatorContext
from penstock.runtime.records import column, order_of
from penstock.runtime.slot import Advance
from penstock.runtime.vector.arrived import Arrived
from penstock.runtime.vector.emissions import Firing, VectorEmissions
from penstock.runtime.vector.fold import as_list, join, narrow, take
from penstock.runtime.vector.measures import Groups
from penstock.runtime.vector.session_table import Sessions, SessionTable
from penstock.runtime.vector.windows import VectorWindows
from penstock.time import MIN_WATERMARK
from penstock.windows.assigner import event_time_of

_MOST = 2**62


class VectorSessions(VectorWindows):
    """Sessions with a fixed gap, which fire when the watermark passes their end."""

    merges = True

    def __init__(self, gap: int, aggregate: Any, function: Any = None) -> None:
        super().__init__(aggregate, function)
        self._gap = gap
        self._table: SessionTable

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = SessionTable(context.backend, self._keys, self.measures)

    def _by_watermark(self, arrived: Arrived, advance: Advance, out: VectorEmissions) -> None:
        due = self._table.due(advance.end)
        concerned = self._keys.different(arrived.codes, due)
        if not len(concerned):
            return
        if len(arrived) and arrived.times.min() == MIN_WATERMARK:
            event_time_of(MIN_WATERMARK)
        known = self._table.read(concerned, due)
        behind = np.zeros(len(self._keys.keys), bool)
        behind[arrived.codes[arrived.times <= arrived.effective]] = True
        sessions = self._merged(known, arrived, ~behind)
        if behind.any():
            sessions = _joined([sessions, self._one_by_one(known, arrived, behind)])
        ended = sessions.ends - 1 <= advance.end
        if ended.any():
            done = _picked(sessions, np.flatnonzero(ended))
            groups, last = Groups(done.codes, done.counts, done.columns), done.ends - 1
            self._fire(Firing(groups, done.starts, done.ends, last, last), advance, out)
        self._table.write(concerned, _picked(sessions, np.flatnonzero(~ended)))

    # -- many at once

    def _merged(self, known: Sessions, arrived: Arrived, of: Any) -> Sessions:
        """The sessions of some keys, with all their elements."""
        old, new = np.flatnonzero(of[known.codes]), np.flatnonzero(of[arrived.codes])
        codes = np.concatenate((known.codes[old], arrived.codes[new]))
        starts = np.concatenate((known.starts[old], arrived.times[new]))
        ends = np.concatenate((known.ends[old], arrived.times[new] + self._gap))
        marks = np.concatenate((np.full(len(old), MIN_WATERMARK, np.int64), arrived.effective[new]))
        counts = np.concatenate((known.counts[old], arrived.counts[new]))
        columns = [join([take(k, old), take(a, new)]) for k, a in zip(known.columns, arrived.columns, strict=True)]
        if not len(codes):
            return Sessions(codes, starts, ends, counts, columns)
        order, first = _stretches(codes, starts, ends, marks)
        codes, starts, ends = codes[order], starts[order], ends[order]
        groups = np.cumsum(first) - 1
        at = np.flatnonzero(first)
        total = len(at)
        return Sessions(
            codes[at],
            starts[at],
            np.maximum.reduceat(ends, at),
            np.add.reduceat(counts[order], at),
            self.measures.fold(groups, total, [take(c, order) for c in columns]),
        )

    # -- one by one

    def _one_by_one(self, known: Sessions, arrived: Arrived, of: Any) -> Sessions:
        """The same for keys with elements behind the watermark; sessions that ended in between are among the result."""
        open_now: dict[int, list[list[Any]]] = {}
        mine = _picked(known, np.flatnonzero(of[known.codes]))
        for code, row in zip(mine.codes.tolist(), mine.rows(), strict=True):
            open_now.setdefault(code, []).append(list(row))
        at = np.flatnonzero(of[arrived.codes])
        some = arrived.take(at)
        order = order_of(some.effective, some.tags())
        if order is not None:
            some = some.take(order)
        done: list[tuple[int, list[Any]]] = []
        elements = zip(
            some.codes.tolist(),
            some.times.tolist(),
            some.effective.tolist(),
            zip(some.counts.tolist(), *map(as_list, some.columns), strict=True),
            strict=True,
        )
        for code, time, mark, element in elements:
            mine_now = open_now.setdefault(code, [])
            done += [(code, s) for s in mine_now if s[1] - 1 <= mark]
            mine_now[:] = [s for s in mine_now if s[1] - 1 > mark]
            self._take_one(mine_now, time, mark, element)
        done += [(code, s) for code, sessions in open_now.items() for s in sessions]
        if not done:
            return _picked(known, column([]))
        starts, ends, counts, *columns = zip(*(s for _, s in done), strict=True)
        codes = column([code for code, _ in done])
        return Sessions(codes, column(starts), column(ends), column(counts), [narrow(list(c)) for c in columns])

    def _take_one(self, sessions: list[list[Any]], time: int, mark: int, element: tuple[Any, ...]) -> None:
        """Puts an element into the sessions of its key; those that it touches become one (time.md 4.2, 5.3)."""
        end = time + self._gap
        touched = [s for s in sessions if s[0] <= end and time <= s[1]]
        if not touched and end - 1 <= mark:
            self.late_records += element[0]
            return
        merged = [min([time, *(s[0] for s in touched)]), max([end, *(s[1] for s in touched)])]
        rows = [*(s[2:] for s in touched), list(element)]
        merged.append(sum(r[0] for r in rows))
        for place, merge in enumerate(self.measures.merging(), 1):
            value = rows[0][place]
            for row in rows[1:]:
                value = merge(value, row[place])
            merged.append(value)
        sessions[:] = [s for s in sessions if s not in touched] + [merged]


def _stretches(codes: Any, starts: Any, ends: Any, marks: Any) -> tuple[Any, Any]:
    """The order of intervals by key and start, and in this order where a session begins."""
    lowest = int(starts.min())
    span = int(ends.max()) - lowest + 1
    alone_below = starts - 1
    if span > _MOST // (int(codes.max()) + 1):  # times so far apart that keys and times do not fit into one number
        ranks = np.unique(np.concatenate((starts, ends)), return_inverse=True)[1]
        starts, ends = ranks[: len(starts)], ranks[len(starts) :]
        lowest, span = 0, int(ranks.max()) + 1
    begins = codes * span + (starts - lowest)
    order = np.argsort(begins, kind="stable")
    begins = begins[order]
    highest = np.maximum.accumulate((codes * span + (ends - lowest))[order])  # the last end so far of each key
    first = np.ones(len(order), bool)
    np.greater(begins[1:], highest[:-1], out=first[1:])
    touching = np.flatnonzero(begins[1:] == highest[:-1]) + 1
    if len(touching):  # of those that begin there together, one that came early enough is enough
        runs = np.flatnonzero(np.concatenate(([True], begins[1:] != begins[:-1])))
        earliest = np.minimum.reduceat(marks[order], runs)
        run_of = np.searchsorted(runs, touching, side="right") - 1
        first[touching] = earliest[run_of] >= alone_below[order][touching]
    return order, first


def _picked(sessions: Sessions, at: Any) -> Sessions:
    return Sessions(
        sessions.codes[at],
        sessions.starts[at],
        sessions.ends[at],
        sessions.counts[at],
        [take(c, at) for c in sessions.columns],
    )


def _joined(parts: list[Sessions]) -> Sessions:
    return Sessions(
        np.concatenate([p.codes for p in parts]),
        np.concatenate([p.starts for p in parts]),
        np.concatenate([p.ends for p in parts]),
        np.concatenate([p.counts for p in parts]),
        [join(list(c)) for c in zip(*(p.columns for p in parts), strict=True)],
    )
