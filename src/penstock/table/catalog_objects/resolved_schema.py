"""Names and types of columns, watermarks and the primary key: `ResolvedSchema`."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.table.catalog.table import CatalogTable, TableColumn
from penstock.table.catalog_objects.columns import Column, ComputedColumn, MetadataColumn, PhysicalColumn
from penstock.table.catalog_objects.constraints import UniqueConstraint, WatermarkSpec
from penstock.table.catalog_objects.resolved_expression import ResolvedExpression
from penstock.table.data_types import DataType
from penstock.types.logical.kinds import Field, RowType


class ResolvedSchema:
    """The columns of a table or query, with watermarks and the primary key.

    >>> from penstock.types.logical.kinds import INT
    >>> print(ResolvedSchema.of_row_type(RowType((Field("a", INT),))))
    (
      `a` INT
    )
    """

    def __init__(
        self,
        columns: Sequence[Column] = (),
        watermark_specs: Sequence[WatermarkSpec] = (),
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        self._columns = list(columns)
        self._watermarks = list(watermark_specs)
        self._primary_key = primary_key

    @staticmethod
    def of_row_type(row_type: RowType, primary_key: Sequence[str] = ()) -> ResolvedSchema:
        """Returns the schema of rows of a type."""
        key = UniqueConstraint.primary_key(f"PK_{'_'.join(primary_key)}", primary_key) if primary_key else None
        return ResolvedSchema([PhysicalColumn(f.name, DataType(f.type)) for f in row_type.fields], (), key)

    @staticmethod
    def of_table(table: CatalogTable) -> ResolvedSchema:
        """Returns the schema of a table of a catalog, with computed columns, its watermark and its primary key."""
        watermarks = []
        if table.watermark is not None:
            expression = ResolvedExpression(table.watermark.expression, table.watermark.text)
            watermarks.append(WatermarkSpec.of(".".join(table.watermark.path), expression))
        key = None
        if table.primary_key:
            name = table.primary_key_name or f"PK_{'_'.join(table.primary_key)}"
            key = UniqueConstraint.primary_key(name, table.primary_key)
        return ResolvedSchema([_column(column) for column in table.columns], watermarks, key)

    @staticmethod
    def of(columns: Sequence[Column]) -> ResolvedSchema:
        """Returns the schema of columns."""
        return ResolvedSchema(columns)

    @staticmethod
    def physical(column_names: Sequence[str], column_data_types: Sequence[DataType]) -> ResolvedSchema:
        """Returns the schema of columns that records have."""
        pairs = zip(column_names, column_data_types, strict=True)
        return ResolvedSchema([PhysicalColumn(name, data_type) for name, data_type in pairs])

    def get_column_count(self) -> int:
        """Returns the number of columns."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """Returns the columns."""
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        """Returns the names of the columns."""
        return [c.name for c in self._columns]

    def get_column_data_types(self) -> list[DataType]:
        """Returns the types of the columns."""
        return [c.data_type for c in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """Returns a column by its position or name, or None."""
        given = column_index_or_name
        if isinstance(given, int):
            return self._columns[given] if 0 <= given < len(self._columns) else None
        return next((c for c in self._columns if c.name == given), None)

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """Returns the watermarks."""
        return list(self._watermarks)

    def get_primary_key(self) -> UniqueConstraint | None:
        """Returns the primary key, or None."""
        return self._primary_key

    def get_primary_key_indexes(self) -> list[int]:
        """Returns the positions of the columns of the primary key."""
        names = self.get_column_names()
        return [names.index(name) for name in self._primary_key.get_columns()] if self._primary_key else []

    def to_source_row_data_type(self) -> DataType:
        """Returns the type of the rows that a query reads."""
        return _row(self._columns)

    def to_physical_row_data_type(self) -> DataType:
        """Returns the type of the records."""
        return _row([c for c in self._columns if c.is_physical()])

    def to_sink_row_data_type(self) -> DataType:
        """Returns the type of the rows that INSERT writes."""
        return _row([c for c in self._columns if c.is_persisted()])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and str(other) == str(self)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        parts = [*self._columns, *self._watermarks, *([self._primary_key] if self._primary_key else [])]
        return "(\n" + ",\n".join(f"  {part}" for part in parts) + "\n)"

    __repr__ = __str__


def _column(column: TableColumn) -> Column:
    type_ = DataType(column.type)
    if column.kind == "metadata":
        return MetadataColumn(column.name, type_, column.comment, column.key, column.virtual)
    if column.expression is not None:
        return ComputedColumn(column.name, type_, column.comment, ResolvedExpression(column.expression, column.text))
    return PhysicalColumn(column.name, type_, column.comment)


def _row(columns: Sequence[Column]) -> DataType:
    return DataType(RowType(tuple(Field(c.name, c.data_type.logical) for c in columns), nullable=False))
