"""The SESSION window table function without an aggregate: rows with their session, emitted when it has ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.specs.operators import SessionAssignSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import RowCodec, pack, unpack
from penstock.runtime.relational.windows.assign import row_times, window_columns
from penstock.runtime.relational.windows.due import WindowClock
from penstock.runtime.relational.windows.local_time import local_times
from penstock.runtime.relational.windows.session_table import KeySessions, SessionTable
from penstock.runtime.relational.windows.sessions import Session, SessionRows, runs_of
from penstock.types.logical.kinds import TimestampType

_MOST_BLOCKS = 64  # of a session, before they become one


class SessionAssignOperator(BaseOperator):
    """Keeps rows in blocks, one per batch and session, until the session has ended. Rows keep the order of their arrival.

    Kinds of changes are kept with the rows.
    """

    def __init__(self, spec: SessionAssignSpec) -> None:
        super().__init__()
        self._spec = spec
        self._window = spec.window
        self._clock = WindowClock(spec.window.event_time, spec.window.zone)
        self._codec = RowCodec(spec.input_types)
        self._key_types = [spec.input_types[k] for k in spec.keys]
        time = spec.input_types[spec.window.time_column]
        self._time_is_instant = isinstance(time, TimestampType) and time.local

    def open(self, context: OperatorContext) -> None:
        self._sessions = SessionTable(context, "sessions", "blocks of rows")
        self._blocks = KeyedTable(context, "rows", "|".join(map(str, self._spec.input_types)))

    def wake(self) -> int | None:
        return self._clock.wake(self._sessions.timed)

    def next_event_time(self, watermark: int) -> int | None:
        return self._clock.next_event_time(self._sessions.timed, watermark)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        out = Output()
        if not self._clock.event_time:
            self._fire(advance, out)
        for given in inputs:
            if len(given):
                self._add(given, advance)
        self._fire(advance, out)
        return out

    def _add(self, given: Input, advance: Advance) -> None:
        rows, times = row_times(given.changes, self._window, advance.now)
        if len(rows) == 0:
            return
        changes = given.changes if len(rows) == given.changes.length else given.changes.take(rows)
        clocks = self._clock.at_rows(given.watermarks, advance)[rows]
        searched = SessionRows(local_times(times, self._window.zone), clocks, self._window.size, self._window.zone)
        groups = group_rows([changes.columns[k] for k in self._spec.keys], changes.length)
        first = pa.array(groups.first)
        keys = encode_keys([changes.columns[k].take(first) for k in self._spec.keys], self._key_types, len(groups))
        order, starts = groups.order()
        bounds = [*starts.tolist(), len(order)]
        kinds = changes.all_kinds().tolist()
        rows_as_bytes = [list(row) for row in zip(kinds, self._codec.encode(changes.columns), strict=True)]
        prefixes = self._blocks.prefixes(keys)
        for number, of_key in enumerate(self._sessions.of_keys(keys)):
            found, late = searched.add(of_key.bounds, order[bounds[number] : bounds[number + 1]])
            self.late_records += late
            grown = [session for session in found if len(session.parts) > 1 or session.parts[0] >= 0]
            if grown:
                contents = [self._content(session, of_key, rows_as_bytes, prefixes[number]) for session in grown]
                self._sessions.write(of_key, grown, contents)

    def _content(self, session: Session, of_key: KeySessions, rows: list[list[Any]], prefix: bytes) -> bytes:
        """Writes the new rows of a session as blocks. Returns the numbers of all its blocks."""
        blocks: list[int] = []
        for start, stop in runs_of(session.parts):
            first = session.parts[start]
            if first < 0:
                blocks.extend(unpack(self._sessions.content(of_key, ~first)))
            else:
                blocks.append(self._write_block(of_key, prefix, [rows[i] for i in session.parts[start:stop]]))
        if len(blocks) > _MOST_BLOCKS:
            blocks = [self._write_block(of_key, prefix, self._take_blocks(prefix, blocks))]
        return pack(blocks)

    def _write_block(self, of_key: KeySessions, prefix: bytes, rows: list[list[Any]]) -> int:
        number: int = of_key.next_number
        of_key.next_number += 1
        self._blocks.put(prefix + number.to_bytes(8, "big"), pack(rows))
        return number

    def _take_blocks(self, prefix: bytes, blocks: list[int]) -> list[list[Any]]:
        rows: list[list[Any]] = []
        for number in blocks:
            entry = prefix + number.to_bytes(8, "big")
            value = self._blocks.get(entry)
            assert value is not None
            rows.extend(unpack(value))
            self._blocks.put(entry, None)
        return rows

    def _fire(self, advance: Advance, out: Output) -> None:
        ended = self._sessions.take(self._clock, self._clock.end(advance))
        if not ended:
            return
        prefixes = self._blocks.prefixes([entry.key for entry, _ in ended])
        found = [
            self._take_blocks(prefix, unpack(entry.value)) for prefix, (entry, _) in zip(prefixes, ended, strict=True)
        ]
        lengths = [len(rows) for rows in found]
        starts = np.repeat(np.array([start for _, start in ended], np.int64), lengths)
        ends = np.repeat(np.array([entry.time for entry, _ in ended], np.int64), lengths)
        kinds = np.array([row[0] for rows in found for row in rows], np.int8)
        columns = self._codec.decode([row[1] for rows in found for row in rows])
        properties = window_columns(starts, ends, self._window.zone, ("start", "end", "time"), self._time_is_instant)
        changes = Changes([*columns, *properties], len(ends), kinds if kinds.any() else None)
        out.add(changes, self._clock.marks(ends, advance))
