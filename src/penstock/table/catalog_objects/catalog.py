"""A catalog as programs see it: `TableEnvironment.get_catalog`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from penstock.config import Configuration
from penstock.config.registry import find
from penstock.errors import UnsupportedOperation
from penstock.table.catalog.errors import did_you_mean, refusal
from penstock.table.catalog.manager import CatalogEntry
from penstock.table.catalog.table import CatalogTable, CatalogView
from penstock.table.catalog_objects.base_table import CatalogBaseTable
from penstock.table.catalog_objects.described import CatalogDatabase, CatalogFunction
from penstock.table.catalog_objects.identifiers import ObjectPath
from penstock.table.catalog_objects.partitions import Partitions
from penstock.table.catalog_objects.table_statistics import TableStatistics


class CatalogDescriptor:
    """The options of a catalog."""

    def __init__(self, catalog_name: str, options: Mapping[str, str], comment: str | None = None) -> None:
        self.catalog_name = catalog_name
        self.options = dict(options)
        self.comment = comment

    @staticmethod
    def of(catalog_name: str, configuration: Any, comment: str | None = None) -> CatalogDescriptor:
        """Returns a descriptor with the options of a configuration."""
        if isinstance(configuration, Configuration):  # it also has the options of the job, which are none of a catalog
            values: Mapping[str, Any] = {k: v for k, v in configuration.to_dict().items() if find(k) is None}
        else:
            values = configuration
        return CatalogDescriptor(catalog_name, {key: str(value) for key, value in values.items()}, comment)

    def get_catalog_name(self) -> str:
        """Returns the name."""
        return self.catalog_name

    def get_comment(self) -> str | None:
        """Returns the comment."""
        return self.comment


class Catalog(Partitions, TableStatistics):
    """The databases, tables and functions of a catalog. Temporary ones do not belong to it."""

    def __init__(self, entry: CatalogEntry, name: str) -> None:
        self.entry = entry
        self.name = name

    # -- databases

    def get_default_database(self) -> str:
        """Returns the database that is used first."""
        return self.entry.catalog.default_database

    def list_databases(self) -> list[str]:
        """Returns the names of all databases."""
        return self.entry.catalog.databases()

    def database_exists(self, database_name: str) -> bool:
        """Whether a database exists."""
        return self.entry.catalog.database(database_name) is not None

    def get_database(self, database_name: str) -> CatalogDatabase:
        """Returns what describes a database."""
        self._check_database(database_name)
        found = self.entry.catalog.database(database_name)
        assert found is not None
        return CatalogDatabase.of(found)

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Creates a database."""
        if self.database_exists(name):
            self._exists(ignore_if_exists, "database", name)
            return
        self.entry.catalog.put_database(name, database.stored())

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        """Replaces what describes a database."""
        if ignore_if_not_exists and not self.database_exists(name):
            return
        self._check_database(name)
        self.entry.catalog.put_database(name, new_database.stored())

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Drops a database, which must be empty. `ignore_if_exists`: it may be missing; the name is that of PyFlink."""
        if ignore_if_exists and not self.database_exists(name):
            return
        self._check_database(name)
        catalog = self.entry.catalog
        if catalog.tables(name) or catalog.functions(name):
            raise refusal("SQL_DATABASE", f"The database '{name}' is not empty. Drop its tables and functions first.")
        catalog.drop_database(name)

    # -- tables and views

    def list_tables(self, database_name: str) -> list[str]:
        """Returns the names of the tables and views of a database."""
        self._check_database(database_name)
        return self.entry.catalog.tables(database_name)

    def list_views(self, database_name: str) -> list[str]:
        """Returns the names of the views of a database."""
        names = self.list_tables(database_name)
        return [name for name in names if isinstance(self.entry.catalog.table(database_name, name), CatalogView)]

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Returns the names of the materialized tables of a database."""
        tables = {name: self.entry.catalog.table(database_name, name) for name in self.list_tables(database_name)}
        return [n for n, found in tables.items() if isinstance(found, CatalogTable) and found.refresh is not None]

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether a table or view exists."""
        return self.database_exists(table_path.database_name) and self.entry.catalog.table(*table_path) is not None

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """Returns a table or view."""
        return CatalogBaseTable(self.stored_table(table_path))

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        """Creates a table or view."""
        self._check_database(table_path.database_name)
        if self.table_exists(table_path):
            self._exists(ignore_if_exists, "table or view", str(table_path))
            return
        self.entry.catalog.put_table(*table_path, table.table)

    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        """Replaces a table by a table, or a view by a view."""
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        if type(self._changeable(table_path)) is not type(new_table.table):
            raise refusal(
                "SQL_TABLE", f"'{table_path}' is replaced by another kind: a table by a view, or the other way."
            )
        self.entry.catalog.put_table(*table_path, new_table.table)

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Renames a table or view."""
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        self._changeable(table_path)
        if self.table_exists(ObjectPath(table_path.database_name, new_table_name)):
            self._exists(False, "table or view", new_table_name)
        self.entry.catalog.rename_table(*table_path, new_table_name)

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drops a table or view."""
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        self._changeable(table_path)
        self.entry.catalog.drop_table(*table_path)

    def _changeable(self, table_path: ObjectPath) -> CatalogTable | CatalogView:
        found = self.stored_table(table_path)
        if isinstance(found, CatalogTable) and found.refresh is not None:
            raise refusal(
                "SQL_TABLE",
                f"'{table_path}' is a materialized table. Use ALTER or DROP MATERIALIZED TABLE in the SQL client.",
            )
        return found

    def stored_table(self, table_path: ObjectPath) -> CatalogTable | CatalogView:
        """Returns what the catalog stores, or raises an error."""
        names = self.list_tables(table_path.database_name)
        found = self.entry.catalog.table(*table_path)
        if found is None:
            near = did_you_mean(table_path.object_name, names)
            raise refusal("SQL_TABLE", f"There is no table or view '{table_path}' in catalog '{self.name}'.{near}")
        return found

    # -- functions

    def list_functions(self, database_name: str) -> list[str]:
        """Returns the names of the functions of a database."""
        self._check_database(database_name)
        return self.entry.catalog.functions(database_name)

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether a function exists. Its name is not case-sensitive."""
        if not self.database_exists(function_path.database_name):
            return False
        return self.entry.catalog.function(*_lower(function_path)) is not None

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """Returns a function."""
        self._check_database(function_path.database_name)
        found = self.entry.catalog.function(*_lower(function_path))
        if found is None:
            names = self.list_functions(function_path.database_name)
            near = did_you_mean(function_path.object_name, names)
            raise refusal("SQL_FUNCTION", f"There is no function '{function_path}' in catalog '{self.name}'.{near}")
        return CatalogFunction.of(found)

    def create_function(self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool) -> None:
        """Creates a function."""
        self._check_database(function_path.database_name)
        if self.function_exists(function_path):
            self._exists(ignore_if_exists, "function", str(function_path))
            return
        self.entry.catalog.put_function(*_lower(function_path), function.stored())

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Replaces a function."""
        self._change_function(
            function_path,
            lambda database, name: self.entry.catalog.put_function(database, name, new_function.stored()),
            ignore_if_not_exists,
        )

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drops a function."""
        self._change_function(function_path, self.entry.catalog.drop_function, ignore_if_not_exists)

    def _change_function(self, path: ObjectPath, change: Callable[[str, str], None], ignore: bool) -> None:
        if ignore and not self.function_exists(path):
            return
        self.get_function(path)
        change(*_lower(path))

    # -- what Penstock has none of

    def list_procedures(self, database_name: str) -> list[str]:
        """Returns an empty list, because there are no procedures."""
        self._check_database(database_name)
        return []

    def get_procedure(self, procedure_path: ObjectPath) -> NoReturn:
        """Raises an error, because there are no procedures."""
        raise UnsupportedOperation(
            "SQL_PROCEDURE", f"There is no procedure '{procedure_path}': they are written in Java."
        )

    def list_models(self, database_name: str) -> list[str]:
        """Returns an empty list, because there are no models."""
        self._check_database(database_name)
        return []

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Returns False, because there are no models."""
        return False

    def get_model(self, model_path: ObjectPath) -> NoReturn:
        """Raises an error, because there are no models."""
        raise _no_model(model_path)

    def create_model(self, model_path: ObjectPath, model: Any, ignore_if_exists: bool) -> NoReturn:
        """Refused: call the model in a Python function."""
        raise _no_model(model_path)

    def alter_model(self, model_path: ObjectPath, new_model: Any, ignore_if_not_exists: bool) -> None:
        """Raises an error unless missing models are ignored."""
        if not ignore_if_not_exists:
            raise _no_model(model_path)

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        """Raises an error unless missing models are ignored."""
        if not ignore_if_not_exists:
            raise _no_model(model_path)

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Raises an error unless missing models are ignored."""
        if not ignore_if_not_exists:
            raise _no_model(model_path)

    # -- errors

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            near = did_you_mean(name, self.list_databases())
            raise refusal("SQL_DATABASE", f"There is no database '{name}' in catalog '{self.name}'.{near}")

    def _exists(self, ignore: bool, what: str, name: str) -> None:
        if not ignore:
            raise refusal("SQL_EXISTS", f"The {what} '{name}' exists already in catalog '{self.name}'.")


class HiveCatalog(Catalog):
    """The catalog of Hive, which needs Java classes."""

    def __init__(
        self,
        catalog_name: str,
        default_database: str | None = None,
        hive_conf_dir: str | None = None,
        hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:
        raise UnsupportedOperation(
            "SQL_CATALOG",
            f"The Hive catalog '{catalog_name}' needs Java classes. Use a catalog of Spark: 'type' = 'spark'.",
        )


class Procedure:
    """A procedure, which is written in Java."""

    def __init__(self, *arguments: Any) -> None:
        raise UnsupportedOperation("SQL_PROCEDURE", "Procedures are written in Java. Call a Python function.")


def _lower(path: ObjectPath) -> tuple[str, str]:
    return path.database_name, path.object_name.lower()


def _no_model(path: ObjectPath) -> UnsupportedOperation:
    return UnsupportedOperation(
        "SQL_MODEL", f"There is no model '{path}', because Penstock has no models. Call it in a Python function (udf)."
    )
