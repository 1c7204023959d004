"""How an aggregate function is defined: its name and the rule that types a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.relational.functions.definition import Typing
from penstock.types.logical.kinds import LogicalType


class AggregateCallTyping(Typing):
    """A call of an aggregate function while its type is derived.

    grouped: whether each group has at least one row, as with GROUP BY. filtered: whether the call has a FILTER, so that none of
    the rows of a group may count. A result that is NULL without rows is NOT NULL only with `grouped` and without `filtered`.
    """

    def __init__(
        self, types: Sequence[LogicalType], literals: Sequence[Any], distinct: bool, grouped: bool, filtered: bool
    ) -> None:
        super().__init__(types, literals)
        self.distinct = distinct
        self.grouped = grouped
        self.filtered = filtered

    @property
    def never_empty(self) -> bool:
        """Whether each result has at least one row."""
        return self.grouped and not self.filtered


AggregateRule = Callable[[AggregateCallTyping], LogicalType]


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate function, or a function that exists only with OVER (`over_only`).

    ordered: whether the result depends on the order of rows, so that the call may have an ORDER BY of its own.
    """

    name: str
    rule: AggregateRule
    signature: str = ""  # for messages and documentation: "SUM(numeric)"
    documentation: str = ""
    over_only: bool = False
    ordered: bool = False


@dataclass(frozen=True)
class AggregateTyping:
    """The type of the result of a call, and the types that arguments must be converted to, by their positions."""

    type: LogicalType
    casts: dict[int, LogicalType] = field(default_factory=dict)
