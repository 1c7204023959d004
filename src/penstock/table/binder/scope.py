"""The columns that an expression can name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.types.logical.kinds import LogicalType


@dataclass(frozen=True)
class ScopeColumn:
    """A column by its name and the name of its table. Names are case-sensitive.

    hidden: found only with the name of its table, because JOIN ... USING merged it with another one.
    """

    name: str
    type: LogicalType
    index: int
    table: tuple[str, ...] = ()  # alias, or catalog, database and table
    hidden: bool = False


class Scope:
    """Columns in the order of the input.

    >>> from penstock.types.logical.kinds import INT
    >>> Scope.of([("a", INT)], "t").matches(["t", "a"])[0].index
    0
    """

    def __init__(self, columns: Sequence[ScopeColumn] = ()) -> None:
        self.columns = tuple(columns)

    @classmethod
    def of(cls, columns: Sequence[tuple[str, LogicalType]], table: str = "") -> Scope:
        """Returns the scope of one table."""
        path = (table,) if table else ()
        return cls([ScopeColumn(name, type_, i, path) for i, (name, type_) in enumerate(columns)])

    def matches(self, parts: Sequence[str]) -> list[ScopeColumn]:
        """Returns the columns that a name of one or more parts can mean."""
        *qualifiers, name = parts
        wanted = tuple(qualifiers)
        return [
            c
            for c in self.columns
            if c.name == name and (not c.hidden if not wanted else c.table[-len(wanted) :] == wanted)
        ]

    def names(self) -> list[str]:
        """Returns the names of all columns, for suggestions."""
        return [c.name for c in self.columns] + [f"{c.table[-1]}.{c.name}" for c in self.columns if c.table]
