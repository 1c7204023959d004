"""Writes a batch to a table, in the program that has the Spark session. A batch may be written again after a failure."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.connectors.dataframe.tables.described import TableDescription, describe_name
from penstock.connectors.dataframe.tables.sink import DELETED, ORDER, TableWrite
from penstock.connectors.dataframe.tables.staged_files import append_files
from penstock.errors import ConfigError, UnsupportedOperation
from penstock.types.logical.kinds import CharType, Field, VariantType
from penstock.types.logical.spark import quoted_name, quoted_text

_JOB, _BATCH = "penstock-writer", "penstock-batch"  # properties of a snapshot of Iceberg


def write_batch(frame: Any, write: TableWrite, folder: Path, batch: int) -> None:
    """Writes the rows of a batch. `folder` belongs to the sink and exists as long as the checkpoint."""
    session = frame.sparkSession
    table = describe_name(session, write.name)
    if table is None or table.kind == "VIEW":
        what = "is a view, which cannot be written" if table is not None else "does not exist any more"
        raise ConfigError("SPARK_TABLE", f"The table {write.name} of Spark {what}.")
    if write.mode == "merge":
        _merge(session, frame, write)
    elif write.mode == "overwrite":
        _overwrite(session, _converted(frame, write, table), write, table)
    else:
        _append(session, _converted(frame, write, table), write, table, folder, batch)


def _converted(frame: Any, write: TableWrite, table: TableDescription) -> Any:
    """The columns in the order and the types of the table. Tables of files do not check the length of texts themselves."""
    by_name = {field.name: field for field in write.fields}
    names = [column["name"] for column in table.schema["fields"]]
    return frame.selectExpr(*(_value(by_name[n], "", table.is_file_table) if n in by_name else "NULL" for n in names))


def _value(field: Field, prefix: str, checked: bool = False) -> str:
    name = f"{prefix}{quoted_name(field.name)}"
    if isinstance(field.type, VariantType):
        return f"parse_json({name}) AS {quoted_name(field.name)}"
    if checked and isinstance(field.type, CharType) and field.type.length < 2**31 - 1:
        most = field.type.length
        kept = name if field.type.varying else f"rpad({name}, {most}, ' ')"
        size = f"length({name if field.type.varying else f'rtrim({name})'})"
        problem = quoted_text(f"A text of column '{field.name}' is longer than {most} characters.")
        return f"IF({size} > {most}, raise_error({problem}), {kept}) AS {quoted_name(field.name)}"
    return name


def _append(session: Any, frame: Any, write: TableWrite, table: TableDescription, folder: Path, batch: int) -> None:
    writer = (folder / "writer").read_text()
    match table.provider.lower():
        case "delta":
            options = {"txnAppId": writer, "txnVersion": str(batch), **write.options}
            frame.write.format("delta").options(**options).mode("append").saveAsTable(write.name)
        case "iceberg":
            if not _in_iceberg(session, write.name, writer, batch):
                marks = {f"snapshot-property.{_JOB}": writer, f"snapshot-property.{_BATCH}": str(batch)}
                frame.writeTo(write.name).options(**marks, **write.options).append()
        case _ if table.is_file_table and table.location and not table.has_transforms:
            append_files(session, frame, write, table, folder, batch, writer)
        case _:
            frame.write.options(**write.options).mode("append").insertInto(write.name)


def _in_iceberg(session: Any, name: str, writer: str, batch: int) -> bool:
    """Whether a snapshot of the table has the batch, because it was written before a failure."""
    condition = f"summary['{_JOB}'] = {quoted_text(writer)} AND CAST(summary['{_BATCH}'] AS BIGINT) = {batch}"
    return bool(session.sql(f"SELECT 1 FROM {name}.snapshots WHERE {condition}").take(1))


def _overwrite(session: Any, frame: Any, write: TableWrite, table: TableDescription) -> None:
    """Replaces the partitions that have rows, or all rows of a table without partitions."""
    partitioned = bool(table.partition_columns) or table.has_transforms
    if table.is_file_table or table.provider.lower() == "hive":
        _overwrite_files(session, frame, write)
    elif partitioned:
        frame.writeTo(write.name).options(**write.options).overwritePartitions()
    else:
        with _view(frame) as view:
            session.sql(f"INSERT OVERWRITE TABLE {write.name} SELECT * FROM {view}")


def _overwrite_files(session: Any, frame: Any, write: TableWrite) -> None:
    """Spark takes the mode of partitions from the session, which other writers share: this one gets a session of its own."""
    view = f"penstock_batch_{uuid.uuid4().hex}"
    frame.createOrReplaceGlobalTempView(view)
    own = session.newSession()
    own.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        own.table(f"global_temp.{view}").write.options(**write.options).mode("overwrite").insertInto(write.name)
    finally:
        session.catalog.dropGlobalTempView(view)
    session.catalog.refreshTable(write.name)


def _merge(session: Any, frame: Any, write: TableWrite) -> None:
    with _view(frame) as view:
        try:
            session.sql(merge_statement(write, view))
        except Exception as error:
            if "MERGE INTO TABLE" not in str(error):
                raise
            raise no_merge(write.name) from error


def no_merge(name: str) -> UnsupportedOperation:
    """Returns the error for a table whose rows cannot be replaced."""
    return UnsupportedOperation(
        "SPARK_TABLE_MERGE",
        f"Rows of the table {name} of Spark cannot be replaced by key: its format has no MERGE. Use a table of Iceberg or Delta, "
        "drop the primary key to append rows, or use INSERT OVERWRITE in batch mode. Tables of a database are updated by the "
        "connector 'jdbc'.",
    )


def merge_statement(write: TableWrite, view: str) -> str:
    """Returns MERGE with the last change of each key.

    >>> from penstock.types.logical.kinds import INT
    >>> write = TableWrite("t", (Field("id", INT), Field("n", INT)), "merge", ("id",))
    >>> "WHEN MATCHED THEN UPDATE SET t.`id` = s.`id`, t.`n` = s.`n`" in merge_statement(write, "v")
    True
    """
    names = [quoted_name(field.name) for field in write.fields]
    values = [_value(field, "s.").partition(" AS ")[0] for field in write.fields]
    keys = [quoted_name(key) for key in write.key]
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {ORDER} DESC) AS __rank FROM {view}"
    return (
        f"MERGE INTO {write.name} AS t USING (SELECT * FROM ({ranked}) WHERE __rank = 1) AS s "
        f"ON {' AND '.join(f't.{key} = s.{key}' for key in keys)} "
        f"WHEN MATCHED AND s.{DELETED} THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{n} = {v}' for n, v in zip(names, values, strict=True))} "
        f"WHEN NOT MATCHED AND NOT s.{DELETED} THEN INSERT ({', '.join(names)}) VALUES ({', '.join(values)})"
    )


@contextmanager
def _view(frame: Any) -> Iterator[str]:
    name = f"penstock_batch_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        frame.sparkSession.catalog.dropTempView(name)
