"""The parts of MATCH_RECOGNIZE: the steps of its pattern, and how expressions read the rows of a match."""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.runtime.relational.expressions.tree import Expression
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.pattern_tree import quantifier
from penstock.types.logical.kinds import LogicalType


class PatternStep(msgspec.Struct, frozen=True):
    """A variable with its quantifier. maximum: None without an upper bound. A reluctant step takes as few rows as possible."""

    variable: str
    minimum: int = 1
    maximum: int | None = 1
    reluctant: bool = False

    def __str__(self) -> str:
        return f"{self.variable}{quantifier(self.minimum, self.maximum)}{'?' if self.reluctant else ''}"


class MatchSkip(msgspec.Struct, frozen=True):
    """AFTER MATCH SKIP: to the next row, past the last row, or to the first or last row of a variable."""

    kind: Literal["NEXT ROW", "PAST LAST ROW", "FIRST", "LAST"] = "NEXT ROW"
    variable: str = ""

    def __str__(self) -> str:
        return self.kind if self.kind == "PAST LAST ROW" else f"TO {self.kind} {self.variable}".rstrip()


NavigationKind = Literal[
    "FIRST",
    "LAST",
    "CALL",
    "ROWTIME",
    "PROCTIME",
    "ROW",
    "CLASSIFIER",
    "NUMBER",
    "FINAL FIRST",
    "FINAL LAST",
    "FINAL CALL",
    "FINAL CLASSIFIER",
]


class Navigation(msgspec.Struct, frozen=True):
    """A value of a match.

    FIRST and LAST: a column of a row of a variable, `offset` rows after the first or before the last one; NULL if there is none.
    CALL: an aggregate over the rows of a variable. ROWTIME: the time of the match. PROCTIME: the clock.
    ROW: a column of the row that is emitted (the last one of a match, or where an empty match is). CLASSIFIER: the variable of
    the last row of a variable. NUMBER: the number of the match in its partition.
    With ALL ROWS PER MATCH, they see the rows up to the one that is emitted; those with FINAL see all rows of the match.
    variable: a variable or a subset; "" stands for all rows. column: of the input, then of the values of earlier rows.
    """

    kind: NavigationKind
    type: LogicalType
    variable: str = ""
    column: int = -1
    offset: int = 0
    call: AggregateCall | None = None


class Definition(msgspec.Struct, frozen=True):
    """The condition of a variable.

    It reads the columns of the current row, then the navigations. The current row counts as a row of the variable.
    """

    variable: str
    condition: Expression
    navigations: tuple[Navigation, ...] = ()


class Previous(msgspec.Struct, frozen=True):
    """PREV: a column of the row that is `offset` rows before a row in its partition."""

    column: int
    offset: int


class Subset(msgspec.Struct, frozen=True):
    """SUBSET: a name for the rows of several variables."""

    subset: str
    variables: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.subset} = ({', '.join(self.variables)})"


class AllRows(msgspec.Struct, frozen=True):
    """ALL ROWS PER MATCH.

    empty: whether an empty match has a row: that at which it is. unmatched: whether a row that no match has is shown.
    """

    empty: bool = True
    unmatched: bool = False

    def __str__(self) -> str:
        others = " WITH UNMATCHED ROWS" if self.unmatched else "" if self.empty else " OMIT EMPTY MATCHES"
        return f"ALL ROWS PER MATCH{others}"
