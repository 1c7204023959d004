"""A catalog that lives as long as the session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from penstock.table.catalog.catalog import CatalogDatabase, Partition
from penstock.table.catalog.function import CatalogFunction
from penstock.table.catalog.table import CatalogTable, CatalogView


@dataclass
class _Database:
    description: CatalogDatabase
    tables: dict[str, CatalogTable | CatalogView] = field(default_factory=dict)
    functions: dict[str, CatalogFunction] = field(default_factory=dict)
    partitions: dict[str, list[Partition]] = field(default_factory=dict)


class MemoryCatalog:
    """The catalog of type 'generic_in_memory'.

    >>> catalog = MemoryCatalog("main")
    >>> catalog.databases(), catalog.tables("main")
    (['main'], [])
    """

    def __init__(self, default_database: str = "default") -> None:
        self.default_database = default_database
        self._databases = {default_database: _Database(CatalogDatabase())}

    def exclusive(self) -> AbstractContextManager[None]:
        return nullcontext()

    def databases(self) -> list[str]:
        return sorted(self._databases)

    def database(self, name: str) -> CatalogDatabase | None:
        found = self._databases.get(name)
        return None if found is None else found.description

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        if name in self._databases:
            self._databases[name].description = database
        else:
            self._databases[name] = _Database(database)

    def drop_database(self, name: str) -> None:
        del self._databases[name]

    def tables(self, database: str) -> list[str]:
        return sorted(self._databases[database].tables)

    def table(self, database: str, name: str) -> CatalogTable | CatalogView | None:
        return self._databases[database].tables.get(name) if database in self._databases else None

    def put_table(self, database: str, name: str, table: CatalogTable | CatalogView) -> None:
        self._databases[database].tables[name] = table

    def drop_table(self, database: str, name: str) -> None:
        found = self._databases[database]
        found.tables.pop(name, None)
        found.partitions.pop(name, None)

    def rename_table(self, database: str, name: str, new_name: str) -> None:
        found = self._databases[database]
        found.tables[new_name] = found.tables.pop(name)
        if name in found.partitions:
            found.partitions[new_name] = found.partitions.pop(name)

    def functions(self, database: str) -> list[str]:
        return sorted(self._databases[database].functions)

    def function(self, database: str, name: str) -> CatalogFunction | None:
        return self._databases[database].functions.get(name) if database in self._databases else None

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None:
        self._databases[database].functions[name] = function

    def drop_function(self, database: str, name: str) -> None:
        self._databases[database].functions.pop(name, None)

    def partitions(self, database: str, table: str) -> list[Partition]:
        return list(self._databases[database].partitions.get(table, ()))

    def put_partitions(self, database: str, table: str, partitions: Sequence[Partition]) -> None:
        self._databases[database].partitions[table] = list(partitions)
