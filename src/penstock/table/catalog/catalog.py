"""What a catalog stores: databases with tables, views, functions and partitions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from penstock.table.catalog.function import CatalogFunction
from penstock.table.catalog.table import CatalogTable, CatalogView

Partition = tuple[tuple[str, str], ...]
"""The values of the partition columns: (("day", "mon"), ("hour", "1"))."""


class CatalogDatabase(msgspec.Struct, frozen=True):
    """A database: only what describes it, its tables are asked for by name."""

    comment: str | None = None
    options: tuple[tuple[str, str], ...] = ()


class Catalog(Protocol):
    """A catalog. Names are case-sensitive. A missing object is None; whoever asks says what is missing."""

    default_database: str

    def exclusive(self) -> AbstractContextManager[None]:
        """Context manager in which no other session changes the catalog: for changes that depend on what is there."""
        ...

    def databases(self) -> list[str]: ...

    def database(self, name: str) -> CatalogDatabase | None: ...

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        """Creates a database, or replaces what describes it."""
        ...

    def drop_database(self, name: str) -> None:
        """Removes a database with all that is in it."""
        ...

    def tables(self, database: str) -> list[str]:
        """Returns the names of tables and views."""
        ...

    def table(self, database: str, name: str) -> CatalogTable | CatalogView | None: ...

    def put_table(self, database: str, name: str, table: CatalogTable | CatalogView) -> None: ...

    def drop_table(self, database: str, name: str) -> None: ...

    def rename_table(self, database: str, name: str, new_name: str) -> None: ...

    def functions(self, database: str) -> list[str]: ...

    def function(self, database: str, name: str) -> CatalogFunction | None: ...

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None: ...

    def drop_function(self, database: str, name: str) -> None: ...

    def partitions(self, database: str, table: str) -> list[Partition]: ...

    def put_partitions(self, database: str, table: str, partitions: Sequence[Partition]) -> None: ...
