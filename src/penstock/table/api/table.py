"""A query of which a program can make other ones: `Table`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.api import columns as column_lists
from penstock.table.api import queries
from penstock.table.api.executable_table import ExecutableTable
from penstock.table.api.expansion import expanded, with_arguments
from penstock.table.api.naming import named_items
from penstock.table.api.operands import condition, nodes_of
from penstock.table.api.sorting import with_fetch, with_offset, without_fetch
from penstock.table.binder.queries.aggregates.python_aggregates import find_python_aggregates
from penstock.table.dialect import nodes

if TYPE_CHECKING:
    from penstock.table.api.aggregated_table import AggregatedTable
    from penstock.table.api.flat_aggregate_table import FlatAggregateTable
    from penstock.table.api.group_windowed_table import GroupWindowedTable
    from penstock.table.api.grouped_table import GroupedTable
    from penstock.table.api.over_windowed_table import OverWindowedTable
    from penstock.table.expressions import Expression
    from penstock.table.expressions.windows import GroupWindow, OverWindow


class Table(ExecutableTable):
    """A table that no rows are computed of until it is executed. Each method returns another table, and leaves this one as it is.

    >>> from penstock.table import EnvironmentSettings, TableEnvironment
    >>> from penstock.table.expressions import col
    >>> env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> orders = env.from_elements([("ann", 3), ("bob", 5)], ["name", "price"])
    >>> orders.filter(col("price") > 4).select(col("name"), (col("price") * 2).alias("twice")).print_schema()
    (
      `name` STRING,
      `twice` BIGINT
    )
    """

    def __getattr__(self, name: str) -> Expression[Any]:
        """Returns the column with this name."""
        from penstock.table.expressions import col

        hidden = (
            name.startswith("__") or "relation" not in self.__dict__
        )  # Python asks for names while it copies objects
        names = [] if hidden else queries.names_of(self.relation)
        if name not in names:
            raise AttributeError(
                f"The table has no column '{name}'. Its columns are [{', '.join(names)}].", name=name, obj=self
            )
        return col(name)

    # -- columns

    def select(self, *fields: Expression[Any]) -> Table:
        """Computes columns. With aggregates such as `col("a").sum`, the result is one row for the whole table."""
        return self._select(self._items(fields))

    def alias(self, field: str, *fields: str) -> Table:
        """Renames the columns from the first one on."""
        return self._select(column_lists.aliased(queries.names_of(self.relation), [field, *fields]))

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """Adds columns behind those of the table."""
        added = column_lists.without_aggregates(self._items(fields), "add_columns")
        return self._select([*column_lists.all_of(self.relation), *added])

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Table:
        """Adds columns behind those of the table, or replaces columns with the same names."""
        added = column_lists.without_aggregates(self._items(fields), "add_or_replace_columns")
        return self._select(column_lists.replaced(queries.names_of(self.relation), added))

    def rename_columns(self, *fields: Expression[Any]) -> Table:
        """Renames columns: `t.rename_columns(col("a").alias("b"))`."""
        return self._select(column_lists.renamed(queries.names_of(self.relation), self._items(fields)))

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """Removes columns."""
        return self._select(column_lists.remaining(queries.names_of(self.relation), self._items(fields)))

    # -- rows

    def filter(self, predicate: Expression[bool]) -> Table:
        """Keeps the rows for which a condition is true."""
        where = with_arguments(condition(predicate), queries.names_of(self.relation))
        return self._bound(queries.everything(self.relation, where=exp.Where(this=where)))

    def where(self, predicate: Expression[bool]) -> Table:
        """Keeps the rows for which a condition is true."""
        return self.filter(predicate)

    def distinct(self) -> Table:
        """Keeps one of several equal rows."""
        return self._bound(queries.everything(self.relation, distinct=exp.Distinct()))

    def order_by(self, *fields: Expression[Any]) -> Table:
        """Sorts the rows. On a stream it takes a time attribute first, or a `fetch` behind it."""
        order = queries.order(self._items(fields))
        one = exp.Limit(
            expression=exp.Literal.number(1)
        )  # without it the binder checks the order, before fetch() is called
        bound = self._bound(queries.everything(self.relation, order=order, limit=one))
        return Table(self._environment, without_fetch(bound.relation))

    def offset(self, offset: int) -> Table:
        """Leaves out the first rows. On a stream it takes a `fetch` behind it."""
        return Table(self._environment, with_offset(self.relation, offset))

    def fetch(self, fetch: int) -> Table:
        """Keeps only the first rows, behind those that `offset` leaves out."""
        return Table(self._environment, with_fetch(self.relation, fetch))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """Leaves out the first rows, and keeps only some of the next ones."""
        return self.offset(offset).fetch(fetch)

    # -- groups and windows

    def group_by(self, *fields: Expression[Any]) -> GroupedTable:
        """Groups the rows by keys. `select` of the result computes aggregates."""
        from penstock.table.api.grouped_table import GroupedTable

        return GroupedTable(self, self._items(fields))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Puts the rows into windows. `group_by` of the result names the window by its alias."""
        from penstock.table.api.group_windowed_table import GroupWindowedTable

        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Defines windows of rows around each row. `select` of the result computes aggregates over them."""
        from penstock.table.api.over_windowed_table import OverWindowedTable

        return OverWindowedTable(self, over_windows)

    # -- two tables

    def join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """Joins each row with the rows of another table that fit. The columns of both must have different names."""
        return self._join(right, join_predicate, None)

    def left_outer_join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """Like `join`, and keeps rows of this table that nothing fits."""
        return self._join(right, join_predicate, "LEFT")

    def right_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """Like `join`, and keeps rows of the other table that nothing fits."""
        return self._join(right, join_predicate, "RIGHT")

    def full_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """Like `join`, and keeps rows of both tables that nothing fits."""
        return self._join(right, join_predicate, "FULL")

    def union(self, right: Table) -> Table:
        """Returns the rows of both tables, each once."""
        return self._set_operation(exp.Union, right, distinct=True)

    def union_all(self, right: Table) -> Table:
        """Returns the rows of both tables."""
        return self._set_operation(exp.Union, right, distinct=False)

    def intersect(self, right: Table) -> Table:
        """Returns the rows that both tables have, each once."""
        return self._set_operation(exp.Intersect, right, distinct=True)

    def intersect_all(self, right: Table) -> Table:
        """Returns the rows that both tables have, as often as both have them."""
        return self._set_operation(exp.Intersect, right, distinct=False)

    def minus(self, right: Table) -> Table:
        """Returns the rows that the other table does not have, each once."""
        return self._set_operation(exp.Except, right, distinct=True)

    def minus_all(self, right: Table) -> Table:
        """Returns the rows that are left if each row of the other table removes an equal one."""
        return self._set_operation(exp.Except, right, distinct=False)

    # -- functions of the program

    def join_lateral(self, table_function_call: Any, join_predicate: Expression[bool] | None = None) -> Table:
        """Joins each row with the rows that a table function returns for it."""
        from penstock.table.api.function_calls import lateral

        return self._bound(lateral(self.relation, table_function_call, join_predicate, outer=False))

    def left_outer_join_lateral(
        self, table_function_call: Any, join_predicate: Expression[bool] | None = None
    ) -> Table:
        """Like `join_lateral`, and keeps rows for which the function returns nothing."""
        from penstock.table.api.function_calls import lateral

        return self._bound(lateral(self.relation, table_function_call, join_predicate, outer=True))

    def map(self, func: Any) -> Table:
        """Calls a scalar function for each row. The fields of its result are the columns."""
        from penstock.table.api.function_calls import mapped

        return mapped(self, func)

    def flat_map(self, func: Any) -> Table:
        """Calls a table function for each row. Its rows are those of the result."""
        from penstock.table.api.function_calls import flat_mapped

        return flat_mapped(self, func)

    def aggregate(self, func: Any) -> AggregatedTable:
        """Calls an aggregate function for all rows. The fields of its result are the columns."""
        return self.group_by().aggregate(func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Calls a table aggregate function for all rows. It can return several rows."""
        return self.group_by().flat_aggregate(func)

    def to_changelog(self, *arguments: Expression[Any]) -> Table:
        """Returns the changes of the table as rows that are only added. A column says what kind of change a row is."""
        return self._table_function("TO_CHANGELOG", arguments)

    def from_changelog(self, *arguments: Expression[Any]) -> Table:
        """Reads rows of which a column says what kind of change they are."""
        return self._table_function("FROM_CHANGELOG", arguments)

    # -- building

    def subquery_node(self) -> exp.Subquery:
        """Returns the table as a part of an expression, such as `col("a").in_(table)`."""
        return exp.Subquery(this=queries.everything(self.relation))

    def _items(self, fields: Sequence[Expression[Any]]) -> list[exp.Expr]:
        return self._expanded(nodes_of(fields))

    def _expanded(self, given: Iterable[exp.Expr]) -> list[exp.Expr]:
        session = self._environment.session
        found = expanded(session, self.relation, given)
        for node in found:  # names of columns depend on which functions are aggregates
            find_python_aggregates(node, session)
        return found

    def _select(self, items: Sequence[exp.Expr]) -> Table:
        if any(item.find(nodes.WindowProperty) for item in items):
            raise SqlValidationError(
                "SQL_WINDOW",
                "Window properties can only be used on windowed tables: t.window(...).group_by(...).select(...).",
            )
        return self._bound(queries.select(self.relation, named_items(items)))

    def _bound(self, query: exp.Expr) -> Table:
        return Table(self._environment, self._environment.session.bind(query, ""))

    def _join(self, right: Table, predicate: Expression[bool] | None, side: str | None) -> Table:
        _check_tables(self, right, "join")
        names = queries.names_of(self.relation)
        common = [name for name in queries.names_of(right.relation) if name in names]
        if common:
            raise SqlValidationError(
                "SQL_JOIN",
                f"join relations with ambiguous names: [{', '.join(common)}]. Rename columns of one of the tables with alias().",
            )
        join = exp.Join(this=nodes.BoundTable(this=right.relation), side=side)
        if predicate is not None:
            join.set("on", with_arguments(condition(predicate), [*names, *queries.names_of(right.relation)]))
        elif side is None:
            join.set("kind", "CROSS")
        else:
            join.set("on", exp.Boolean(this=True))
        return self._bound(queries.everything(self.relation, joins=[join]))

    def _set_operation(self, kind: type[exp.SetOperation], right: Table, distinct: bool) -> Table:
        _check_tables(self, right, kind.__name__.lower())
        left, other = queries.everything(self.relation), queries.everything(right.relation)
        return self._bound(kind(this=left, expression=other, distinct=distinct))

    def _table_function(self, name: str, arguments: Sequence[Expression[Any]]) -> Table:
        data = nodes.TableArgument(this=nodes.BoundTable(this=self.relation))
        first = nodes.NamedArgument(this=exp.Identifier(this="input", quoted=True), expression=data)
        call = nodes.Call(this=name, expressions=[first, *nodes_of(arguments)])
        source = exp.From(this=nodes.TableFunction(this=call))
        return self._bound(exp.Select(expressions=[exp.Star()], from_=source))


def _check_tables(left: Table, right: object, what: str) -> None:
    if not isinstance(right, Table):
        raise TypeError(f"{what}() takes a Table, not {right!r}.")
    if right._environment is not left._environment:
        raise SqlValidationError(
            "SQL_TABLE",
            f"{what}() takes a table of the same TableEnvironment. Create both tables with one environment.",
        )
