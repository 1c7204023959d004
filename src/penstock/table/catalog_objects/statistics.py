"""Statistics of tables and columns, which a catalog keeps and no query uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CatalogTableStatistics:
    """Sizes of a table or partition.

    >>> CatalogTableStatistics(row_count=3, field_count=2, total_size=100, raw_data_size=80).get_row_count()
    3
    """

    def __init__(
        self,
        row_count: int | None = None,
        field_count: int | None = None,
        total_size: int | None = None,
        raw_data_size: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._sizes = (row_count, field_count, total_size, raw_data_size)
        self._properties = dict(properties or {})

    def get_row_count(self) -> int | None:
        """Returns the number of rows."""
        return self._sizes[0]

    def get_field_count(self) -> int | None:
        """Returns the number of files."""
        return self._sizes[1]

    def get_total_size(self) -> int | None:
        """Returns the number of bytes on disk."""
        return self._sizes[2]

    def get_raw_data_size(self) -> int | None:
        """Returns the number of bytes of the data as they are in memory."""
        return self._sizes[3]

    def get_properties(self) -> dict[str, str]:
        """Returns the properties."""
        return dict(self._properties)

    def copy(self) -> CatalogTableStatistics:
        """Returns a copy."""
        return CatalogTableStatistics(*self._sizes, properties=self._properties)


class CatalogColumnStatistics:
    """Statistics of columns by their names."""

    def __init__(
        self,
        column_statistics_data: Mapping[str, Any] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._data = dict(column_statistics_data or {})
        self._properties = dict(properties or {})

    def get_column_statistics_data(self) -> dict[str, Any]:
        """Returns the statistics of each column."""
        return dict(self._data)

    def get_properties(self) -> dict[str, str]:
        """Returns the properties."""
        return dict(self._properties)

    def copy(self) -> CatalogColumnStatistics:
        """Returns a copy."""
        return CatalogColumnStatistics(self._data, self._properties)
