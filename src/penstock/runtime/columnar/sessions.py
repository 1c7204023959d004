"""Columnar event-time sessions. Elements are sorted by key and time, and runs without a gap are folded in one step.

This is exact for keys that have no element behind the watermark in the batch (timestamp <= effective watermark). Elements of
such keys can only touch sessions that have not fired yet, whatever their order, with one exception: the timestamp of an
element equals the end of a session, and the watermark was one millisecond lower, so the session had fired. The elements of
all other keys are processed one by one, in order (time-rules 5.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.columnar.accumulators import Groups
from penstock.runtime.columnar.emissions import ColumnarEmissions, Firing
from penstock.runtime.columnar.fold import as_list, concatenate, pack_values, take
from penstock.runtime.columnar.input_columns import InputColumns
from penstock.runtime.columnar.operator import ColumnarWindowOperator
from penstock.runtime.columnar.session_table import Sessions, SessionTable
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.loop.records import column, sort_order
from penstock.time import MIN_WATERMARK
from penstock.windows.assigner import require_timestamp

_MAX_SPAN = 2**62


class ColumnarSessionWindowOperator(ColumnarWindowOperator):
    """Sessions with a fixed gap that fire when the watermark passes their end."""

    merges = True

    def __init__(self, gap: int, aggregate: Any, function: Any = None) -> None:
        super().__init__(aggregate, function)
        self._gap = gap
        self._table: SessionTable

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = SessionTable(context.backend, self._keys, self.accumulators)

    def next_event_time(self, watermark: int) -> int | None:
        return self._table.next_end()

    def _process_elements(self, columns: InputColumns, advance: Advance, out: ColumnarEmissions) -> None:
        due = self._table.pop_due(advance.end)
        affected = self._keys.distinct(columns.codes, due)
        if not len(affected):
            return
        if len(columns) and columns.times.min() == MIN_WATERMARK:
            require_timestamp(MIN_WATERMARK)
        stored = self._table.read(affected, due)
        behind = np.zeros(len(self._keys.keys), bool)
        behind[columns.codes[columns.times <= columns.effective]] = True
        sessions = self._merge_sorted(stored, columns, ~behind)
        if behind.any():
            sessions = Sessions.join([sessions, self._merge_one_by_one(stored, columns, behind)])
        ended = sessions.ends - 1 <= advance.end
        if ended.any():
            fired = sessions.take(np.flatnonzero(ended))
            groups, last = Groups(fired.codes, fired.counts, fired.columns), fired.ends - 1
            self._fire(Firing(groups, fired.starts, fired.ends, last, last), advance, out)
        self._table.write(affected, sessions.take(np.flatnonzero(~ended)))

    def _merge_sorted(self, stored: Sessions, added: InputColumns, selected: Any) -> Sessions:
        """Adds the elements of selected keys to their sessions, all at once. `selected` is a mask by key code."""
        old, new = np.flatnonzero(selected[stored.codes]), np.flatnonzero(selected[added.codes])
        codes = np.concatenate((stored.codes[old], added.codes[new]))
        starts = np.concatenate((stored.starts[old], added.times[new]))
        ends = np.concatenate((stored.ends[old], added.times[new] + self._gap))
        marks = np.concatenate((np.full(len(old), MIN_WATERMARK, np.int64), added.effective[new]))
        counts = np.concatenate((stored.counts[old], added.counts[new]))
        columns = [
            concatenate([take(s, old), take(a, new)]) for s, a in zip(stored.columns, added.columns, strict=True)
        ]
        if not len(codes):
            return Sessions(codes, starts, ends, counts, columns)
        order, is_first = _session_starts(codes, starts, ends, marks)
        codes, starts, ends = codes[order], starts[order], ends[order]
        groups = np.cumsum(is_first) - 1
        first = np.flatnonzero(is_first)
        return Sessions(
            codes[first],
            starts[first],
            np.maximum.reduceat(ends, first),
            np.add.reduceat(counts[order], first),
            self.accumulators.fold(groups, len(first), [take(c, order) for c in columns]),
        )

    def _merge_one_by_one(self, stored: Sessions, added: InputColumns, selected: Any) -> Sessions:
        """Adds the elements of selected keys in order. The result includes sessions that ended in between."""
        open_sessions: dict[int, list[list[Any]]] = {}
        selected_sessions = stored.take(np.flatnonzero(selected[stored.codes]))
        for code, row in zip(selected_sessions.codes.tolist(), selected_sessions.rows(), strict=True):
            open_sessions.setdefault(code, []).append(list(row))
        ordered = added.take(np.flatnonzero(selected[added.codes]))
        order = sort_order(ordered.effective, ordered.tags())
        if order is not None:
            ordered = ordered.take(order)
        result: list[tuple[int, list[Any]]] = []
        elements = zip(
            ordered.codes.tolist(),
            ordered.times.tolist(),
            ordered.effective.tolist(),
            zip(ordered.counts.tolist(), *map(as_list, ordered.columns), strict=True),
            strict=True,
        )
        for code, time, mark, element in elements:
            sessions = open_sessions.setdefault(code, [])
            result += [(code, s) for s in sessions if s[1] - 1 <= mark]
            sessions[:] = [s for s in sessions if s[1] - 1 > mark]
            self._add_element(sessions, time, mark, element)
        result += [(code, s) for code, sessions in open_sessions.items() for s in sessions]
        if not result:
            return stored.take(column([]))
        starts, ends, counts, *columns = zip(*(s for _, s in result), strict=True)
        codes = column([code for code, _ in result])
        return Sessions(codes, column(starts), column(ends), column(counts), [pack_values(list(c)) for c in columns])

    def _add_element(self, sessions: list[list[Any]], time: int, mark: int, element: tuple[Any, ...]) -> None:
        """Adds an element to the sessions of its key. The sessions that it touches are merged (time-rules 4.2, 5.3)."""
        end = time + self._gap
        touched = [s for s in sessions if s[0] <= end and time <= s[1]]
        if not touched and end - 1 <= mark:
            self.late_records += element[0]
            return
        merged = [min([time, *(s[0] for s in touched)]), max([end, *(s[1] for s in touched)])]
        rows = [*(s[2:] for s in touched), list(element)]
        merged.append(sum(r[0] for r in rows))
        for index, merge in enumerate(self.accumulators.merge_functions(), 1):
            value = rows[0][index]
            for row in rows[1:]:
                value = merge(value, row[index])
            merged.append(value)
        sessions[:] = [s for s in sessions if s not in touched] + [merged]


def _session_starts(codes: Any, starts: Any, ends: Any, marks: Any) -> tuple[Any, Any]:
    """Returns the order of intervals by key and start, and a mask of those that start a session in this order."""
    lowest = int(starts.min())
    span = int(ends.max()) - lowest + 1
    before_start = starts - 1
    if span > _MAX_SPAN // (int(codes.max()) + 1):  # keys and times do not fit into one 64-bit number
        ranks = np.unique(np.concatenate((starts, ends)), return_inverse=True)[1]
        starts, ends = ranks[: len(starts)], ranks[len(starts) :]
        lowest, span = 0, int(ranks.max()) + 1
    begins = codes * span + (starts - lowest)
    order = np.argsort(begins, kind="stable")
    begins = begins[order]
    highest = np.maximum.accumulate((codes * span + (ends - lowest))[order])  # the latest end of each key so far
    first = np.ones(len(order), bool)
    np.greater(begins[1:], highest[:-1], out=first[1:])
    touching = np.flatnonzero(begins[1:] == highest[:-1]) + 1
    if len(touching):  # of several intervals with the same start, one that arrived early enough is sufficient
        runs = np.flatnonzero(np.concatenate(([True], begins[1:] != begins[:-1])))
        earliest = np.minimum.reduceat(marks[order], runs)
        run_of = np.searchsorted(runs, touching, side="right") - 1
        first[touching] = earliest[run_of] >= before_start[order][touching]
    return order, first
