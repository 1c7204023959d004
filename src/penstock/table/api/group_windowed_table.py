"""A table whose rows are put into windows of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.api.operands import nodes_of
from penstock.table.api.table import Table

if TYPE_CHECKING:
    from penstock.table.api.window_grouped_table import WindowGroupedTable
    from penstock.table.expressions import Expression
    from penstock.table.expressions.windows import GroupWindow


class GroupWindowedTable:
    """A table with a window, by which it must be grouped."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self.table = table
        self.window = window

    def group_by(self, *fields: Expression[Any]) -> WindowGroupedTable:
        """Groups the rows by the window, which is named by its alias, and possibly by other keys."""
        from penstock.table.api.window_grouped_table import WindowGroupedTable

        given = nodes_of(fields)
        alias = self.window.alias
        keys = [key for key in given if not (isinstance(key, exp.Column) and key.name == alias)]
        if len(given) - len(keys) != 1:
            raise SqlValidationError(
                "SQL_WINDOW", f"GroupBy must contain exactly one window alias: group_by(col('{alias}'), ...)."
            )
        return WindowGroupedTable(self.table, self.window, keys)
