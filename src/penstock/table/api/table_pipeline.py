"""A query with the table that its rows are written to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.catalog_objects.identifiers import ObjectIdentifier
from penstock.table.environment.descriptor import TableDescriptor
from penstock.table.environment.statement_set import table_sink
from penstock.table.environment.statements.queries import run_inserts
from penstock.table.environment.table_result import TableResult
from penstock.table.relations import Sink

if TYPE_CHECKING:
    from penstock.table.api.executable_table import ExecutableTable
    from penstock.table.environment.environment import TableEnvironment


class TablePipeline:
    """A job that writes the rows of a table to another one. `execute` starts it."""

    def __init__(self, environment: TableEnvironment, table: ExecutableTable, target: Any, overwrite: bool) -> None:
        self._environment = environment
        self._registered = not isinstance(target, TableDescriptor)
        self.sink: Sink = table_sink(environment, target, table, overwrite)

    def __str__(self) -> str:
        return f"TablePipeline with sink table '{'.'.join(self.sink.path)}'"

    def execute(self) -> TableResult:
        """Starts the job."""
        return self._environment.result(run_inserts(self._environment.session, [self.sink]))

    def explain(self, *extra_details: object) -> str:
        """Returns the plan as text."""
        details = tuple(getattr(d, "name", str(d)) for d in extra_details)
        return self._environment.session.executor.explain([self.sink], details)

    def print_explain(self, *extra_details: object) -> None:
        """Prints the plan."""
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """Returns the full name of the table that is written, or None if it was described and is in no catalog."""
        return ObjectIdentifier.of(*self.sink.path) if self._registered else None

    def compile_plan(self) -> Any:
        """Returns the plan in a form that can be stored and run later."""
        return self._environment.create_statement_set().add(self).compile_plan()
