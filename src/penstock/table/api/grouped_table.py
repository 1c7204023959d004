"""A table whose rows are grouped by keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.table.api import queries
from penstock.table.api.naming import is_aggregate, named_items
from penstock.table.api.operands import nodes_of
from penstock.table.api.table import Table
from penstock.table.dialect import nodes

if TYPE_CHECKING:
    from penstock.table.api.aggregated_table import AggregatedTable
    from penstock.table.api.flat_aggregate_table import FlatAggregateTable
    from penstock.table.expressions import Expression


class GroupedTable:
    """The groups of a table. A key with an alias is known by it behind the grouping."""

    def __init__(self, table: Table, keys: Sequence[exp.Expr]) -> None:
        self.table = table
        self.keys = list(keys)

    def select(self, *fields: Expression[Any]) -> Table:
        """Computes a row for each group: keys, and aggregates such as `col("a").sum`."""
        return self.select_nodes(nodes_of(fields))

    def aggregate(self, func: Any) -> AggregatedTable:
        """Calls an aggregate function for each group. The keys and the fields of its result are the columns."""
        from penstock.table.api.aggregated_table import AggregatedTable
        from penstock.table.api.function_calls import call_node

        return AggregatedTable(self, call_node(func))

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Calls a table aggregate function for each group. It can return several rows."""
        from penstock.table.api.flat_aggregate_table import FlatAggregateTable
        from penstock.table.api.function_calls import call_node

        return FlatAggregateTable(self, call_node(func))

    def select_nodes(self, given: Sequence[exp.Expr]) -> Table:
        """The same for nodes."""
        table = self.table
        items = [self.resolved(item) for item in named_items(table._expanded(given))]
        group = exp.Group(expressions=[self.resolved(_key(key)) for key in self.keys]) if self.keys else None
        return table._bound(queries.select(table.relation, items, group=group))

    def named_keys(self) -> list[exp.Expr]:
        """Returns the keys, each with a name."""
        found: list[exp.Expr] = []
        for place, key in enumerate(self.keys):
            found.append(key if isinstance(key, exp.Alias | exp.Column) else queries.named(key, f"TMP_{place}"))
        return found

    def resolved(self, node: exp.Expr) -> exp.Expr:
        """Replaces names of keys by the keys, except in the arguments of aggregates, which see the rows of the table."""
        aliases: dict[str, exp.Expr] = {key.alias: key.this for key in self.keys if isinstance(key, exp.Alias)}

        def change(part: exp.Expr) -> exp.Expr | None:
            if is_aggregate(part) or isinstance(part, exp.Query | nodes.BoundTable):
                return part
            if isinstance(part, exp.Column) and len(part.parts) == 1 and part.name in aliases:
                return aliases[part.name].copy()
            return None

        return queries.rewritten(node, change) if aliases else node


def _key(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Alias) else node
