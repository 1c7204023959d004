"""A DataStream as a table."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from penstock.datastream.streams.data_stream import DataStream
from penstock.errors import PlanError
from penstock.table.binder.queries import building
from penstock.table.catalog.definition import ColumnDraft, TableDraft, build
from penstock.table.catalog.table import CatalogTable, TableColumn
from penstock.table.relations import Relation, Scan, StreamInput
from penstock.table.streams.element_types import columns_of_elements, logical_type
from penstock.types.logical.kinds import RawType, RowType, TimestampType

_SOURCE_WATERMARK = "SOURCE_WATERMARK()"
Mode = Literal["append", "upsert", "retract"]


def scan_of_stream(
    stream: DataStream[Any], schema: TableDraft | None, mode: Mode, names: tuple[str, ...] = ()
) -> Relation:
    """Returns the relation that reads a stream.

    schema: columns of a `Schema`: physical columns replace those of the elements by name, computed columns and the metadata column
    "rowtime" (the timestamps of the stream) are added. Computed columns see all fields of the elements. names: new names of the
    columns, in their order.
    """
    type_info = stream.get_type()
    fields = columns_of_elements(type_info)
    if any(isinstance(f.type, RawType) for f in fields) and (schema is None or not _declares_types(schema)):
        raise PlanError(
            "STREAM_TYPE",
            f"The elements of stream '{stream.get_name()}' have the type {type_info}, which has no columns. Declare their type, "
            "such as map(f, output_type=Types.ROW_NAMED(['name', 'age'], [Types.STRING(), Types.INT()])).",
        )
    if names:
        if len(names) != len(fields):
            raise PlanError(
                "STREAM_COLUMNS",
                f"The stream has {len(fields)} columns, but {len(names)} names were passed: {', '.join(names)}.",
            )
        fields = tuple(msgspec.structs.replace(f, name=n) for f, n in zip(fields, names, strict=True))
    draft = TableDraft([ColumnDraft(f.name, type=f.type) for f in fields])
    shown = () if schema is None else _apply(schema, draft)
    table = _built(draft)
    _check_metadata(table)
    whole = not isinstance(logical_type(type_info), RowType)
    scan = Scan(
        row_type=table.row_type,
        table=table,
        path=("default_catalog", "default_database", f"stream {stream.get_name()}"),
        stream=StreamInput(stream, whole, mode),
    )
    if not shown:
        return scan
    columns = {column.name: column for column in building.columns(scan)}
    return building.project(scan, [columns[name] for name in shown], shown)


def _declares_types(schema: TableDraft) -> bool:
    return any(c.kind == "physical" for c in schema.columns)


def _apply(schema: TableDraft, draft: TableDraft) -> tuple[str, ...]:
    """Applies a schema. Returns the columns of the table, if they are not all columns of the draft in their order.

    The fields of elements are read by position, so that they stay in their order. Computed columns may use all of them.
    """
    draft.watermark, draft.key = schema.watermark, schema.key
    physical = {c.name: c for c in schema.columns if c.kind == "physical"}
    fields = [c.name for c in draft.columns]
    if not physical:
        draft.columns += schema.columns
        return ()
    if list(physical) == fields or not set(physical) <= set(fields):
        draft.columns = list(schema.columns)
        return ()
    others = [c for c in schema.columns if c.kind != "physical"]
    draft.columns = [*(physical.get(c.name, c) for c in draft.columns), *others]
    return tuple(c.name for c in schema.columns)


def _built(draft: TableDraft) -> CatalogTable:
    """The table of a draft. With SOURCE_WATERMARK(), a column is a rowtime, and the watermarks are those of the stream."""
    watermark = draft.watermark
    if watermark is None or watermark.source.replace(" ", "").upper() != _SOURCE_WATERMARK:
        return build(draft)
    draft.watermark = None
    table = build(draft)
    [name] = watermark.path
    columns = tuple(_as_rowtime(c) if c.name == name else c for c in table.columns)
    return msgspec.structs.replace(table, columns=columns)


def _as_rowtime(column: TableColumn) -> TableColumn:
    if not isinstance(column.type, TimestampType):
        raise PlanError("STREAM_ROWTIME", f"Column '{column.name}' is no timestamp, so that it cannot be the rowtime.")
    return msgspec.structs.replace(column, type=msgspec.structs.replace(column.type, attribute="ROWTIME"))


def _check_metadata(table: CatalogTable) -> None:
    metadata = [c for c in table.columns if c.kind == "metadata"]
    for column in metadata:
        wanted = isinstance(column.type, TimestampType) and column.type.local and column.type.precision <= 3
        if (column.key or column.name) != "rowtime" or not wanted or len(metadata) > 1:
            raise PlanError(
                "STREAM_METADATA",
                f"A stream has the metadata column 'rowtime' of type TIMESTAMP_LTZ(3), and no other: '{column.name}'.",
            )
