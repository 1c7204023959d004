"""`TableEnvironment` runs SQL statements."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NoReturn

from penstock.errors import PlanError, UnsupportedOperation
from penstock.table.api.executable_table import ExecutableTable
from penstock.table.api.table import Table
from penstock.table.binder.queries.dead_letters import dead_letter_table
from penstock.table.catalog.definition import build, functions_of
from penstock.table.catalog.factory import create_entry
from penstock.table.catalog.object_path import parse_path
from penstock.table.catalog.table import CatalogTable, CatalogView
from penstock.table.catalog_objects.catalog import Catalog
from penstock.table.dialect import parse_statement
from penstock.table.dialect.statements.query import Query
from penstock.table.environment.answer import Answer
from penstock.table.environment.descriptor import TableDescriptor
from penstock.table.environment.dispatch import execute, place_errors
from penstock.table.environment.elements import values_of
from penstock.table.environment.members.models import Models
from penstock.table.environment.members.modules import Modules
from penstock.table.environment.members.plans import Plans
from penstock.table.environment.members.python_dependencies import PythonDependencies
from penstock.table.environment.session import Session
from penstock.table.environment.settings import EnvironmentSettings
from penstock.table.environment.statement_set import StatementSet
from penstock.table.environment.statements.queries import explained
from penstock.table.environment.table_config import TableConfig
from penstock.table.environment.table_result import TableResult
from penstock.table.functions.catalogue import function_names
from penstock.table.relations import Scan


class TableEnvironment(PythonDependencies, Modules, Models, Plans):
    """Runs SQL statements. Tables, views and functions live in its catalogs.

    >>> env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> env.execute_sql("CREATE TABLE t (id INT, name STRING) WITH ('connector' = 'print')").print()
    OK
    >>> env.execute_sql("SHOW TABLES").print()
    +------------+
    | table name |
    +------------+
    |          t |
    +------------+
    1 row in set
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._numbers = itertools.count()

    @staticmethod
    def create(environment_settings: Any = None) -> TableEnvironment:
        """Creates an environment from settings, or from a configuration."""
        return TableEnvironment(Session(environment_settings_of(environment_settings)))

    # -- statements and queries

    def execute_sql(self, stmt: str) -> TableResult:
        """Runs one statement. A query and an INSERT start a job and do not wait for its end."""
        return self.result(execute(self.session, stmt))

    def result(self, answer: Answer) -> TableResult:
        """Returns an answer as a result."""
        return TableResult(answer, self.session.config.get_max_column_width())

    def sql_query(self, query: str) -> Table:
        """Binds a query. It runs when the table is executed."""
        statement = parse_statement(query)
        if not isinstance(statement, Query):
            raise PlanError("SQL_QUERY", f"sql_query takes a query, not {statement.statement_kind()}. Use execute_sql.")
        with place_errors(statement, query):
            return Table(self, self.session.bind(statement.query, query))

    def explain_sql(self, stmt: str, *extra_details: object) -> str:
        """Returns the plan of a query or an INSERT as text."""
        statement = parse_statement(stmt)
        details = tuple(getattr(detail, "name", str(detail)) for detail in extra_details)
        with place_errors(statement, stmt):
            return explained(self.session, statement, stmt, details)

    def create_statement_set(self) -> StatementSet:
        """Returns an empty set of INSERT statements that will run as one job."""
        return StatementSet(self)

    # -- tables and views

    def from_elements(self, elements: Iterable[Any], schema: Any = None, verify_schema: bool = True) -> Table:
        """Returns a table of Python values: tuples, lists, dicts or `Row`. Values are always checked.

        schema: `DataTypes.ROW([...])`, the type of the only column, or names of columns, whose types are found from the values.
        The rows can also be expressions such as `row(1, "a")`.
        """
        from penstock.table.api.expression_rows import are_expressions, expression_rows

        elements = list(elements)
        if are_expressions(elements):
            return Table(self, expression_rows(self.session, elements, schema))
        return Table(self, values_of(elements, schema, self.session.config.get_local_timezone()))

    def from_pandas(self, pdf: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """Returns a table of the rows of a pandas frame, by columns.

        schema: `DataTypes.ROW([...])`, names or types of the columns; else they are those of the frame. `splits_num` is accepted
        for compatibility and has no effect.
        """
        from penstock.table.api.frames import frame_relation  # pandas is large

        return Table(self, frame_relation(pdf, schema, self.session.config.get_local_timezone()))

    def from_dataframe(self, dataframe: Any, schema: Any = None) -> Table:
        """Returns a table of the rows of a DataFrame of Spark. A streaming DataFrame is an unbounded table.

        schema: a `Schema` that adds computed columns and a watermark. Its physical columns, if it has any, are the columns of the
        DataFrame that are read, with their types.
        """
        from penstock.table.api.spark_frames import spark_frame_relation  # few programs need it

        with functions_of(self.session):
            return Table(self, spark_frame_relation(dataframe, None if schema is None else schema.draft))

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """Returns a table that no catalog has."""
        table, name = (
            self._built(descriptor),
            f"*anonymous_{descriptor.get_options().get('connector')}${self._number()}*",
        )
        path = (self.get_current_catalog(), self.get_current_database() or "", name)
        dead_letters = dead_letter_table(path, dict(table.options), self.session.find_table)
        scan = Scan(table=table, path=path, options=table.options, row_type=table.row_type, dead_letters=dead_letters)
        return Table(self, scan)

    def from_path(self, path: str) -> Table:
        """Returns a table or view of the catalog."""
        return self.sql_query(f"TABLE {path}")

    def create_temporary_view(self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any) -> None:
        """Makes a Table, or a frame of pandas or Spark, a temporary view. Streams belong to a StreamTableEnvironment."""
        table = self._table_of(table_or_data_stream, *fields_or_schema)
        view = CatalogView("", "", table.relation.row_type, relation=table.relation)
        self.session.catalogs.create(self.session.catalogs.path(parse_path(view_path)), view, temporary=True)

    def _table_of(self, value: Any, *schema: Any) -> ExecutableTable:
        if isinstance(value, ExecutableTable):
            return value
        if hasattr(value, "isStreaming"):
            return self.from_dataframe(value, *schema)
        if hasattr(value, "to_records"):
            return self.from_pandas(value, *schema)
        raise UnsupportedOperation("TABLE_API", f"A view is created from a Table, not from {type(value).__name__}.")

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> bool:
        """Makes a Table a view of the catalog."""
        view = CatalogView("", "", table.relation.row_type, relation=table.relation)
        path = self.session.catalogs.path(parse_path(view_path))
        return self.session.catalogs.create(path, view, if_not_exists=ignore_if_exists)

    def hidden_view(self, table: ExecutableTable) -> str:
        """Makes a Table a temporary view with a name that no other one has, and returns the name."""
        name = f"UnnamedTable${self._number()}"
        self.create_temporary_view(f"`{name}`", table)
        return name

    def _number(self) -> int:
        return next(self._numbers)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drops a temporary view. Returns whether it was there."""
        return self._drop_temporary(view_path, view=True)

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drops a temporary table. Returns whether it was there."""
        return self._drop_temporary(table_path, view=False)

    def _drop_temporary(self, name: str, view: bool) -> bool:
        path = self.session.catalogs.path(parse_path(name))
        found = self.session.catalogs.temporary.get(path)
        if found is None or isinstance(found, CatalogView) is not view:
            return False
        del self.session.catalogs.temporary[path]
        return True

    def create_temporary_table(self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False) -> None:  # noqa: N803
        """Creates a temporary table. The last parameter has the name of PyFlink."""
        self._create_table(path, descriptor, True, ignoreIfExists)

    def create_table(self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False) -> bool:  # noqa: N803
        """Creates a table. Returns whether it was not there. The last parameter has the name of PyFlink."""
        return self._create_table(path, descriptor, False, ignoreIfExists)

    def _create_table(self, path: str, descriptor: TableDescriptor, temporary: bool, ignore: bool) -> bool:
        full = self.session.catalogs.path(parse_path(path))
        return self.session.catalogs.create(full, self._built(descriptor), temporary, ignore)

    def _built(self, descriptor: TableDescriptor) -> CatalogTable:
        with functions_of(self.session):
            return build(descriptor.draft)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drops a table. Returns whether it was there."""
        return self._drop(table_path, False, ignore_if_not_exists)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drops a view. Returns whether it was there."""
        return self._drop(view_path, True, ignore_if_not_exists)

    def _drop(self, name: str, view: bool, if_exists: bool) -> bool:
        path = self.session.catalogs.path(parse_path(name))
        exists = self.session.catalogs.find_permanent(path) is not None
        self.session.catalogs.drop(path, view, if_exists=if_exists)
        return exists

    # -- what exists

    def list_catalogs(self) -> list[str]:
        """Returns the names of all catalogs."""
        return self.session.catalogs.catalogs()

    def list_materialized_tables(self) -> list[str]:
        """Returns the names of the materialized tables of the current database."""
        catalogs = self.session.catalogs
        catalog, database = catalogs.current_catalog, catalogs.current_database or ""
        return [n for n in catalogs.names(catalog, database) if catalogs.is_materialized((catalog, database, n))]

    def list_databases(self) -> list[str]:
        """Returns the names of the databases of the current catalog."""
        return self.session.catalogs.catalog(self.get_current_catalog()).databases()

    def list_tables(self, catalog_name: str | None = None, database_name: str | None = None) -> list[str]:
        """Returns the names of tables and views of a database."""
        catalogs = self.session.catalogs
        catalog = catalog_name or catalogs.current_catalog
        database = database_name or catalogs.current_database or ""
        catalogs.database((catalog, database))
        return catalogs.names(catalog, database)

    def list_views(self) -> list[str]:
        """Returns the names of the views of the current database."""
        catalogs = self.session.catalogs
        return [name for name in self.list_tables() if catalogs.is_view(catalogs.path((name,)))]

    def list_temporary_tables(self) -> list[str]:
        """Returns the names of the temporary tables and views of the current database."""
        catalogs = self.session.catalogs
        return [name for name in self.list_tables() if catalogs.path((name,)) in catalogs.temporary]

    def list_temporary_views(self) -> list[str]:
        """Returns the names of the temporary views of the current database."""
        views = self.list_views()
        return [name for name in self.list_temporary_tables() if name in views]

    def list_user_defined_functions(self) -> list[str]:
        """Returns the names of the functions of the user."""
        return self.session.functions.names()

    def list_functions(self) -> list[str]:
        """Returns the names of all functions."""
        return sorted({*self.session.functions.names(), *(name.lower() for name in function_names())})

    # -- catalogs, databases and settings

    def create_catalog(self, catalog_name: str, catalog_descriptor: Any) -> None:
        """Creates a catalog from its options."""
        options = getattr(catalog_descriptor, "options", catalog_descriptor)
        comment = getattr(catalog_descriptor, "comment", None)
        self.session.catalogs.add_catalog(
            catalog_name, lambda: create_entry(dict(options), comment, self.session.spark_session)
        )

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Makes a catalog of this or another environment known by a name."""
        self.session.catalogs.add_catalog(catalog_name, lambda: catalog.entry)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """Returns a catalog, or None."""
        catalogs = self.session.catalogs
        return Catalog(catalogs.entry(catalog_name), catalog_name) if catalog_name in catalogs.catalogs() else None

    def use_catalog(self, catalog_name: str) -> None:
        """Makes a catalog the current one."""
        self.session.catalogs.use_catalog(catalog_name)

    def use_database(self, database_name: str) -> None:
        """Makes a database of the current catalog the current one."""
        self.session.catalogs.use_database((self.session.catalogs.current_catalog, database_name))

    def get_current_catalog(self) -> str:
        """Returns the name of the current catalog."""
        return self.session.catalogs.current_catalog

    def get_current_database(self) -> str | None:
        """Returns the name of the current database."""
        return self.session.catalogs.current_database

    def get_config(self) -> TableConfig:
        """Returns the settings. Changes have an effect on the next statement."""
        return self.session.config

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Makes a Python function known by a name: what `udf`, `udtf`, `udaf` or `udtaf` returned."""
        self._create_function(path, function, system=False)

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Makes a Python function known by a name in all databases. It comes before a built-in function of this name."""
        self._create_function(name, function, system=True)

    def _create_function(self, path: str, function: Any, system: bool) -> None:
        from penstock.table.user_functions.registered import inline  # few programs need it

        parts = (path,) if system else parse_path(path)
        self.session.functions.create(parts, inline(function), True, system, if_not_exists=False)

    def create_java_function(
        self, path: str, function_class_name: str, ignore_if_exists: bool | None = None
    ) -> NoReturn:
        """Refused: functions are written in Python."""
        raise _java_function(function_class_name)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> NoReturn:
        """Refused: functions are written in Python."""
        raise _java_function(function_class_name)

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> NoReturn:
        """Refused: functions are written in Python."""
        raise _java_function(function_class_name)

    def drop_function(self, path: str) -> bool:
        """Drops a function. Returns whether it was there."""
        return self._drop_function(path, temporary=False, system=False)

    def drop_temporary_function(self, path: str) -> bool:
        """Drops a temporary function. Returns whether it was there."""
        return self._drop_function(path, temporary=True, system=False)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Drops a temporary system function. Returns whether it was there."""
        return self._drop_function(name, temporary=True, system=True)

    def _drop_function(self, path: str, temporary: bool, system: bool) -> bool:
        before = self.session.functions.find(parse_path(path))
        self.session.functions.drop(parse_path(path), temporary, system, if_exists=True)
        return before is not None


def _java_function(class_name: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        "JAVA_FUNCTION",
        f"'{class_name}' is a Java class, and functions are written in Python here. Write it with @udf, @udtf or udaf, and call "
        "create_temporary_function.",
    )


def environment_settings_of(given: Any) -> EnvironmentSettings:
    """Returns settings from what a program gave: settings, a configuration or nothing."""
    if given is None:
        return EnvironmentSettings.in_streaming_mode()
    if isinstance(given, EnvironmentSettings):
        return given
    if hasattr(given, "to_dict") or isinstance(given, dict):
        return EnvironmentSettings.new_instance().with_configuration(given).build()
    raise PlanError("TABLE_ENVIRONMENT", f"TableEnvironment.create takes EnvironmentSettings, not {given!r}.")
