"""What the statements of one environment share: catalogs, functions, settings and the executor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from penstock.runtime.relational.python_functions.function import AsyncLimits
from penstock.table.binder.queries.lookup import BinderSettings, ResolvedTable, ResolvedView
from penstock.table.catalog.definition import functions_of
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.manager import CatalogManager, Path
from penstock.table.catalog.table import CatalogView
from penstock.table.environment.answer import Answer
from penstock.table.environment.executor import QueryExecutor, load_executor
from penstock.table.environment.functions import FunctionStore
from penstock.table.environment.settings import EnvironmentSettings
from penstock.table.environment.table_config import TableConfig
from penstock.table.relations import Relation
from penstock.types.logical.kinds import RowType


class Session:
    """The state of a table environment. It is also what the binder asks for tables and functions."""

    def __init__(self, settings: EnvironmentSettings, stream_environment: Any = None) -> None:
        self.catalogs = CatalogManager(settings.get_built_in_catalog_name(), settings.get_built_in_database_name())
        self.functions = FunctionStore(self.catalogs)
        self.config = TableConfig(settings.options())
        self.streaming = settings.is_streaming_mode()
        self.stream_environment = stream_environment

    @property
    def executor(self) -> QueryExecutor:
        """What runs queries."""
        return load_executor(self)

    def spark_session(self) -> Any:
        """Returns the Spark session that runs the jobs. The local engine has none."""
        from penstock.datastream import StreamExecutionEnvironment  # not needed by statements about the catalog

        env = self.stream_environment
        if env is None:
            env = StreamExecutionEnvironment.get_execution_environment(self.config.job_configuration())
        return env.spark_session()

    # -- what the binder asks

    def find_table(self, parts: tuple[str, ...]) -> ResolvedTable | ResolvedView | None:
        """Returns the table or view with a name of one to three parts, or None."""
        if not 1 <= len(parts) <= 3:
            return None
        path = self.catalogs.path(parts)
        with functions_of(self):
            found = self.catalogs.find(path)
        if found is None:
            return None
        return ResolvedView(path, found) if isinstance(found, CatalogView) else ResolvedTable(path, found)

    def table_names(self) -> list[str]:
        """Returns the names of the tables and views of the current database, and full names of those of others."""
        current = self.catalogs.current_catalog, self.catalogs.current_database
        found = []
        for catalog in self.catalogs.catalogs():
            for database in self.catalogs.catalog(catalog).databases():
                names = self.catalogs.names(catalog, database)
                prefix = "" if (catalog, database) == current else f"{catalog}.{database}."
                found += [prefix + name for name in names]
        return found

    def find_function(self, name: str, path: tuple[str, ...] = (), in_from: bool = False) -> Any:
        """Returns a function of the user that is called by a name, or None. in_from: it must be a table function."""
        return self.functions.resolve((*path, name), before_built_in=in_from)

    def function_names(self) -> list[str]:
        """Returns the names of the functions of the user in the current database."""
        return self.functions.names()

    def async_limits(self) -> AsyncLimits:
        """Returns the limits of asynchronous functions: the options table.exec.async-scalar.*."""
        from penstock.table.user_functions.async_options import async_limits  # few queries need it

        return async_limits(self.config.values())

    # -- queries

    def binder_settings(self) -> BinderSettings:
        """Returns the settings that a query depends on."""
        return BinderSettings(self.config.get_local_timezone(), self.streaming, self.config.values())

    def bind(self, query: exp.Expr, text: str) -> Relation:
        """Binds a query of a statement with this text."""
        from penstock.table.api.replaced_functions import with_replaced_functions
        from penstock.table.binder.queries.query import bind_query  # large, and not needed by DDL

        if system := self.functions.system_names():
            query = with_replaced_functions(query, system)
        return bind_query(query, text, self, self.binder_settings())

    def view_type(self, path: Path, view: CatalogView) -> RowType:
        """Returns the columns of a view."""
        return view.row_type

    # -- jobs

    def describe_job(self, job: str) -> Answer:
        """Runs DESCRIBE JOB. Jobs belong to the SQL client."""
        raise refusal("SQL_JOB", f"DESCRIBE JOB '{job}' is a statement of the SQL client. Use penstock list.")

    def show_jobs(self) -> Answer:
        """Runs SHOW JOBS. Jobs belong to the SQL client."""
        raise refusal("SQL_JOB", "SHOW JOBS is a statement of the SQL client. Use penstock list.")

    def job_name(self, paths: Sequence[Sequence[str]]) -> str:
        """Returns the name of the job that writes to tables."""
        return self.config.job_name or f"insert-into_{','.join('.'.join(path) for path in paths)}"
