"""Tables as DataFrames of Spark, and back."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.connectors.dataframe.tables.reference import GLOBAL_VIEWS
from penstock.connectors.dataframe.tables.sink import TableWrite, batch_schema
from penstock.errors import PlanError
from penstock.runtime.relational.changes import Changes
from penstock.table.api.frames import remaining
from penstock.table.catalog.definition import ColumnDraft, TableDraft, build
from penstock.table.catalog.errors import did_you_mean
from penstock.table.connectors.spark.options import STREAMING, TABLE
from penstock.table.relations import Relation, Scan
from penstock.types.logical.spark import fields_from_spark, quoted_name, spark_columns

if TYPE_CHECKING:
    from penstock.table.environment.session import Session


def is_spark_frame(value: object) -> bool:
    """Whether a value is a DataFrame of Spark, which this package does not import."""
    return isinstance(getattr(value, "isStreaming", None), bool) and hasattr(value, "createOrReplaceGlobalTempView")


def spark_frame_relation(frame: Any, schema: TableDraft | None) -> Scan:
    """Returns the relation that reads a DataFrame. Jobs find it by a name in the Spark application, as long as that runs.

    schema: columns with other types, computed columns and a watermark.
    """
    if not is_spark_frame(frame):
        raise TypeError(f"from_dataframe() takes a DataFrame of Spark, not {type(frame).__name__}. See from_pandas().")
    fields = fields_from_spark(frame.schema.jsonValue())
    draft = TableDraft([ColumnDraft(field.name, type=field.type) for field in fields])
    if schema is not None:
        _apply(schema, draft)
    name = f"penstock_{uuid.uuid4().hex}"
    frame.createOrReplaceGlobalTempView(name)
    draft.options = {"connector": "spark", TABLE: GLOBAL_VIEWS + quoted_name(name)}
    if frame.isStreaming:
        draft.options[STREAMING] = "true"
    table = build(draft)
    return Scan(table=table, path=("*dataframe*", name), options=table.options, row_type=table.row_type)


def _apply(schema: TableDraft, draft: TableDraft) -> None:
    draft.watermark, draft.key = schema.watermark, schema.key
    known = draft.names()
    for column in schema.columns:
        if column.kind == "computed":
            continue
        if column.kind == "metadata" or column.name not in known:
            near = did_you_mean(column.name, known)
            raise PlanError(
                "TABLE_SCHEMA",
                f"The DataFrame has no column '{column.name}'.{near} Columns: {', '.join(known)}.",
            )
    declared = [column for column in schema.columns if column.kind == "physical"]
    draft.columns = [*(declared or draft.columns), *(c for c in schema.columns if c.kind == "computed")]


def collected_spark_frame(changes: Iterable[Changes], relation: Relation, session: Session) -> Any:
    """Returns the rows that are left of all changes as a DataFrame of Spark. It reads them to their end."""
    spark = session.spark_session()
    fields = relation.row_type.fields
    schema = batch_schema(TableWrite("", fields))
    parts = [part for part in changes if len(part)]
    rows = schema.empty_table()
    if parts:
        left = remaining(Changes.concatenate(parts))
        columns = [column.cast(type_) for column, type_ in zip(left.columns, schema.types, strict=True)]
        rows = pa.Table.from_arrays(columns, schema=schema)
    return spark.createDataFrame(rows, spark_columns(fields, lengths=False))
