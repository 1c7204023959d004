"""What a program can do with a table besides making other tables of it: run, print, insert, and look at its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.catalog_objects.resolved_schema import ResolvedSchema
from penstock.table.environment.schema import TableSchema
from penstock.table.environment.statements.queries import collect
from penstock.table.environment.table_result import TableResult
from penstock.table.relations import Relation, Scan

if TYPE_CHECKING:
    import pandas as pd

    from penstock.table.api.table_pipeline import TablePipeline
    from penstock.table.environment.environment import TableEnvironment


class ExecutableTable:
    """A bound query. It runs when a method such as `execute` is called."""

    def __init__(self, environment: TableEnvironment, relation: Relation) -> None:
        self._environment = environment
        self.relation = relation
        self._name: str | None = None

    def get_resolved_schema(self) -> ResolvedSchema:
        """Returns the columns, and for a table of a catalog also its watermark and its primary key."""
        inner = self.relation
        if isinstance(inner, Scan) and inner.stream is None and inner.row_type == inner.table.row_type:
            return ResolvedSchema.of_table(inner.table)
        return ResolvedSchema.of_row_type(inner.row_type)

    def get_schema(self) -> TableSchema:
        """Returns the columns, in the older form."""
        return TableSchema.of(self.relation.row_type)

    def print_schema(self) -> None:
        """Prints the columns."""
        print(self.get_resolved_schema())

    def execute(self) -> TableResult:
        """Starts the query."""
        return self._environment.result(collect(self._environment.session, self.relation))

    def to_pandas(self) -> pd.DataFrame:
        """Runs the query to its end and returns its rows. Rows that were updated or deleted later are left out."""
        from penstock.table.api.frames import collected_frame  # pandas is large

        session = self._environment.session
        return collected_frame(session.executor.collect_columns(self.relation), self.relation, session)

    def to_dataframe(self) -> Any:
        """Runs the query to its end and returns its rows as a Spark DataFrame. As with `to_pandas`, they must fit into memory."""
        from penstock.table.api.spark_frames import collected_spark_frame  # few programs need it

        session = self._environment.session
        session.spark_session()  # an error before the job runs
        return collected_spark_frame(session.executor.collect_columns(self.relation), self.relation, session)

    def execute_insert(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TableResult:
        """Starts a job that writes the rows to a table of the catalog, or to the table of a TableDescriptor."""
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TablePipeline:
        """Returns the job that writes the rows to a table, without starting it."""
        from penstock.table.api.table_pipeline import TablePipeline

        return TablePipeline(self._environment, self, table_path_or_descriptor, overwrite)

    def explain(self, *extra_details: object) -> str:
        """Returns the plan as text."""
        details = tuple(getattr(d, "name", str(d)) for d in extra_details)
        return self._environment.session.executor.explain([self.relation], details)

    def print_explain(self, *extra_details: object) -> None:
        """Prints the plan."""
        print(self.explain(*extra_details))

    def __str__(self) -> str:
        """Makes the table a temporary view and returns its name, so that it can be part of the text of a query."""
        if self._name is None:
            self._name = self._environment.hidden_view(self)
        return self._name
