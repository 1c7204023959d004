"""Tables and views as a catalog stores them."""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.runtime.relational.expressions.tree import Expression
from penstock.types.logical.kinds import Field, LogicalType, RowType


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table.

    kind: "physical" columns are in the records; "metadata" columns come from the connector, under `key` or their own name;
    "computed" columns have an `expression` over the other columns, by their position in the table. `text` is the expression as
    written. The type of a rowtime column has the attribute ROWTIME.
    """

    name: str
    type: LogicalType
    kind: Literal["physical", "metadata", "computed"] = "physical"
    expression: Expression | None = None
    text: str = ""
    key: str | None = None
    virtual: bool = False  # of metadata: not written by INSERT
    comment: str | None = None


class WatermarkDefinition(msgspec.Struct, frozen=True):
    """WATERMARK FOR column AS expression, which is over the columns of the table. Its value is the watermark after a row."""

    column: int  # position of the column
    expression: Expression
    text: str
    path: tuple[str, ...] = ()  # the column as written; more than one part for a nested field


class Refresh(msgspec.Struct, frozen=True):
    """What a materialized table has besides its columns: its query, and the job that keeps it up to date.

    text: the query as written; expanded: with all names expanded. freshness: milliseconds. suspended: whether SUSPEND has stopped
    the job. job: the id of its last run. savepoint: where the next run starts, if not at the last batch. options: those of RESUME.
    """

    text: str
    expanded: str
    freshness: int
    suspended: bool = False
    job: str = ""
    savepoint: str = ""
    options: dict[str, str] = {}


class CatalogTable(msgspec.Struct, frozen=True):
    """A table. `options` are those of WITH, in the order of the statement."""

    columns: tuple[TableColumn, ...]
    options: tuple[tuple[str, str], ...] = ()
    watermark: WatermarkDefinition | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None
    distribution: tuple[str, tuple[str, ...], int | None] | None = None  # kind, columns, buckets
    refresh: Refresh | None = None  # of a materialized table

    @property
    def row_type(self) -> RowType:
        """The type of the rows that a query reads."""
        return RowType(tuple(Field(c.name, c.type) for c in self.columns), nullable=False)

    @property
    def sink_columns(self) -> tuple[TableColumn, ...]:
        """The columns that INSERT writes: physical and metadata columns that are not virtual."""
        return tuple(c for c in self.columns if c.kind == "physical" or (c.kind == "metadata" and not c.virtual))


class CatalogView(msgspec.Struct, frozen=True):
    """A view: the text of its query, with all names expanded, and the names and types of its columns.

    `relation` is set for views that a program created from a `Table` or a stream, which have no text.
    """

    text: str
    expanded: str
    row_type: RowType
    comment: str | None = None
    relation: object = None
