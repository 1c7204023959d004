"""A table that an aggregate function is called for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.table.api import queries
from penstock.table.api.function_calls import flattened, split_names
from penstock.table.api.operands import nodes_of
from penstock.table.api.table import Table
from penstock.table.dialect import nodes

if TYPE_CHECKING:
    from penstock.table.api.grouped_table import GroupedTable
    from penstock.table.api.window_grouped_table import WindowGroupedTable
    from penstock.table.expressions import Expression


class AggregatedTable:
    """The keys of groups and the results of an aggregate function. `select` makes a table of them."""

    def __init__(self, groups: GroupedTable | WindowGroupedTable, call: exp.Expr) -> None:
        self._groups = groups
        self._call, self._names = split_names(call)

    def select(self, *fields: Expression[Any]) -> Table:
        """Computes columns of keys and results."""
        items = nodes_of(fields)
        properties = list(dict.fromkeys(part for item in items for part in _properties(item)))
        keys = self._groups.named_keys()
        columns = [queries.named(part, f"EXPR${place}") for place, part in enumerate(properties)]
        table = self._groups.select_nodes([*keys, queries.named(self._call, "f0"), *columns])
        table = flattened(table, len(keys), self._names)

        def change(part: exp.Expr) -> exp.Expr | None:
            if isinstance(part, nodes.WindowProperty):
                return queries.column(f"EXPR${properties.index(part)}")
            return None

        return table._select(table._expanded(queries.rewritten(item, change) for item in items))


def _properties(node: exp.Expr) -> Iterator[exp.Expr]:
    yield from node.find_all(nodes.WindowProperty)
