"""The partitions of tables in a catalog."""

from __future__ import annotations

from penstock.table.catalog.errors import refusal
from penstock.table.catalog.manager import CatalogEntry
from penstock.table.catalog.table import CatalogTable, CatalogView
from penstock.table.catalog_objects.described import CatalogPartition, CatalogPartitionSpec
from penstock.table.catalog_objects.identifiers import ObjectPath

_Stored = tuple[tuple[str, str], ...]


class Partitions:
    """The methods of a catalog for partitions."""

    entry: CatalogEntry

    def stored_table(self, table_path: ObjectPath) -> CatalogTable | CatalogView:
        """Returns what the catalog stores, or raises an error."""
        raise NotImplementedError

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """Returns the partitions of a table, or those with some values."""
        self._partitioned(table_path)
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        found = [dict(stored) for stored in self.entry.catalog.partitions(*table_path)]
        return [CatalogPartitionSpec(values) for values in found if wanted.items() <= values.items()]

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        """Whether a partition exists."""
        return self._stored(table_path, partition_spec) in self.entry.catalog.partitions(*table_path)

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        """Returns what describes a partition."""
        stored = self._existing(table_path, partition_spec)
        found = self.entry.partitions.get((table_path, stored))
        return found if isinstance(found, CatalogPartition) else CatalogPartition()

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Adds a partition to a table."""
        stored = self._stored(table_path, partition_spec)
        with self.entry.catalog.exclusive():
            before = self.entry.catalog.partitions(*table_path)
            if stored in before:
                if not ignore_if_exists:
                    raise refusal("SQL_EXISTS", f"{partition_spec} exists already in the table '{table_path}'.")
                return
            self.entry.catalog.put_partitions(*table_path, [*before, stored])
        self.entry.partitions[table_path, stored] = partition

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replaces what describes a partition."""
        if ignore_if_not_exists and not self.partition_exists(table_path, partition_spec):
            return
        self.entry.partitions[table_path, self._existing(table_path, partition_spec)] = new_partition

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        """Removes a partition from a table."""
        if ignore_if_not_exists and not self.partition_exists(table_path, partition_spec):
            return
        stored = self._existing(table_path, partition_spec)
        with self.entry.catalog.exclusive():
            left = [p for p in self.entry.catalog.partitions(*table_path) if p != stored]
            self.entry.catalog.put_partitions(*table_path, left)
        self.entry.partitions.pop((table_path, stored), None)

    def _partitioned(self, path: ObjectPath) -> CatalogTable:
        table = self.stored_table(path)
        if not isinstance(table, CatalogTable) or not table.partition_keys:
            raise refusal("SQL_PARTITION", f"'{path}' is no table with partitions.")
        return table

    def _stored(self, path: ObjectPath, spec: CatalogPartitionSpec) -> _Stored:
        keys, values = self._partitioned(path).partition_keys, spec.get_partition_spec()
        if set(keys) != set(values):
            raise refusal(
                "SQL_PARTITION", f"{spec} does not name the partition columns of '{path}': {', '.join(keys)}."
            )
        return tuple((key, values[key]) for key in keys)

    def _existing(self, path: ObjectPath, spec: CatalogPartitionSpec) -> _Stored:
        stored = self._stored(path, spec)
        if stored not in self.entry.catalog.partitions(*path):
            raise refusal("SQL_PARTITION", f"There is no {spec} in the table '{path}'.")
        return stored
