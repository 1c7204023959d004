"""A table whose rows are grouped by windows of time, and possibly by keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import SqlValidationError, UnsupportedOperation
from penstock.table.api import queries
from penstock.table.api.grouped_table import GroupedTable
from penstock.table.api.naming import named_items
from penstock.table.api.operands import nodes_of
from penstock.table.api.table import Table
from penstock.table.binder.queries.group_windows import auxiliary
from penstock.table.dialect import nodes

if TYPE_CHECKING:
    from penstock.table.api.aggregated_table import AggregatedTable
    from penstock.table.expressions import Expression
    from penstock.table.expressions.windows import GroupWindow


class WindowGroupedTable:
    """The groups of a table in each window."""

    def __init__(self, table: Table, window: GroupWindow, keys: Sequence[exp.Expr]) -> None:
        if window.by_rows:
            raise UnsupportedOperation(
                "TABLE_API",
                f"The window '{window.alias}' has a number of rows. Group windows have lengths of time, such as "
                "lit(10).minutes. For the last rows before each row use over_window(), and for windows of rows "
                "count_window() of a KeyedStream.",
            )
        self.window = window
        self.groups = GroupedTable(table, keys)

    def select(self, *fields: Expression[Any]) -> Table:
        """Computes a row for each group: keys, aggregates, and properties of the window such as `col("w").start`."""
        return self.select_nodes(nodes_of(fields))

    def aggregate(self, func: Any) -> AggregatedTable:
        """Calls an aggregate function for each group. The keys and the fields of its result are the columns."""
        from penstock.table.api.aggregated_table import AggregatedTable
        from penstock.table.api.function_calls import call_node

        return AggregatedTable(self, call_node(func, without=self.window.time.node))

    def flat_aggregate(self, func: Any) -> Any:
        """Calls a table aggregate function for each group."""
        raise UnsupportedOperation("TABLE_API", "A table aggregate function cannot be used in windows, as in PyFlink.")

    @property
    def table(self) -> Table:
        """The table whose rows are grouped."""
        return self.groups.table

    @property
    def keys(self) -> list[exp.Expr]:
        """The keys besides the window."""
        return self.groups.keys

    def named_keys(self) -> list[exp.Expr]:
        """Returns the keys besides the window, each with a name."""
        return self.groups.named_keys()

    def select_nodes(self, given: Sequence[exp.Expr]) -> Table:
        """The same for nodes."""
        table, window = self.table, self.window
        items = [self._resolved(item) for item in named_items(table._expanded(given))]
        keys = [self.groups.resolved(_key(key)) for key in self.keys]
        group = exp.Group(expressions=[window.node, *keys])
        return table._bound(queries.select(table.relation, items, group=group))

    def _resolved(self, item: exp.Expr) -> exp.Expr:
        found = self.groups.resolved(self.window.resolve(item))
        for call in found.find_all(nodes.Call):
            if auxiliary(call):
                call.set("nullable", True)
        for part in found.find_all(nodes.WindowProperty):
            raise SqlValidationError(
                "SQL_WINDOW", f"'{part.this.name}' is no window. The window of this table is '{self.window.alias}'."
            )
        return found


def _key(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Alias) else node
