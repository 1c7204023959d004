"""A match that was found."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.cep.matcher import NOT_DECODED
from penstock.runtime.relational.specs.match import Subset
from penstock.runtime.relational.state.row_codec import unpack

Row = Sequence[Any]  # plain values
Members = Mapping[str, frozenset[str]]  # the variables of each subset


def subset_members(subsets: Sequence[Subset] | None) -> Members:
    """Returns the variables of each subset."""
    return {subset.subset: frozenset(subset.variables) for subset in subsets or ()}


def row_of(event: Any) -> Row:
    """Returns the row of an event, which is decoded when it is needed."""
    if event.value is NOT_DECODED:
        event.value = unpack(event.data)
    row: Row = event.value
    return row


@dataclass(slots=True)
class FoundMatch:
    """The rows of a match in order, and their variables.

    time: when it was certain, in milliseconds. at: the row where an empty match is. excluded: the positions of rows that are not
    shown. number: of the match in its partition, from 1. unmatched: it stands for the row `at`, which no match has.
    """

    time: int
    rows: list[Row]
    variables: list[str]
    at: Row | None = None
    excluded: frozenset[int] = frozenset()
    number: int = 0
    unmatched: bool = False
    _positions: dict[str, list[int]] = field(default_factory=dict)

    def positions(self, variable: str, members: Members) -> list[int]:
        """Returns the positions of the rows of a variable or a subset, or of all rows for ""."""
        found = self._positions.get(variable)
        if found is None:
            wanted = members.get(variable, (variable,))
            found = [i for i, name in enumerate(self.variables) if not variable or name in wanted]
            self._positions[variable] = found
        return found

    def count(self, variable: str, members: Members, last: int) -> int:
        """Returns how many rows of a variable there are up to a position."""
        return bisect_right(self.positions(variable, members), last)


def found_match(link: Any, time: int) -> FoundMatch:
    """Returns the match with rows that are linked from the last to the first: see `runtime/cep/matcher.py`."""
    rows, names = [], []
    while link is not None:
        rows.append(row_of(link[0]))
        names.append(link[1])
        link = link[2]
    rows.reverse()
    names.reverse()
    return FoundMatch(time, rows, names)
