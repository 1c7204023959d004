"""MATCH_RECOGNIZE: rows of a partition run through the automaton of the pattern in the order of their times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import UserFunctionError
from penstock.runtime.cep.matcher import Event
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.runtime.relational.matching.definitions import Definitions
from penstock.runtime.relational.matching.flink_finder import FlinkFinder
from penstock.runtime.relational.matching.found_match import FoundMatch
from penstock.runtime.relational.matching.match_state import Finder, MatchTables
from penstock.runtime.relational.matching.measures import Measures
from penstock.runtime.relational.matching.partitions import Partition, Partitions
from penstock.runtime.relational.matching.standard_finder import StandardFinder
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.sorting.ordered_bytes import ordered_bytes
from penstock.runtime.relational.sorting.positions import positions_by_group
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.runtime.relational.state.row_codec import RowCodec, unpack
from penstock.runtime.relational.state.row_times import row_times
from penstock.time import MAX_WATERMARK

_RowOfKey = tuple[bytes, int, bytes]  # key, time, bytes of the row


class MatchOperator(BaseOperator):
    """By event time, rows wait until the watermark reaches them; rows that are not above the watermark are late.

    By processing time, rows are matched when they arrive. A match leaves when no earlier partial match can exclude it.
    """

    def __init__(self, spec: MatchSpec) -> None:
        super().__init__()
        self._spec = spec
        self._codec = RowCodec(spec.input_types)
        self._definitions = Definitions(spec)
        kind = FlinkFinder if spec.tree is None else StandardFinder
        self._finder: Finder = kind(spec, self._definitions.conditions)
        self._measures = Measures(spec)
        self._tables: MatchTables
        self._partitions: Partitions

    def open(self, context: OperatorContext) -> None:
        self._tables = MatchTables(context, self._finder)
        self._partitions = Partitions(context, self._spec)

    def wake(self) -> int | None:
        return None if self._spec.event_time else self._tables.next_deadline()

    def next_event_time(self, watermark: int) -> int | None:
        if not self._spec.event_time:
            return None
        times = [self._tables.next_row(), self._tables.next_deadline()]
        return min((time for time in times if time is not None), default=None)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        rows, output = inputs[0], Output()
        if self._spec.event_time:
            if len(rows):
                self._wait(rows)
            due = [(entry.key, entry.time, entry.value) for entry in self._tables.take_due(advance.end)]
            matches = self._match(due, advance.end)
        else:
            ends = (
                advance.end >= MAX_WATERMARK and self._spec.tree is not None
            )  # in Flink, timers do not fire at the end
            until = MAX_WATERMARK if ends else advance.now
            matches = self._match(self._arrived(rows, advance.now), until)
        if self._spec.tree is not None and self._spec.event_time:
            for match in matches:
                # What the end of the input decides has the time of the last row of its partition, which may be long ago.
                match.time = max(match.time, advance.before + 1)
        matches.sort(key=lambda match: match.time)
        points = self._measures.points(matches)
        if points:
            columns = self._measures.columns(points, advance.now)
            marks: Any = int(rows.watermarks[-1]) if len(rows) else advance.before
            if self._spec.event_time:
                marks = np.array([match.time for match, _ in points], np.int64) - 1
            output.add(Changes(columns, len(points)), marks)
        return output

    def _wait(self, rows: Input) -> None:
        changes = rows.changes
        times = row_times(changes.columns[self._spec.order[0].column])
        on_time = times > rows.watermarks
        if not on_time.all():
            self.late_records += int(len(times) - on_time.sum())
            changes, times = changes.filter(on_time), times[on_time]
            if not changes.length:
                return
        keys, positions = self._group(changes)
        orders = ordered_bytes(changes.columns, self._spec.order[1:], changes.length)
        self._tables.add_waiting(keys, positions, times.tolist(), orders, self._codec.encode(changes.columns))

    def _arrived(self, rows: Input, now: int) -> list[_RowOfKey]:
        """Returns the rows of a batch by processing time. All have the same time, so the other sort keys decide."""
        if not len(rows):
            return []
        changes = rows.changes
        orders = ordered_bytes(changes.columns, self._spec.order[1:], changes.length)
        keys, positions = self._group(changes)
        key_of = {place: key for key, places in zip(keys, positions, strict=True) for place in places}
        encoded = self._codec.encode(changes.columns)
        return [(key_of[place], now, encoded[place]) for place in sorted(range(len(rows)), key=orders.__getitem__)]

    def _group(self, changes: Changes) -> tuple[list[bytes], list[list[int]]]:
        columns = [changes.columns[i] for i in self._spec.keys]
        groups = group_rows(columns, changes.length)
        first = pa.array(groups.first)
        types = [self._spec.input_types[i] for i in self._spec.keys]
        return encode_keys([c.take(first) for c in columns], types, len(groups)), positions_by_group(groups)

    def _match(self, rows: list[_RowOfKey], until: int) -> list[FoundMatch]:
        """Matches rows, and times out partial matches."""
        overdue = dict.fromkeys(self._tables.take_deadlines(until))
        keys = list(dict.fromkeys([*(key for key, _, _ in rows), *overdue]))
        if not keys:
            return []
        loaded, partitions = self._tables.load(keys), self._partitions.load(keys)
        for key, state in zip(keys, loaded, strict=True):
            if key in overdue:
                state.timer = None  # its entry is gone
        states = dict(zip(keys, zip(loaded, partitions, strict=True), strict=True))
        decoded = [unpack(data) for _, _, data in rows]
        if self._spec.previous:
            for (key, _, _), row in zip(rows, decoded, strict=True):
                row += self._partitions.earlier_values(states[key][1], row)
        matches: list[FoundMatch] = []
        bits = self._definitions.evaluate(decoded)
        for (key, time, data), row, bit in zip(rows, decoded, bits, strict=True):
            row.append(bit)
            event = Event(time, row, bit, None if self._spec.previous else data)
            self._process(*states[key], event, time, matches)
        for state, partition in states.values():
            self._process(state, partition, None, until, matches)
        self._tables.save(keys, loaded)
        self._partitions.save(keys, partitions)
        return matches

    def _process(
        self, state: Any, partition: Partition, event: Event | None, until: int, matches: list[FoundMatch]
    ) -> None:
        try:
            found = self._finder.process(state, event, until)
        except UserFunctionError as error:
            raise self._explained(error) from error
        for match in found:
            if not match.unmatched:
                partition.matches += 1
                match.number = partition.matches
        matches += found

    def _explained(self, error: UserFunctionError) -> UserFunctionError:
        if error.code != "PATTERN_SKIP_MISSED":
            return error
        skip = self._spec.skip
        return UserFunctionError(
            error.code,
            f"AFTER MATCH SKIP {skip} could not skip: a match has no row of '{skip.variable}', or this row is the first element of "
            "the match, so that it would be found again without end. Choose another variable, or SKIP PAST LAST ROW.",
        )
