"""The statistics that a catalog keeps for tables and partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.table.catalog.errors import refusal
from penstock.table.catalog.manager import CatalogEntry
from penstock.table.catalog_objects.described import CatalogPartitionSpec
from penstock.table.catalog_objects.identifiers import ObjectPath
from penstock.table.catalog_objects.statistics import CatalogColumnStatistics, CatalogTableStatistics


class TableStatistics:
    """The methods of a catalog for statistics. No query uses them."""

    entry: CatalogEntry

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """Returns the sizes of a table, -1 if they are unknown."""
        return self._found(table_path, None, CatalogTableStatistics(-1, -1, -1, -1))  # type: ignore[no-any-return]

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """Returns the statistics of the columns of a table."""
        return self._found(table_path, None, CatalogColumnStatistics())  # type: ignore[no-any-return]

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """Returns the sizes of a partition."""
        return self._found(table_path, partition_spec, CatalogTableStatistics(-1, -1, -1, -1))  # type: ignore[no-any-return]

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: Sequence[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """Returns the sizes of several partitions."""
        return [self.get_partition_statistics(table_path, spec) for spec in partition_specs]

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """Returns the statistics of the columns of a partition."""
        return self._found(table_path, partition_spec, CatalogColumnStatistics())  # type: ignore[no-any-return]

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: Sequence[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """Returns the statistics of the columns of several partitions."""
        return [self.get_partition_column_statistics(table_path, spec) for spec in partition_specs]

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Sets the sizes of a table."""
        self._keep(table_path, None, table_statistics, ignore_if_not_exists)

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Sets the statistics of the columns of a table."""
        self._keep(table_path, None, column_statistics, ignore_if_not_exists)

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Sets the sizes of a partition."""
        self._keep(table_path, partition_spec, partition_statistics, ignore_if_not_exists)

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Sets the statistics of the columns of a partition."""
        self._keep(table_path, partition_spec, column_statistics, ignore_if_not_exists)

    def _found(self, path: ObjectPath, spec: CatalogPartitionSpec | None, default: Any) -> Any:
        self._check(path, spec)
        return self.entry.statistics.get((path, spec, type(default)), default)

    def _keep(self, path: ObjectPath, spec: CatalogPartitionSpec | None, value: Any, ignore: bool) -> None:
        if ignore and not self._exists_in(path, spec):
            return
        self._check(path, spec)
        self.entry.statistics[path, spec, type(value)] = value.copy()

    def _exists_in(self, path: ObjectPath, spec: CatalogPartitionSpec | None) -> bool:
        catalog = self.entry.catalog
        if catalog.database(path.database_name) is None or catalog.table(*path) is None:
            return False
        stored = [dict(partition) for partition in catalog.partitions(*path)]
        return spec is None or spec.get_partition_spec() in stored

    def _check(self, path: ObjectPath, spec: CatalogPartitionSpec | None) -> None:
        if not self._exists_in(path, spec):
            what = f"the table '{path}'" if spec is None else f"{spec} in the table '{path}'"
            raise refusal("SQL_TABLE", f"There is no {what.removeprefix('the ')}.")
