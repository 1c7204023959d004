"""Functions of the user: those of catalogs, and temporary ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from penstock.table.catalog.errors import did_you_mean, refusal
from penstock.table.catalog.function import CatalogFunction
from penstock.table.catalog.manager import CatalogManager, Path
from penstock.table.functions.catalogue import FORMS, find_function, is_aggregate


def _is_built_in(name: str) -> bool:
    return find_function(name) is not None or is_aggregate(name) or name.upper() in FORMS


class FunctionStore:
    """Finds functions by name. Names are not case-sensitive. Temporary functions come before those of the catalog."""

    def __init__(self, catalogs: CatalogManager) -> None:
        self._catalogs = catalogs
        self._temporary: dict[Path, CatalogFunction] = {}
        self._system: dict[str, CatalogFunction] = {}
        self._loaded: dict[CatalogFunction, Any] = {}

    def path(self, parts: Sequence[str]) -> Path:
        """Returns catalog, database and name, which is in lower case."""
        catalog, database, name = self._catalogs.path(parts)
        return catalog, database, name.lower()

    def find(self, parts: Sequence[str]) -> tuple[CatalogFunction, bool, bool] | None:
        """Returns a function, whether it is temporary and whether it is a system function; or None."""
        if len(parts) == 1 and parts[0].lower() in self._system:
            return self._system[parts[0].lower()], True, True
        path = self.path(parts)
        if path in self._temporary:
            return self._temporary[path], True, False
        found = self._permanent(path)
        return None if found is None else (found, False, False)

    def _permanent(self, path: Path) -> CatalogFunction | None:
        catalog, database, name = path
        if catalog not in self._catalogs.catalogs() or self._catalogs.catalog(catalog).database(database) is None:
            return None
        return self._catalogs.catalog(catalog).function(database, name)

    def resolve(self, parts: Sequence[str], before_built_in: bool = False) -> Any:
        """Returns the function that a call means, or None if there is none or a built-in one comes before it.

        Temporary system functions come before built-in functions, and those before all others, unless the call names a database.
        """
        found = self.find(parts)
        if found is None:
            return None
        if len(parts) == 1 and not found[2] and not before_built_in and _is_built_in(parts[0]):
            return None
        from penstock.table.user_functions.registered import load  # few queries need it

        entry = found[0]
        if entry not in self._loaded:
            self._loaded[entry] = load(entry, ".".join(parts))
        return self._loaded[entry]

    def names(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        """Returns the names of all functions of the user that a database has, system functions included."""
        catalog = catalog or self._catalogs.current_catalog
        database = database or self._catalogs.current_database or ""
        found = set(self._system)
        found.update(path[2] for path in self._temporary if path[:2] == (catalog, database))
        if self._catalogs.catalog(catalog).database(database) is not None:
            found.update(self._catalogs.catalog(catalog).functions(database))
        return sorted(found)

    def system_names(self) -> set[str]:
        """Returns the names of the temporary system functions, in lower case."""
        return set(self._system)

    def create(
        self, parts: Sequence[str], function: CatalogFunction, temporary: bool, system: bool, if_not_exists: bool
    ) -> None:
        """Adds a function."""
        permanent = not (system or temporary)
        with self._catalogs.exclusive(self.path(parts)) if permanent else nullcontext():
            self._create(parts, function, temporary, system, if_not_exists)

    def _create(
        self, parts: Sequence[str], function: CatalogFunction, temporary: bool, system: bool, if_not_exists: bool
    ) -> None:
        if system:
            taken = parts[-1].lower() in self._system
        else:
            path = self.path(parts)
            if not temporary:
                self._catalogs.database(path[:2])
            taken = path in self._temporary if temporary else self._permanent(path) is not None
        if taken:
            if if_not_exists:
                return
            what = "A temporary function" if temporary else "A function"
            raise refusal("SQL_EXISTS", f"{what} '{parts[-1]}' exists already.")
        self._put(parts, function, temporary, system)

    def replace(
        self, parts: Sequence[str], function: CatalogFunction, temporary: bool, system: bool, if_exists: bool
    ) -> None:
        """Replaces a function that exists."""
        if temporary or system:
            raise refusal("SQL_FUNCTION", "A temporary function cannot be altered. Drop it and create it again.")
        if self._permanent(self.path(parts)) is None:
            if if_exists:
                return
            raise self._missing(parts, "function")
        self._put(parts, function, temporary, system)

    def _put(self, parts: Sequence[str], function: CatalogFunction, temporary: bool, system: bool) -> None:
        if system:
            self._system[parts[-1].lower()] = function
        elif temporary:
            self._temporary[self.path(parts)] = function
        else:
            catalog, database, name = self.path(parts)
            self._catalogs.catalog(catalog).put_function(database, name, function)

    def drop(self, parts: Sequence[str], temporary: bool, system: bool, if_exists: bool) -> None:
        """Removes a function."""
        if system:
            found = self._system.pop(parts[-1].lower(), None)
        elif temporary:
            found = self._temporary.pop(self.path(parts), None)
        else:
            catalog, database, name = path = self.path(parts)
            found = self._permanent(path)
            if found is not None:
                self._catalogs.catalog(catalog).drop_function(database, name)
        if found is None and not if_exists:
            raise self._missing(parts, "temporary function" if temporary or system else "function")

    def _missing(self, parts: Sequence[str], what: str) -> Exception:
        return refusal(
            "SQL_FUNCTION", f"There is no {what} '{'.'.join(parts)}'.{did_you_mean(parts[-1], self.names())}"
        )
