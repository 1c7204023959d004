"""What the binder asks the catalog, and the settings that a query depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from penstock.table.binder.user_calls import FunctionLookup
from penstock.table.catalog.table import CatalogTable, CatalogView


class ResolvedTable(msgspec.Struct, frozen=True):
    """A table with its full path: catalog, database and name."""

    path: tuple[str, ...]
    table: CatalogTable


class ResolvedView(msgspec.Struct, frozen=True):
    """A view with its full path."""

    path: tuple[str, ...]
    view: CatalogView


class TableLookup(FunctionLookup, Protocol):
    """Finds tables and functions by name."""

    def find_table(self, parts: tuple[str, ...]) -> ResolvedTable | ResolvedView | None:
        """Returns the table or view with a name of one to three parts, or None."""

    def table_names(self) -> list[str]:
        """Returns the names of tables and views that a query can use, for suggestions."""


class BinderSettings(msgspec.Struct, frozen=True):
    """Settings of the session. `zone` is its time zone; `options` are those of SET."""

    zone: str = "UTC"
    streaming: bool = True
    options: Mapping[str, str] = {}
