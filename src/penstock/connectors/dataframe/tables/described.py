"""What a catalog of Spark knows about a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_RESERVED = ("provider", "location", "comment", "owner", "external", "is_managed_location", "table_type")


@dataclass(frozen=True)
class TableDescription:
    """schema: in its JSON form. partition_columns: those that are columns of the table, without functions such as days(ts)."""

    schema: dict[str, Any]
    provider: str
    location: str | None
    kind: str  # MANAGED, EXTERNAL, VIEW, or nothing
    is_file_table: bool  # Spark writes its files itself, without transactions
    partition_columns: tuple[str, ...]
    has_transforms: bool  # partitions by functions of columns
    primary_key: tuple[str, ...]
    comment: str | None
    properties: dict[str, str]


_MISSING = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "NAMESPACE_NOT_FOUND")
FILE_FORMATS = ("parquet", "orc", "csv", "json", "text", "avro", "xml")


def error_condition(error: Exception) -> str:
    """Returns the name of an error of Spark, such as TABLE_OR_VIEW_NOT_FOUND, or nothing."""
    condition = getattr(error, "getCondition", None)
    if condition is not None:
        return condition() or ""
    java = getattr(error, "java_exception", None)
    try:
        return str(java.getCondition()) if java is not None else ""
    except Exception:  # an exception of Java without conditions
        return ""


def error_text(error: Exception) -> str:
    """Returns the message of an error of Spark without the stack of Java."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    return text.split("\n\nJVM stacktrace:")[0].split("; line 1 pos")[0].strip()


def java_array(session: Any, parts: Sequence[str]) -> Any:
    """Returns texts as an array of the JVM."""
    gateway = session.sparkContext._gateway
    found = gateway.new_array(gateway.jvm.java.lang.String, len(parts))
    for i, part in enumerate(parts):
        found[i] = part
    return found


def find_catalog(session: Any, name: str) -> Any:
    """Returns a catalog of the session. One that is not configured is an exception of Spark."""
    return session._jsparkSession.sessionState().catalogManager().catalog(name)


def namespace_properties(session: Any, catalog: str, namespace: Sequence[str]) -> dict[str, str] | None:
    """Returns what a catalog knows about a namespace, or None if it is not there."""
    try:
        found = find_catalog(session, catalog).loadNamespaceMetadata(java_array(session, namespace))
    except Exception as error:
        if error_condition(error) in _MISSING:
            return None
        raise
    return {str(key): str(value) for key, value in dict(found).items()}


def describe(session: Any, catalog: str, namespace: Sequence[str], name: str) -> TableDescription | None:
    """Returns what a catalog knows about a table or view, or None if it is not there."""
    jvm = session.sparkContext._gateway.jvm
    identifier = jvm.org.apache.spark.sql.connector.catalog.Identifier.of(java_array(session, namespace), name)
    try:
        table = find_catalog(session, catalog).loadTable(identifier)
    except Exception as error:
        if error_condition(error) in _MISSING:
            return None
        raise
    return _description(table)


def describe_name(session: Any, name: str) -> TableDescription | None:
    """Returns what Spark knows about a table, given by its name in SQL. A temporary view is None."""
    state = session._jsparkSession.sessionState()
    parts = str(state.sqlParser().parseMultipartIdentifier(name).mkString("\0")).split("\0")
    manager = state.catalogManager()
    if len(parts) > 1 and parts[0] != "global_temp":
        configured = parts[0] == "spark_catalog" or session.conf.get(f"spark.sql.catalog.{parts[0]}", None) is not None
        if len(parts) > 2 or configured:
            return describe(session, parts[0], parts[1:-1], parts[-1])
        return describe(session, manager.currentCatalog().name(), parts[:-1], parts[-1])
    if len(parts) == 1:
        return describe(session, manager.currentCatalog().name(), list(manager.currentNamespace()), parts[0])
    return None


def _description(table: Any) -> TableDescription:
    properties = {str(key): str(value) for key, value in dict(table.properties()).items()}
    columns, transforms = [], False
    for transform in table.partitioning():
        names = [list(reference.fieldNames()) for reference in transform.references()]
        if transform.name() == "identity" and len(names) == 1 and len(names[0]) == 1:
            columns.append(str(names[0][0]))
        else:
            transforms = True
    v1 = str(table.getClass().getSimpleName()) == "V1Table"
    provider = properties.get("provider", "")
    kind = properties.get("table_type", "")
    return TableDescription(
        schema=json.loads(table.schema().json()),
        provider=provider,
        location=properties.get("location"),
        kind=kind,
        is_file_table=v1 and kind != "VIEW" and provider.lower() in FILE_FORMATS,
        partition_columns=tuple(columns),
        has_transforms=transforms,
        primary_key=_primary_key(table),
        comment=properties.get("comment"),
        properties={k: v for k, v in properties.items() if k not in _RESERVED and not k.startswith("view.")},
    )


def _primary_key(table: Any) -> tuple[str, ...]:
    """The columns of PRIMARY KEY, which tables have since Spark 4.1."""
    for constraint in table.constraints():
        if str(constraint.getClass().getSimpleName()) == "PrimaryKey":
            return tuple(str(column.fieldNames()[0]) for column in constraint.columns())
    return ()
