"""The catalog of type 'spark': a catalog of the Spark session, such as its own, or one of Hive, Iceberg, Delta or JDBC."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NoReturn
from urllib.parse import unquote

import msgspec

from penstock.connectors.dataframe.tables.described import (
    describe,
    error_condition,
    error_text,
    find_catalog,
    namespace_properties,
)
from penstock.errors import PenstockError, UnsupportedOperation
from penstock.redaction import is_secret, register_secret
from penstock.table.catalog.catalog import CatalogDatabase, Partition
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.function import CatalogFunction
from penstock.table.catalog.spark.statements import (
    alter_database_statements,
    alter_statements,
    create_database_statement,
    create_statement,
    partition_statement,
)
from penstock.table.catalog.spark.tables import to_catalog
from penstock.table.catalog.table import CatalogTable, CatalogView
from penstock.table.connectors.options import OptionValues, owner
from penstock.table.connectors.spark.options import SPARK_OPTIONS, TABLE
from penstock.types.logical.spark import quoted_name

SESSION_CATALOG = "spark_catalog"  # Spark's name of its own catalog
_NO_PARTITIONS = (
    "INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED",
    "UNSUPPORTED_FEATURE.TABLE_OPERATION",
)


class SparkCatalog:
    """A catalog of Spark. Its tables are read and written by jobs on Spark. Databases are Spark's namespaces: `a.b` is b in a.

    session: returns the Spark session. name: that of the catalog in Spark.
    """

    def __init__(
        self,
        session: Callable[[], Any],
        name: str = SESSION_CATALOG,
        default_database: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._session = session
        self._name = name
        with _errors(f"The catalog '{name}' of Spark cannot be used"):
            spark = session()
            for key, value in (settings or {}).items():
                if is_secret(key):
                    register_secret(value)
                spark.conf.set(key, value)
            found = find_catalog(spark, name)
            self.default_database = default_database or ".".join(map(str, found.defaultNamespace())) or "default"

    def exclusive(self) -> AbstractContextManager[None]:
        """Does nothing: Spark refuses what does not fit."""
        return nullcontext()

    # -- databases

    def databases(self) -> list[str]:
        return sorted(str(row[0]) for row in self._rows(f"SHOW NAMESPACES IN {quoted_name(self._name)}"))

    def database(self, name: str) -> CatalogDatabase | None:
        with _errors(f"The database '{name}' of the catalog '{self._name}' of Spark cannot be described"):
            found = namespace_properties(self._session(), self._name, name.split("."))
        if found is None:
            return None
        comment = found.pop("comment", None) or None
        return CatalogDatabase(comment, tuple(sorted((k, v) for k, v in found.items() if k != "owner")))

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        known = self.database(name)
        if known is None:
            self._run(create_database_statement(self._namespace(name), database))
            return
        for statement in alter_database_statements(self._namespace(name), known, database):
            self._run(statement)

    def drop_database(self, name: str) -> None:
        self._run(f"DROP NAMESPACE {self._namespace(name)} CASCADE")

    def _namespace(self, name: str) -> str:
        return quoted_name(self._name, *name.split("."))

    # -- tables and views

    def tables(self, database: str) -> list[str]:
        namespace = self._namespace(database)
        found = {str(row[1]) for row in self._rows(f"SHOW TABLES IN {namespace}") if not row[2]}
        try:  # SHOW TABLES of Iceberg and others leaves out views, and some catalogs have none
            found |= {str(row[1]) for row in self._session().sql(f"SHOW VIEWS IN {namespace}").collect() if not row[2]}
        except Exception as error:
            if not error_condition(error):
                raise
        return sorted(found)

    def table(self, database: str, name: str) -> CatalogTable | CatalogView | None:
        with _errors(f"The table {self._table(database, name)} of Spark cannot be described"):
            found = describe(self._session(), self._name, database.split("."), name)
        if found is None:
            return None
        return to_catalog((self._name, database, name), self._table(database, name), found)

    def put_table(self, database: str, name: str, table: CatalogTable | CatalogView) -> None:
        full = self._table(database, name)
        if isinstance(table, CatalogView):
            raise UnsupportedOperation(
                "SPARK_CATALOG",
                f"A catalog of Spark cannot store the view '{name}', because Spark has another SQL. Create it as a temporary view, "
                "in another catalog, or by Spark's CREATE VIEW.",
            )
        known = self.table(database, name)
        if isinstance(known, CatalogTable):
            statements = list(alter_statements(full, known, _checked(full, table)))
        else:
            statements = [create_statement(full, _checked(full, table))]
        for statement in statements:
            self._run(statement)

    def drop_table(self, database: str, name: str) -> None:
        view = isinstance(self.table(database, name), CatalogView)
        self._run(f"DROP {'VIEW' if view else 'TABLE'} {self._table(database, name)}")

    def rename_table(self, database: str, name: str, new_name: str) -> None:
        view = isinstance(self.table(database, name), CatalogView)
        # A new name without a catalog stays in the catalog of the table.
        new = quoted_name(*database.split("."), new_name)
        self._run(f"ALTER {'VIEW' if view else 'TABLE'} {self._table(database, name)} RENAME TO {new}")

    def _table(self, database: str, name: str) -> str:
        return quoted_name(self._name, *database.split("."), name)

    # -- partitions

    def partitions(self, database: str, table: str) -> list[Partition]:
        try:
            rows = self._session().sql(f"SHOW PARTITIONS {self._table(database, table)}").collect()
        except Exception as error:
            if error_condition(error).startswith(_NO_PARTITIONS):
                return []  # formats such as Iceberg and Delta keep partitions to themselves
            raise _failure("The partitions cannot be listed", error) from error
        return [_partition(row.asDict()) for row in rows]

    def put_partitions(self, database: str, table: str, partitions: Sequence[Partition]) -> None:
        known, name = self.partitions(database, table), self._table(database, table)
        for partition in partitions:
            if partition not in known:
                self._run(partition_statement(name, "ADD", partition))
        for partition in known:
            if partition not in partitions:
                self._run(partition_statement(name, "DROP", partition))

    # -- functions

    def functions(self, database: str) -> list[str]:
        return []

    def function(self, database: str, name: str) -> CatalogFunction | None:
        return None

    def put_function(self, database: str, name: str, function: CatalogFunction) -> NoReturn:
        raise UnsupportedOperation(
            "SPARK_CATALOG",
            f"A catalog of Spark cannot store the function '{name}'. Create it as a temporary function, or in another catalog.",
        )

    def drop_function(self, database: str, name: str) -> None:
        """Has nothing to remove, because there are no functions."""

    # -- Spark

    def _rows(self, statement: str) -> list[Any]:
        with _errors(f"Spark refused the statement {statement}"):
            found: list[Any] = self._session().sql(statement).collect()
            return found

    def _run(self, statement: str) -> None:
        self._rows(statement)


def _partition(row: dict[str, Any]) -> Partition:
    """A row of SHOW PARTITIONS: day=mon/hour=1 in one column, or a column for each key, as in Delta."""
    if list(row) != ["partition"] or "=" not in str(row["partition"]):
        return tuple((key, str(value)) for key, value in row.items())
    parts = [part.partition("=") for part in str(row["partition"]).split("/")]
    return tuple((unquote(key), unquote(value)) for key, _, value in parts)


def _checked(name: str, table: CatalogTable) -> CatalogTable:
    """A table with the options that its catalog shows. Options of another connector are an error."""
    options = dict(table.options)
    connector = options.pop("connector", "spark")
    if connector != "spark":
        raise UnsupportedOperation(
            "SPARK_CATALOG",
            f"A catalog of Spark has tables of Spark only, and '{name}' has 'connector' = '{connector}'. Create it as a temporary "
            "table, or in another catalog.",
        )
    options[TABLE] = name
    OptionValues(owner((name,)), "spark", options, SPARK_OPTIONS)
    if any(column.kind == "metadata" for column in table.columns):
        raise refusal("SQL_COLUMN", "Tables of Spark have no metadata columns.")
    return msgspec.structs.replace(table, options=(("connector", "spark"), *options.items()))


@contextmanager
def _errors(what: str) -> Iterator[None]:
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        raise _failure(what, error) from error


def _failure(what: str, error: Exception) -> Exception:
    return refusal("SPARK_CATALOG", f"{what}: {error_text(error)}")
