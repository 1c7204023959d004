"""A table with windows of rows around each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.table.api import queries
from penstock.table.api.naming import named_items
from penstock.table.api.operands import nodes_of
from penstock.table.api.table import Table

if TYPE_CHECKING:
    from penstock.table.expressions import Expression
    from penstock.table.expressions.windows import OverWindow


class OverWindowedTable:
    """A table whose aggregates can be computed over windows: `col("a").sum.over(col("w"))`."""

    def __init__(self, table: Table, windows: Sequence[OverWindow]) -> None:
        self.table = table
        self.windows = tuple(windows)

    def select(self, *fields: Expression[Any]) -> Table:
        """Computes columns for each row."""
        table = self.table
        items = named_items(table._expanded(nodes_of(fields)))
        return table._bound(queries.select(table.relation, items, windows=[w.node for w in self.windows]))
