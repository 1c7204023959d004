"""Several INSERT statements that run as one job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import PlanError, SqlValidationError
from penstock.table.catalog.errors import located
from penstock.table.dialect import parse_statement
from penstock.table.dialect.statements.insert import Insert
from penstock.table.environment.descriptor import TableDescriptor
from penstock.table.environment.statements.queries import insert_relation, run_inserts
from penstock.table.environment.table_result import TableResult
from penstock.table.rejected_statements import check_supported
from penstock.table.relations import Sink

if TYPE_CHECKING:
    from penstock.table.api.executable_table import ExecutableTable
    from penstock.table.api.table_pipeline import TablePipeline
    from penstock.table.environment.environment import TableEnvironment
    from penstock.table.environment.plans.compiled_plan import CompiledPlan


class StatementSet:
    """Collects INSERT statements. `execute` starts one job for all of them."""

    def __init__(self, environment: TableEnvironment) -> None:
        self._environment = environment
        self._sinks: list[Sink] = []

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Adds what `Table.insert_into` returned."""
        self._sinks.append(table_pipeline.sink)
        return self

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Adds an INSERT statement."""
        self._sinks.append(insert_sink(self._environment, stmt))
        return self

    def add_insert(
        self, target_path_or_descriptor: Any, table: ExecutableTable, overwrite: bool = False
    ) -> StatementSet:
        """Adds the rows of a Table that are written to a table of the catalog, or to the table of a TableDescriptor."""
        self._sinks.append(table_sink(self._environment, target_path_or_descriptor, table, overwrite))
        return self

    def explain(self, *extra_details: object) -> str:
        """Returns the plan as text."""
        details = tuple(getattr(d, "name", str(d)) for d in extra_details)
        return self._environment.session.executor.explain(self._sinks, details)

    def print_explain(self, *extra_details: object) -> None:
        """Prints the plan."""
        print(self.explain(*extra_details))

    def execute(self) -> TableResult:
        """Starts one job for all statements, and forgets them."""
        if not self._sinks:
            raise PlanError("STATEMENT_SET", "The statement set is empty. Add an INSERT statement.")
        sinks, self._sinks = self._sinks, []
        return self._environment.result(run_inserts(self._environment.session, sinks))

    def compile_plan(self) -> CompiledPlan:
        """Compiles the statements to a plan that can be stored, and forgets them."""
        from penstock.table.environment.plans.compiled_plan import CompiledPlan  # few programs need it

        sinks, self._sinks = self._sinks, []
        return CompiledPlan.of(self._environment, sinks)

    def attach_as_datastream(self) -> None:
        """Adds the statements to the DataStream environment, whose `execute` runs them, and forgets them."""
        sinks, self._sinks = self._sinks, []
        self._environment.session.executor.attach(sinks)


def insert_sink(environment: TableEnvironment, stmt: str) -> Sink:
    """Binds an INSERT statement."""
    statement = parse_statement(stmt)
    check_supported(statement)
    if not isinstance(statement, Insert):
        raise PlanError("STATEMENT_SET", f"A statement set takes INSERT statements, not {statement.statement_kind()}.")
    try:
        return insert_relation(environment.session, statement, stmt)
    except SqlValidationError as error:
        raise located(error, stmt, statement.table.line, statement.table.column) from error


def table_sink(environment: TableEnvironment, target: Any, table: ExecutableTable, overwrite: bool) -> Sink:
    """Returns the relation that writes a table to another one, which is a path, or a descriptor of a table in no catalog."""
    view = environment.hidden_view(table)
    path = target
    if isinstance(target, TableDescriptor):
        path = f"`{view} sink`"
        environment.create_temporary_table(path, target)
    try:
        word = "OVERWRITE" if overwrite else "INTO"
        return insert_sink(environment, f"INSERT {word} {path} SELECT * FROM `{view}`")
    finally:
        environment.drop_temporary_view(f"`{view}`")
        if path is not target:
            environment.drop_temporary_table(path)
