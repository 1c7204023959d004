"""Tables and views as JSON. Expressions are stored as text and bound again, so that a file does not depend on the version."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.table.catalog.definition import ColumnDraft, KeyDraft, TableDraft, WatermarkDraft, build
from penstock.table.catalog.table import CatalogTable, CatalogView, Refresh
from penstock.table.dialect import parse_expression
from penstock.types.logical.kinds import RowType
from penstock.types.logical.text import parse_type, summary

_VERSION = 1


def write_table(table: CatalogTable | CatalogView) -> dict[str, Any]:
    """Returns a table or view as plain values for JSON."""
    if isinstance(table, CatalogView):
        return {
            "version": _VERSION,
            "kind": "view",
            "text": table.text,
            "expanded": table.expanded,
            "columns": summary(table.row_type),
            "comment": table.comment,
        }
    columns = []
    for column in table.columns:
        stored: dict[str, Any] = {"name": column.name, "kind": column.kind}
        if column.kind == "computed":
            stored["expression"] = column.text
        else:
            stored["type"] = summary(column.type, time_attribute=False)
        if column.kind == "metadata":
            stored |= {"key": column.key, "virtual": column.virtual}
        if column.comment is not None:
            stored["comment"] = column.comment
        columns.append(stored)
    watermark = table.watermark
    refresh = {} if table.refresh is None else {"refresh": msgspec.to_builtins(table.refresh)}
    return refresh | {
        "version": _VERSION,
        "kind": "table",
        "columns": columns,
        "watermark": None if watermark is None else {"column": list(watermark.path), "expression": watermark.text},
        "primary_key": list(table.primary_key),
        "primary_key_name": table.primary_key_name,
        "partition_keys": list(table.partition_keys),
        "distribution": None
        if table.distribution is None
        else {
            "kind": table.distribution[0],
            "columns": list(table.distribution[1]),
            "buckets": table.distribution[2],
        },
        "comment": table.comment,
        "options": dict(table.options),
    }


def read_table(stored: dict[str, Any]) -> CatalogTable | CatalogView:
    """Returns the table or view of a file. Unknown keys are ignored; a newer version is tried as it is."""
    if stored["kind"] == "view":
        row_type = parse_type(stored["columns"])
        assert isinstance(row_type, RowType)
        return CatalogView(stored["text"], stored["expanded"], row_type, stored.get("comment"))
    columns = [_column(column) for column in stored["columns"]]
    watermark = stored.get("watermark")
    key = tuple(stored.get("primary_key") or ())
    distribution = stored.get("distribution")
    built = build(
        TableDraft(
            columns,
            None if watermark is None else _watermark(watermark),
            KeyDraft(key, stored.get("primary_key_name")) if key else None,
            {str(k): str(v) for k, v in (stored.get("options") or {}).items()},
            tuple(stored.get("partition_keys") or ()),
            stored.get("comment"),
            None
            if distribution is None
            else (
                distribution.get("kind") or "",
                tuple(distribution.get("columns") or ()),
                distribution.get("buckets"),
            ),
        )
    )
    refresh = stored.get("refresh")
    return built if refresh is None else msgspec.structs.replace(built, refresh=msgspec.convert(refresh, Refresh))


def _column(stored: dict[str, Any]) -> ColumnDraft:
    text = stored.get("expression", "")
    return ColumnDraft(
        stored["name"],
        stored["kind"],
        None if stored["kind"] == "computed" else parse_type(stored["type"]),
        parse_expression(text) if stored["kind"] == "computed" else None,
        text,
        stored.get("key"),
        bool(stored.get("virtual")),
        stored.get("comment"),
        source=text,
    )


def _watermark(stored: dict[str, Any]) -> WatermarkDraft:
    text = stored["expression"]
    return WatermarkDraft(tuple(stored["column"]), parse_expression(text), text, text)
