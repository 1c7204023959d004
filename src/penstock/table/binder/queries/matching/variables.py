"""The names of a MATCH_RECOGNIZE: the variables of its pattern, its subsets, and which rows a match has for certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.runtime.relational.specs.match import AllRows, Subset
from penstock.runtime.relational.specs.pattern_tree import PatternTree, may_be_empty, requires, variables
from penstock.table.functions.catalogue import closest


@dataclass(frozen=True)
class Variables:
    """What expressions need to know of a pattern.

    defined: the variables of DEFINE. all_rows: None for one row per match. subsets: the variables of each.
    """

    tree: PatternTree
    defined: Sequence[str]
    all_rows: AllRows | None = None
    subsets: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def pattern(self) -> list[str]:
        """The variables that rows can have."""
        return variables(self.tree)

    @property
    def names(self) -> list[str]:
        """All names that can qualify a column."""
        return list(dict.fromkeys([*self.pattern, *self.defined, *self.subsets]))

    def members(self, name: str) -> frozenset[str]:
        """Returns the variables of a subset, or a variable alone."""
        return self.subsets.get(name, frozenset([name]))

    def is_current(self, name: str, variable: str | None) -> bool:
        """Whether the last row of a name, or of "" for all rows, is the one for which the condition of a variable is evaluated."""
        return variable is not None and (not name or variable in self.members(name))

    def certain(self, name: str, variable: str | None, *, final: bool) -> bool:
        """Whether there is always a row of a name, or of "" for all rows. variable: that of a condition, or None in MEASURES."""
        if variable is not None:
            return not name
        shows_empty = may_be_empty(self.tree) and (self.all_rows is None or self.all_rows.empty)
        if shows_empty or (self.all_rows is not None and self.all_rows.unmatched):
            return False
        if not name:
            return True
        # With ALL ROWS PER MATCH, the first rows of a match do not see the later ones.
        return (self.all_rows is None or final) and requires(self.tree, self.members(name))

    def hint(self, name: str) -> str:
        """Returns advice for an unknown name."""
        near = closest(name, self.pattern)
        return f" Did you mean '{near}'?" if near else f" The pattern has the variables {', '.join(self.pattern)}."

    def stored_subsets(self) -> tuple[Subset, ...] | None:
        """Returns the subsets as a part of the operator."""
        return tuple(Subset(name, tuple(sorted(members))) for name, members in self.subsets.items()) or None
