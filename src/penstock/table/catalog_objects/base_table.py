"""Tables and views of catalogs, as programs create and read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.table.catalog.definition import ColumnDraft, TableDraft, build, draft_of
from penstock.table.catalog.table import CatalogTable, CatalogView
from penstock.table.data_types import DataType
from penstock.table.environment.descriptor import Schema
from penstock.table.environment.schema import TableSchema
from penstock.types.logical.kinds import RowType


class CatalogBaseTable:
    """A table or view of a catalog."""

    def __init__(self, table: CatalogTable | CatalogView, properties: Mapping[str, str] | None = None) -> None:
        self.table = table
        self._properties = dict(properties or {})  # of a view

    @staticmethod
    def create_table(
        schema: TableSchema,
        partition_keys: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Returns a table with columns and options."""
        pairs = zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
        draft = TableDraft(
            [ColumnDraft(name, type=type_.logical) for name, type_ in pairs],
            options=dict(properties or {}),
            partition_keys=tuple(partition_keys),
            comment=comment,
        )
        return CatalogBaseTable(build(draft))

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Returns a view: the text of a query, and the same text with full names of tables."""
        row_type = schema.to_row_data_type().logical
        assert isinstance(row_type, RowType)
        return CatalogBaseTable(CatalogView(original_query, expanded_query, row_type, comment), properties)

    def get_options(self) -> dict[str, str]:
        """Returns the options of WITH, or the properties of a view."""
        return dict(self._properties) if isinstance(self.table, CatalogView) else dict(self.table.options)

    def get_unresolved_schema(self) -> Schema:
        """Returns the columns, the watermark and the primary key."""
        if isinstance(self.table, CatalogTable):
            return Schema(draft_of(self.table))
        return Schema.new_builder().from_row_data_type(DataType(self.table.row_type)).build()

    def get_comment(self) -> str | None:
        """Returns the comment."""
        return self.table.comment

    def copy(self) -> CatalogBaseTable:
        """Returns a copy."""
        return CatalogBaseTable(self.table, self._properties)

    def get_description(self) -> str | None:
        """Returns the comment."""
        return self.table.comment

    def get_detailed_description(self) -> str | None:
        """Returns the comment, or for a view the text of its query."""
        return self.table.comment if isinstance(self.table, CatalogTable) else self.table.text
