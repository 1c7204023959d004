"""The conditions of DEFINE.

A part of a condition that reads the current row only is evaluated by columns for all rows of a batch, before matching. Its result
is a bit behind the values of the row. The other parts are evaluated for a row and a partial match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.patterns.condition import Condition, Holds
from penstock.runtime.relational.expressions.compiler import Compiler, Projection
from penstock.runtime.relational.expressions.compiler import Condition as ColumnCondition
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.tree import Call, Expression, columns_of
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.matching.found_match import Members, Row, row_of, subset_members
from penstock.runtime.relational.matching.navigations import Aggregation
from penstock.runtime.relational.matching.row_functions import aggregate_function, row_function
from penstock.runtime.relational.specs.match import Definition, Navigation
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.types.logical.kinds import BOOLEAN, LogicalType


class PartialMatch(Protocol):
    """What a condition reads of a partial match."""

    def accepted_events(self) -> Any:
        """Returns its rows: links from the last row, or None."""


class Definitions:
    """The conditions of all variables of a pattern."""

    def __init__(self, spec: MatchSpec) -> None:
        self._types = spec.row_types()
        self._width = len(self._types)
        self._by_columns: list[tuple[int, ColumnCondition]] = []  # places of bits, and conditions
        self._always = 0  # bits of variables whose conditions have no part that is evaluated by columns
        used: set[int] = set()
        self.conditions: dict[str, Condition] = {}
        session = Session(zone=spec.zone)
        variables, members = spec.variables(), subset_members(spec.subsets)
        # The automaton numbers conditions in the order of the pattern, so that it can use the bits.
        for place, definition in enumerate(sorted(spec.definitions, key=lambda d: variables.index(d.variable))):
            bit = 1 << place
            simple: list[Expression] = []
            complex_: list[Expression] = []
            for part in conjuncts(definition.condition):
                reads_match = max(columns_of(part), default=-1) >= self._width
                # A condition that can fail must not see rows for which the pattern does not ask.
                (complex_ if reads_match or Compiler().compile(part).raises else simple).append(part)
            if simple:
                self._by_columns.append((place, ColumnCondition(conjunction(simple), session)))
                used |= columns_of(*simple)
            else:
                self._always |= bit
            if complex_:
                rest = RowCondition(definition, conjunction(complex_), self._types, members, session)
                self.conditions[definition.variable] = Holds(_both(self._width, bit, rest), True)
            else:
                self.conditions[definition.variable] = Holds(_has_bit(self._width, bit), False)
        self._used = sorted(used)

    def evaluate(self, rows: Sequence[Row]) -> list[int]:
        """Returns the conditions that rows can fulfil, as bits."""
        bits: NDArray[np.int64] = np.full(len(rows), self._always, np.int64)
        columns: list[Any] = [None] * self._width
        for i in self._used:
            columns[i] = from_values([row[i] for row in rows], self._types[i])
        for place, condition in self._by_columns:
            bits |= condition(columns, len(rows)).to_numpy(zero_copy_only=False).astype(np.int64) << place
        return bits.tolist()  # type: ignore[no-any-return]


def _has_bit(place: int, bit: int) -> Callable[[Row], bool]:
    return lambda row: bool(row[place] & bit)


def _both(place: int, bit: int, rest: RowCondition) -> Callable[[Row, PartialMatch], bool]:
    return lambda row, context: bool(row[place] & bit) and rest(row, context)


class RowCondition:
    """A condition over the current row and the rows that a partial match has."""

    def __init__(
        self,
        definition: Definition,
        condition: Expression,
        input_types: Sequence[LogicalType],
        members: Members,
        session: Session,
    ) -> None:
        self._variable = definition.variable
        self._types = input_types
        self._members = members
        width = len(input_types)
        used = columns_of(condition)
        self._columns = sorted(i for i in used if i < width)
        self._navigations = [(i, definition.navigations[i - width]) for i in sorted(used) if i >= width]
        self._aggregations = {i: Aggregation(n, input_types) for i, n in self._navigations if n.kind == "CALL"}
        self._width = width + len(definition.navigations)
        self._by_row = row_function(condition)
        self._calls = {
            i: None if n.call is None else aggregate_function(n.call) for i, n in self._navigations if n.kind == "CALL"
        }
        self._projection = Projection([condition], session)

    def __call__(self, row: Row, context: PartialMatch) -> bool:
        """Returns whether the condition is true."""
        if self._by_row is not None:
            values = [*row[: len(self._types)], *[None] * (self._width - len(self._types))]
            link = context.accepted_events()
            for i, navigation in self._navigations:
                values[i] = self._result(i, navigation, row, link)
            return self._by_row(values) is True
        return self._by_column(row, context)

    def _result(self, place: int, navigation: Navigation, row: Row, link: Any) -> Any:
        if navigation.kind != "CALL":
            return self._value(navigation, row, link)
        rows, call = self._rows(navigation.variable, row, link), self._calls[place]
        if call is not None:
            return call(rows)
        return to_values(self._aggregations[place].results([rows]), navigation.type)[0]

    def _by_column(self, row: Row, context: PartialMatch) -> bool:
        columns: list[Any] = [None] * self._width
        for i in self._columns:
            columns[i] = from_values([row[i]], self._types[i])
        link = context.accepted_events()
        for i, navigation in self._navigations:
            columns[i] = self._column(i, navigation, row, link)
        [found] = self._projection(columns, 1)
        return to_values(found, BOOLEAN)[0] is True

    def _column(self, place: int, navigation: Navigation, row: Row, link: Any) -> pa.Array:
        if navigation.kind == "CALL":
            return self._aggregations[place].results([self._rows(navigation.variable, row, link)])
        value = self._value(navigation, row, link)
        return from_values([value], navigation.type)

    def _has(self, navigated: str, variable: str) -> bool:
        """Whether the rows of a variable are among those of a variable, a subset, or all rows ("")."""
        return not navigated or variable == navigated or variable in self._members.get(navigated, ())

    def _rows(self, variable: str, row: Row, link: Any) -> list[Row]:
        """Returns the rows of a variable, in order."""
        rows = [row] if self._has(variable, self._variable) else []
        while link is not None:
            if self._has(variable, link[1]):
                rows.append(row_of(link[0]))
            link = link[2]
        rows.reverse()
        return rows

    def _value(self, navigation: Navigation, row: Row, link: Any) -> Any:
        variable, offset = navigation.variable, navigation.offset
        if navigation.kind == "FIRST":
            rows = self._rows(variable, row, link)
            return rows[offset][navigation.column] if offset < len(rows) else None
        named = navigation.kind == "CLASSIFIER"
        if self._has(variable, self._variable):
            if offset == 0:
                return self._variable if named else row[navigation.column]
            offset -= 1
        while link is not None:
            if self._has(variable, link[1]):
                if offset == 0:
                    return link[1] if named else row_of(link[0])[navigation.column]
                offset -= 1
            link = link[2]
        return None


def conjuncts(condition: Expression) -> list[Expression]:
    """Returns the parts of a condition that AND combines."""
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def conjunction(parts: Sequence[Expression]) -> Expression:
    """Combines conditions with AND."""
    found = parts[0]
    for part in parts[1:]:
        found = Call("AND", (found, part), BOOLEAN)
    return found
