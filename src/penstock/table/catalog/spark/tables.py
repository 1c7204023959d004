"""Tables of Spark as tables of SQL, and back.

What Spark does not store is kept as JSON in a property of its table: computed columns, the watermark, the primary key, types that
Spark has only similar ones for, and options of jobs.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from penstock.connectors.dataframe.tables.described import TableDescription
from penstock.table.catalog.definition import ColumnDraft, KeyDraft, TableDraft, build, draft_of
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.stored import read_table, write_table
from penstock.table.catalog.table import CatalogTable, CatalogView
from penstock.table.connectors.spark.options import TABLE
from penstock.table.relations import Scan
from penstock.types.logical.kinds import Field, LogicalType
from penstock.types.logical.spark import fields_from_spark, spark_type

PROPERTY = "penstock.table"  # of a table of Spark
_OPTION = "option."


def to_catalog(path: tuple[str, str, str], name: str, found: TableDescription) -> CatalogTable | CatalogView:
    """Returns a table or view of Spark. `name` is the one that Spark's SQL has for it."""
    properties = dict(found.properties)
    stored = _stored(name, properties.pop(PROPERTY, None))
    fields = fields_from_spark(found.schema, f"The table {name} of Spark")
    options = {"connector": "spark", TABLE: name}
    if found.kind != "VIEW":
        options |= {key: value for key, value in (("provider", found.provider), ("location", found.location)) if value}
        options |= {k if k.startswith(_OPTION) else f"properties.{k}": v for k, v in sorted(properties.items())}
    draft = TableDraft(
        _columns(fields, stored),
        None if stored is None else stored.watermark,
        _key(found, stored),
        options | ({} if stored is None else stored.options),
        found.partition_columns,
        found.comment,
    )
    table = build(draft)
    if found.kind != "VIEW":
        return table
    scan = Scan(table=table, path=path, options=table.options, row_type=table.row_type)
    return CatalogView("", "", table.row_type, table.comment, relation=scan)


def _stored(name: str, text: str | None) -> TableDraft | None:
    if text is None:
        return None
    try:
        table = read_table(json.loads(text))
        assert isinstance(table, CatalogTable)
    except Exception as error:
        raise refusal(
            "SQL_CATALOG_FILE",
            f"The property '{PROPERTY}' of the table {name} of Spark cannot be read: {error}. Remove it with ALTER TABLE ... UNSET "
            "TBLPROPERTIES in Spark; the table then loses its computed columns, watermark and primary key.",
        ) from error
    return draft_of(table)


def _columns(fields: tuple[Field, ...], stored: TableDraft | None) -> list[ColumnDraft]:
    """The columns of Spark with the types and computed columns that are stored. Spark's SQL may have changed the table."""
    known = {} if stored is None else {c.name: c for c in stored.columns if c.kind == "physical"}
    columns = [
        ColumnDraft(f.name, type=_type(f, known[f.name].type if f.name in known else None), comment=f.description)
        for f in fields
    ]
    if stored is not None:
        names = {f.name for f in fields}
        for place, column in enumerate(stored.columns):
            if column.kind != "physical" and column.name not in names:
                columns.insert(min(place, len(columns)), column)
    return columns


def _type(field: Field, stored: LogicalType | None) -> LogicalType:
    if stored is None or spark_type(stored, field.name) != spark_type(field.type, field.name):
        return field.type
    return stored.with_nullable(field.type.nullable)


def _key(found: TableDescription, stored: TableDraft | None) -> KeyDraft | None:
    if stored is not None and stored.key is not None:
        return stored.key
    return KeyDraft(found.primary_key) if found.primary_key else None


def stored_property(table: CatalogTable) -> str | None:
    """Returns what the property of a new table keeps, or None if Spark stores all of it."""
    options = tuple((key, value) for key, value in table.options if not _of_spark(key))
    physical = [c for c in table.columns if c.kind == "physical"]
    if (
        not options
        and not table.primary_key
        and len(physical) == len(table.columns)
        and all(_type_of_spark(c.name, c.type) == c.type for c in physical)
    ):
        return None
    kept = msgspec.structs.replace(table, options=options, partition_keys=(), comment=None)
    return json.dumps(write_table(kept), ensure_ascii=False)


def _type_of_spark(name: str, type_: LogicalType) -> LogicalType | None:
    """The type that a column has when it is read again, if it is a simple one. NOT NULL is stored by Spark."""
    simple: dict[str, Any] = {"STRING": "string", "BINARY": "binary", "TIMESTAMP": "timestamp"}
    simple |= {"TIMESTAMP_NTZ": "timestamp_ntz", "INT": "integer", "BIGINT": "long", "SMALLINT": "short"}
    text = spark_type(type_, name)
    known = simple.get(text, text.lower().replace(", ", ","))
    if "<" in known:
        return None
    return fields_from_spark({"fields": [{"name": name, "type": known}]})[0].type.with_nullable(type_.nullable)


def _of_spark(key: str) -> bool:
    return key in ("connector", TABLE, "provider", "location") or key.startswith((_OPTION, "properties."))
