"""All catalogs of a session: names are resolved here, temporary objects first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import SqlValidationError
from penstock.table.catalog.catalog import Catalog, CatalogDatabase
from penstock.table.catalog.errors import DAMAGED, did_you_mean, refusal
from penstock.table.catalog.memory import MemoryCatalog
from penstock.table.catalog.table import CatalogTable, CatalogView

Path = tuple[str, str, str]
DEFAULT_CATALOG = "default_catalog"
DEFAULT_DATABASE = "default_database"


@dataclass
class CatalogEntry:
    """A catalog with what CREATE CATALOG said about it."""

    catalog: Catalog
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    partitions: dict[Any, Any] = field(default_factory=dict)  # what programs said about partitions
    statistics: dict[Any, Any] = field(default_factory=dict)  # of tables and partitions, which no query uses


def quoted(path: Sequence[str]) -> str:
    """Returns a path as it is written in SQL.

    >>> quoted(("c", "my table"))
    '`c`.`my table`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" for part in path)


class CatalogManager:
    """The catalogs of a session, the current catalog and database, and temporary tables and views.

    >>> manager = CatalogManager()
    >>> manager.path(("orders",))
    ('default_catalog', 'default_database', 'orders')
    """

    def __init__(self, catalog: str = DEFAULT_CATALOG, database: str = DEFAULT_DATABASE) -> None:
        self._entries = {catalog: CatalogEntry(MemoryCatalog(database), {"type": "generic_in_memory"})}
        self.current_catalog = catalog
        self.current_database: str | None = database
        self.temporary: dict[Path, CatalogTable | CatalogView] = {}

    # -- catalogs and databases

    def catalogs(self) -> list[str]:
        """Returns the names of all catalogs."""
        return sorted(self._entries)

    def entry(self, name: str) -> CatalogEntry:
        """Returns a catalog, or raises an error that names the closest one."""
        found = self._entries.get(name)
        if found is None:
            raise refusal("SQL_CATALOG", f"There is no catalog '{name}'.{did_you_mean(name, self._entries)}")
        return found

    def catalog(self, name: str) -> Catalog:
        """Returns the catalog with a name."""
        return self.entry(name).catalog

    def add_catalog(self, name: str, build: Callable[[], CatalogEntry], if_not_exists: bool = False) -> None:
        """Adds a catalog that `build` creates."""
        if name in self._entries:
            if if_not_exists:
                return
            raise refusal("SQL_CATALOG", f"The catalog '{name}' exists already.")
        self._entries[name] = build()

    def drop_catalog(self, name: str, if_exists: bool = False) -> None:
        """Forgets a catalog. What it stores in files stays there."""
        if if_exists and name not in self._entries:
            return
        self.entry(name)
        if name == self.current_catalog:
            raise refusal(
                "SQL_CATALOG", f"The catalog '{name}' is the current one. USE CATALOG another one before it is dropped."
            )
        del self._entries[name]

    def use_catalog(self, name: str) -> None:
        """Makes a catalog the current one, and its default database the current one."""
        self.current_database = self.catalog(name).default_database
        self.current_catalog = name

    def database_path(self, parts: Sequence[str]) -> tuple[str, str]:
        """Returns catalog and database of a name with one or two parts."""
        if len(parts) > 2:
            raise refusal("SQL_DATABASE", f"'{'.'.join(parts)}' is not the name of a database: it has too many parts.")
        return (self.current_catalog, parts[0]) if len(parts) == 1 else (parts[0], parts[1])

    def database(self, path: tuple[str, str]) -> CatalogDatabase:
        """Returns a database, or raises an error that names the closest one."""
        catalog, name = path
        found = self.catalog(catalog).database(name)
        if found is None:
            near = did_you_mean(name, self.catalog(catalog).databases())
            raise refusal("SQL_DATABASE", f"There is no database '{name}' in catalog '{catalog}'.{near}")
        return found

    def use_database(self, path: tuple[str, str]) -> None:
        """Makes a database the current one, and its catalog, too."""
        self.database(path)
        self.current_catalog, self.current_database = path

    def create_database(self, path: tuple[str, str], database: CatalogDatabase, if_not_exists: bool) -> None:
        """Creates a database."""
        catalog = self.catalog(path[0])
        if catalog.database(path[1]) is not None:
            if if_not_exists:
                return
            raise refusal("SQL_DATABASE", f"The database '{path[1]}' exists already in catalog '{path[0]}'.")
        catalog.put_database(path[1], database)

    def drop_database(self, path: tuple[str, str], if_exists: bool, cascade: bool) -> None:
        """Drops a database. One with tables or functions is dropped only with CASCADE."""
        catalog, name = path
        if if_exists and self.catalog(catalog).database(name) is None:
            return
        self.database(path)
        if path == (self.current_catalog, self.current_database):
            raise refusal(
                "SQL_DATABASE", f"The database '{name}' is the current one. USE another one before it is dropped."
            )
        found = self.catalog(catalog)
        kept = next((table for table in found.tables(name) if self.is_materialized((*path, table))), None)
        if kept is not None:
            raise refusal(
                "SQL_DATABASE",
                f"The database '{name}' has the materialized table '{kept}', which a job keeps up to date. DROP MATERIALIZED TABLE "
                "comes first.",
            )
        if not cascade and (found.tables(name) or found.functions(name)):
            raise refusal(
                "SQL_DATABASE",
                f"The database '{name}' is not empty. Write CASCADE to drop its tables and functions, too.",
            )
        found.drop_database(name)

    # -- tables and views

    def path(self, parts: Sequence[str]) -> Path:
        """Returns catalog, database and name of a name with one to three parts."""
        if len(parts) > 3:
            raise refusal(
                "SQL_TABLE", f"'{'.'.join(parts)}' has too many parts. Write catalog.database.name, or less of it."
            )
        if len(parts) == 3:
            return parts[0], parts[1], parts[2]
        if len(parts) == 2:
            return self.current_catalog, parts[0], parts[1]
        if self.current_database is None:
            raise refusal("SQL_DATABASE", f"There is no current database. USE one, or write database.{parts[0]}.")
        return self.current_catalog, self.current_database, parts[0]

    def find(self, path: Path) -> CatalogTable | CatalogView | None:
        """Returns the table or view with a path, or None. A temporary one hides a permanent one."""
        found = self.temporary.get(path)
        return found if found is not None else self.find_permanent(path)

    def find_permanent(self, path: Path) -> CatalogTable | CatalogView | None:
        """Returns the permanent table or view with a path, or None."""
        entry = self._entries.get(path[0])
        if entry is None or entry.catalog.database(path[1]) is None:
            return None
        return entry.catalog.table(path[1], path[2])

    def get(self, path: Path) -> CatalogTable | CatalogView:
        """Returns the table or view with a path, or raises an error that names the closest one."""
        found = self.find(path)
        if found is None:
            raise self.missing(path, "table or view")
        return found

    def missing(self, path: Path, what: str) -> Exception:
        """Returns the error for a table or view that is not there."""
        name = path[2] if path[:2] == (self.current_catalog, self.current_database) else ".".join(path)
        near = did_you_mean(path[2], self.names(path[0], path[1]))
        return refusal("SQL_TABLE", f"There is no {what} '{name}'.{near or ' SHOW TABLES lists what exists.'}")

    def names(self, catalog: str, database: str) -> list[str]:
        """Returns the names of all tables and views of a database, temporary ones included."""
        found = {path[2] for path in self.temporary if path[:2] == (catalog, database)}
        entry = self._entries.get(catalog)
        if entry is not None and entry.catalog.database(database) is not None:
            found.update(entry.catalog.tables(database))
        return sorted(found)

    def is_view(self, path: Path) -> bool:
        """Whether a path is that of a view. What cannot be read is none, so that a list shows the others."""
        return isinstance(self._readable(path), CatalogView)

    def is_materialized(self, path: Path) -> bool:
        """Whether a path is that of a materialized table."""
        found = self._readable(path)
        return isinstance(found, CatalogTable) and found.refresh is not None

    def _readable(self, path: Path) -> CatalogTable | CatalogView | None:
        try:
            return self.find(path)
        except SqlValidationError as error:
            if error.code != DAMAGED:
                raise
            return None

    def create(
        self, path: Path, table: CatalogTable | CatalogView, temporary: bool = False, if_not_exists: bool = False
    ) -> bool:
        """Adds a table or view. Returns False if it existed and IF NOT EXISTS was written."""
        if not temporary:
            self.database((path[0], path[1]))
        with nullcontext() if temporary else self.exclusive(path):
            if not self.may_create(path, temporary, if_not_exists):
                return False
            if temporary:
                self.temporary[path] = table
            else:
                self.catalog(path[0]).put_table(path[1], path[2], table)
        return True

    def may_create(self, path: Path, temporary: bool, if_not_exists: bool) -> bool:
        """Whether a name is free. Raises an error if it is not, unless IF NOT EXISTS was written."""
        if not temporary:
            self.database((path[0], path[1]))
        taken = path in self.temporary if temporary else self.find_permanent(path) is not None
        if taken and not if_not_exists:
            what = "A temporary table or view" if temporary else "A table or view"
            raise refusal("SQL_EXISTS", f"{what} '{path[2]}' exists already in database '{path[1]}'.")
        return not taken

    def exclusive(self, path: Path) -> AbstractContextManager[None]:
        """Context manager in which no other session changes the catalog of a path. Then what a change was made from is still there.

        It must not be nested.
        """
        entry = self._entries.get(path[0])
        return nullcontext() if entry is None else entry.catalog.exclusive()

    def replace(self, path: Path, table: CatalogTable | CatalogView) -> None:
        """Replaces a permanent table or view by a changed one."""
        self.catalog(path[0]).put_table(path[1], path[2], table)

    def drop(self, path: Path, view: bool, temporary: bool = False, if_exists: bool = False) -> None:
        """Drops a table or view."""
        what = "view" if view else "table"
        if temporary:
            found = self.temporary.get(path)
            if isinstance(found, CatalogView) is view and found is not None:
                del self.temporary[path]
            elif not if_exists:
                raise self.missing(path, f"temporary {what}")
            return
        hiding = self.temporary.get(path)
        if hiding is not None and isinstance(hiding, CatalogView) is view:
            raise refusal(
                "SQL_TABLE",
                f"A temporary {what} '{path[2]}' exists. DROP TEMPORARY {what.upper()} {path[2]} comes first.",
            )
        try:
            found = self.find_permanent(path)
        except SqlValidationError as error:
            if error.code != DAMAGED:
                raise
            self.catalog(path[0]).drop_table(path[1], path[2])  # nobody knows what it was
            return
        if found is None or isinstance(found, CatalogView) is not view:
            if if_exists:
                return
            if found is not None:
                other = "TABLE" if view else "VIEW"
                raise refusal(
                    "SQL_TABLE", f"There is no {what} '{path[2]}': it is a {other.lower()}. Use DROP {other}."
                )
            raise self.missing(path, what)
        if isinstance(found, CatalogTable) and found.refresh is not None:
            raise refusal("SQL_TABLE", f"'{path[2]}' is a materialized table. Use DROP MATERIALIZED TABLE.")
        self.catalog(path[0]).drop_table(path[1], path[2])

    def rename(self, path: Path, new_path: Path) -> None:
        """Renames a permanent table or view inside its database."""
        if new_path[:2] != path[:2]:
            raise refusal("SQL_TABLE", "A table can be renamed inside of its database only.")
        self.may_create(new_path, temporary=False, if_not_exists=False)
        self.catalog(path[0]).rename_table(path[1], path[2], new_path[2])
