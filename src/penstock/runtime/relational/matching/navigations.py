"""Reads the values that expressions need from the rows of matches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.relational.aggregates.accumulators import Accumulators, AggregateSet
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.matching.found_match import FoundMatch, Members, Row
from penstock.runtime.relational.specs.match import Navigation
from penstock.types.logical.kinds import LogicalType

_FEW = 10_000
Point = tuple[FoundMatch, int]  # a match, and the position of the row that is emitted (-1 for an empty match)


class Aggregation:
    """An aggregate over the rows of a variable, for many matches at once."""

    def __init__(self, navigation: Navigation, input_types: Sequence[LogicalType]) -> None:
        call = navigation.call
        assert call is not None
        self._set = AggregateSet([call], input_types)
        self._types = input_types
        self._used = [*call.arguments, *(() if call.filter is None else (call.filter,))]

    def results(self, rows: Sequence[Sequence[Row]]) -> pa.Array:
        """Returns the result for each list of rows."""
        groups = self._set.create(len(rows))
        codes = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
        self._add(groups, codes, [row for some in rows for row in some])
        return self._set.results(groups)[0]

    def at(self, points: Sequence[Point], navigation: Navigation, members: Members) -> pa.Array:
        """Returns the result for the rows that a navigation sees at each point. The points of a match are one after the other."""
        few: list[Sequence[Row]] = []
        parts: list[pa.Array] = []  # behind the results of the few
        places: list[tuple[bool, int]] = []
        for _, some in itertools.groupby(points, lambda point: id(point[0])):
            group = list(some)
            match = group[0][0]
            rows = [match.rows[i] for i in match.positions(navigation.variable, members)]
            if navigation.kind.startswith("FINAL "):
                counts = [len(rows)] * len(group)
            else:
                counts = [match.count(navigation.variable, members, last) for _, last in group]
            distinct = list(dict.fromkeys(counts))
            is_long = sum(distinct) > _FEW
            before = len(parts) if is_long else len(few)
            number = {count: before + i for i, count in enumerate(distinct)}
            places += [(is_long, number[count]) for count in counts]
            if is_long:
                parts += self._running(rows, distinct)
            else:
                few += [rows[:count] for count in distinct]
        found = pa.concat_arrays([self.results(few), *parts])
        return found.take(pa.array([place + len(few) * is_long for is_long, place in places], pa.int64()))

    def _running(self, rows: Sequence[Row], counts: Sequence[int]) -> list[pa.Array]:
        """Returns the results for rising numbers of rows. Each row is added once, so that long matches take little time."""
        groups, seen, found = self._set.create(1), 0, []
        for count in counts:
            self._add(groups, np.zeros(count - seen, np.int64), rows[seen:count])
            seen = count
            found.append(self._set.results(groups)[0])
        return found

    def _add(self, groups: Accumulators, codes: NDArray[np.int64], rows: Sequence[Row]) -> None:
        if not rows:
            return
        columns: list[Any] = [None] * len(self._types)
        for i in self._used:
            columns[i] = from_values([row[i] for row in rows], self._types[i])
        self._set.accumulate(groups, codes, Changes(columns, len(rows)))


def position_picker(navigation: Navigation, members: Members) -> Callable[[FoundMatch, int], int | None]:
    """Returns a function that finds the row of FIRST or LAST, which is seen at a row of a match."""
    variable, offset = navigation.variable, navigation.offset
    final, first = navigation.kind.startswith("FINAL "), navigation.kind.endswith("FIRST")

    def pick(match: FoundMatch, last: int) -> int | None:
        positions = match.positions(variable, members)
        count = len(positions) if final else match.count(variable, members, last)
        if offset >= count:
            return None
        return positions[offset if first else count - 1 - offset]

    return pick
