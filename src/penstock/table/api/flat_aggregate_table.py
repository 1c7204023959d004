"""A table that a table aggregate function is called for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.api import queries
from penstock.table.api.function_calls import split_names
from penstock.table.api.operands import nodes_of
from penstock.table.api.table import Table
from penstock.table.binder.queries.aggregates.table_aggregate import table_aggregate
from penstock.table.binder.user_calls import user_function
from penstock.table.user_functions.table_aggregate_function import UserDefinedTableAggregateFunctionWrapper

if TYPE_CHECKING:
    from penstock.table.api.grouped_table import GroupedTable
    from penstock.table.expressions import Expression


class FlatAggregateTable:
    """The keys of groups and the rows that a table aggregate function returns. `select` makes a table of them."""

    def __init__(self, groups: GroupedTable, call: exp.Expr) -> None:
        self._groups = groups
        self._call, self._names = split_names(call)

    def select(self, *fields: Expression[Any]) -> Table:
        """Computes columns of keys and rows."""
        table = self._groups.table
        session = table._environment.session
        function = user_function(session, self._call)
        if not isinstance(function, UserDefinedTableAggregateFunctionWrapper):
            raise SqlValidationError(
                "SQL_FUNCTION", "flat_aggregate() takes a table aggregate function, which udtaf() makes."
            )
        keys = self._groups.named_keys()
        arguments = table._expanded(self._call.expressions)
        items = [*keys, *(_argument(node, place) for place, node in enumerate(arguments))]
        # The names of the arguments can be those of keys, so that the columns are found by their places.
        inner = session.bind(queries.select(table.relation, items), "")
        zone = session.config.get_local_timezone()
        found = table_aggregate(inner, len(keys), function, self._names, zone)
        result = Table(table._environment, found)
        return result._select(result._expanded(nodes_of(fields)))


def _argument(node: exp.Expr, place: int) -> exp.Expr:
    return node if isinstance(node, exp.Column) else queries.named(node, f"f{place}")
