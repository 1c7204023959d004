"""Aggregates of SESSION windows. Sessions of a key grow and merge while rows arrive."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import group_rows
from penstock.runtime.relational.operators.operator import Input, Output
from penstock.runtime.relational.windows.aggregate.base import WindowAggregateBase
from penstock.runtime.relational.windows.assign import row_times
from penstock.runtime.relational.windows.local_time import local_times
from penstock.runtime.relational.windows.session_table import KeySessions, SessionTable
from penstock.runtime.relational.windows.sessions import Session, SessionRows, runs_of


@dataclass(slots=True)
class _Grown:
    """The sessions of a batch that have new rows, as the parts that their accumulators are merged from, in order.

    A part is a stored session or a run of rows. The first part of a session takes the rows that follow it.
    """

    stored: list[bytes | None] = field(default_factory=list)  # of each part
    owners: list[int] = field(default_factory=list)  # the session of each part
    rows: list[int] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)  # the part of each row

    def add(self, session: Session, number: int, contents: list[bytes]) -> None:
        """Adds a session. contents: the stored sessions in it, in order."""
        at = iter(contents)
        open_part = False
        for start, stop in runs_of(session.parts):
            if session.parts[start] < 0:
                self.stored.append(next(at))
                self.owners.append(number)
                open_part = True
                continue
            if not open_part:
                self.stored.append(None)
                self.owners.append(number)
            self.rows.extend(session.parts[start:stop])
            self.codes.extend([len(self.stored) - 1] * (stop - start))
            open_part = False


class SessionAggregateOperator(WindowAggregateBase):
    """Keeps the accumulators of each session and key until the session ends.

    A row that joins sessions is added after their rows; the earlier session comes first.
    """

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._sessions = SessionTable(context, "sessions", self.schema)

    def wake(self) -> int | None:
        return self.clock.wake(self._sessions.timed)

    def next_event_time(self, watermark: int) -> int | None:
        return self.clock.next_event_time(self._sessions.timed, watermark)

    def add(self, given: Input, advance: Advance, out: Output) -> None:
        rows, times = row_times(given.changes, self.window, advance.now)
        if len(rows) == 0:
            return
        changes = given.changes if len(rows) == given.changes.length else given.changes.take(rows)
        zone = self.window.zone
        clocks = self.clock.at_rows(given.watermarks, advance)[rows]
        searched = SessionRows(local_times(times, zone), clocks, self.window.size, zone)
        groups = group_rows([changes.columns[k] for k in self.spec.keys], changes.length)
        order, starts = groups.order()
        bounds = [*starts.tolist(), len(order)]
        grown = _Grown()
        by_key: list[tuple[KeySessions, list[Session]]] = []
        count = 0
        for i, of_key in enumerate(self._sessions.of_keys(self.keys_of(changes, groups.first))):
            found, late = searched.add(of_key.bounds, order[bounds[i] : bounds[i + 1]])
            self.late_records += late
            with_rows = [session for session in found if len(session.parts) > 1 or session.parts[0] >= 0]
            for session in with_rows:
                contents = [self._sessions.content(of_key, ~part) for part in session.parts if part < 0]
                grown.add(session, count, contents)
                count += 1
            if with_rows:
                by_key.append((of_key, with_rows))
        if not count:
            return
        values = self._values(grown, count, changes.take(np.array(grown.rows, np.int64)))
        start = 0
        for of_key, sessions in by_key:
            self._sessions.write(of_key, sessions, values[start : start + len(sessions)])
            start += len(sessions)

    def _values(self, grown: _Grown, count: int, rows: Changes) -> list[bytes]:
        """Returns the accumulators of the sessions as bytes."""
        parts = self.load(grown.stored)
        self.aggregates.accumulate(parts, np.array(grown.codes, np.int64), rows)
        if len(parts) > count:
            merged = self.aggregates.create(count)
            self.aggregates.merge(merged, np.array(grown.owners, np.int64), parts)
            parts = merged
        return self.dump(parts)

    def fire(self, clock: int, advance: Advance, out: Output) -> None:
        ended = self._sessions.take(self.clock, clock)
        if not ended:
            return
        starts = np.array([start for _, start in ended], np.int64)
        ends = np.array([entry.time for entry, _ in ended], np.int64)
        groups = self.load([entry.value for entry, _ in ended])
        self.emit([entry.key for entry, _ in ended], starts, ends, groups, advance, out)
