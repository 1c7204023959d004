"""The measures of matches, by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.compiler import Projection
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.tree import Column
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.matching.found_match import FoundMatch, Members, subset_members
from penstock.runtime.relational.matching.navigations import Aggregation, Point, position_picker
from penstock.runtime.relational.specs.match import Navigation
from penstock.runtime.relational.specs.operators import MatchSpec

_NANOSECONDS = 1_000_000  # of a millisecond
ColumnOf = Callable[[list[Point], int], pa.Array]


class Measures:
    """Computes the output rows of many matches at once."""

    def __init__(self, spec: MatchSpec) -> None:
        self._projection = Projection(spec.measures, Session(zone=spec.zone))
        members = subset_members(spec.subsets)
        self._columns = [_column(navigation, spec, members) for navigation in spec.navigations]
        self._all_rows = spec.all_rows
        rows = {i for i, navigation in enumerate(spec.navigations) if navigation.kind == "ROW"}
        self._of_row = [isinstance(measure, Column) and measure.index in rows for measure in spec.measures]

    def points(self, matches: Sequence[FoundMatch]) -> list[Point]:
        """Returns the rows that are emitted."""
        if self._all_rows is None:
            return [(match, len(match.rows) - 1) for match in matches]
        points: list[Point] = []
        for match in matches:
            if match.rows:
                points += [(match, i) for i in range(len(match.rows)) if i not in match.excluded]
            elif self._all_rows.empty or match.unmatched:
                points.append((match, -1))
        return points

    def columns(self, points: list[Point], now: int) -> list[pa.Array]:
        """Returns the columns of the output. now: the clock, in milliseconds."""
        found = self._projection([column(points, now) for column in self._columns], len(points))
        unmatched = [match.unmatched for match, _ in points]
        if not any(unmatched):
            return found
        matched = pc.invert(pa.array(unmatched))
        return [c if of_row else pc.if_else(matched, c, None) for c, of_row in zip(found, self._of_row, strict=True)]


def _column(navigation: Navigation, spec: MatchSpec, members: Members) -> ColumnOf:
    type_, column = navigation.type, navigation.column
    match navigation.kind.removeprefix("FINAL "):
        case "ROWTIME":
            return lambda points, now: from_values([m.time * _NANOSECONDS for m, _ in points], type_)
        case "PROCTIME":
            return lambda points, now: from_values([now * _NANOSECONDS] * len(points), type_)
        case "NUMBER":
            return lambda points, now: from_values([m.number for m, _ in points], type_)
        case "ROW":
            return lambda points, now: from_values(
                [(m.at if m.at is not None else m.rows[i])[column] for m, i in points], type_
            )
        case "CALL":
            aggregation = Aggregation(navigation, spec.row_types())
            return lambda points, now: aggregation.at(points, navigation, members)
    pick = position_picker(navigation, members)
    if navigation.kind.endswith("CLASSIFIER"):
        return lambda points, now: from_values(
            [None if (i := pick(m, last)) is None else m.variables[i] for m, last in points], type_
        )
    return lambda points, now: from_values(
        [None if (i := pick(m, last)) is None else m.rows[i][column] for m, last in points], type_
    )
