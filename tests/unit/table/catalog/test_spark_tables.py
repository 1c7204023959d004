"""Tables of SQL as tables of Spark and back, without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.connectors.dataframe.tables.described import TableDescription
from penstock.errors import PenstockError
from penstock.table.catalog.catalog import CatalogDatabase
from penstock.table.catalog.spark.statements import (
    alter_database_statements,
    alter_statements,
    create_database_statement,
    create_statement,
)
from penstock.table.catalog.spark.tables import PROPERTY, stored_property, to_catalog
from penstock.table.catalog.table import CatalogTable, CatalogView
from penstock.table.environment.environment import TableEnvironment
from penstock.table.relations import Scan

COLUMNS = (
    "id BIGINT NOT NULL COMMENT 'the id', ts TIMESTAMP(3), big AS id + 1, name VARCHAR(5), r ROW<a INT, b ARRAY<STRING>>, "
    "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (id) NOT ENFORCED"
)
WITH = "WITH ('connector' = 'spark', 'provider' = 'delta', 'properties.a' = 'b', 'scan.option.x' = 'y')"


def table(columns: str = COLUMNS, options: str = WITH, more: str = "") -> CatalogTable:
    env = TableEnvironment.create()
    env.execute_sql(f"CREATE TABLE t ({columns}) {more} {options}")
    found = env.session.catalogs.get(env.session.catalogs.path(("t",)))
    assert isinstance(found, CatalogTable)
    return found


def described(schema: list[Any], properties: dict[str, str], **parts: Any) -> TableDescription:
    values: dict[str, Any] = {
        "schema": {"type": "struct", "fields": schema},
        "provider": "delta",
        "location": None,
        "kind": "MANAGED",
        "is_file_table": False,
        "partition_columns": (),
        "has_transforms": False,
        "primary_key": (),
        "comment": None,
        "properties": properties,
    }
    return TableDescription(**(values | parts))


def field(name: str, type_: Any, nullable: bool = True, **metadata: str) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": nullable, "metadata": metadata}


ROW = {
    "type": "struct",
    "fields": [field("a", "integer"), field("b", {"type": "array", "elementType": "string", "containsNull": True})],
}
SPARK_COLUMNS = [
    field("id", "long", False, comment="the id"),
    field("ts", "timestamp_ntz"),
    field("name", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(5)"),
    field("r", ROW),
]
PATH, NAME = ("lake", "db", "t"), "`lake`.`db`.`t`"


def read(schema: list[Any], properties: dict[str, str], **parts: Any) -> CatalogTable:
    found = to_catalog(PATH, NAME, described(schema, properties, **parts))
    assert isinstance(found, CatalogTable)
    return found


def test_what_spark_does_not_store_comes_back() -> None:
    before = table()
    stored = stored_property(before)
    assert stored is not None
    after = read(SPARK_COLUMNS, {"a": "b", PROPERTY: stored})
    assert after.columns == before.columns
    assert after.watermark == before.watermark
    assert after.primary_key == ("id",)
    assert dict(after.options) == dict(before.options) | {"table": NAME}


def test_a_plain_table_has_no_property() -> None:
    plain = table("id INT, ts TIMESTAMP_LTZ(6), n DECIMAL(10, 2), name STRING, d DATE", "WITH ('provider' = 'parquet')")
    assert stored_property(plain) is None
    assert stored_property(table("ts TIMESTAMP_LTZ(3)", "WITH ('provider' = 'parquet')")) is not None


def test_columns_that_spark_has_changed() -> None:
    """The type of Spark is the truth. A computed column stays behind its neighbours."""
    stored = stored_property(table())
    assert stored is not None
    added = [field("extra", "date"), *SPARK_COLUMNS[:1], field("ts", "date"), SPARK_COLUMNS[2]]
    with pytest.raises(PenstockError, match="SQL_WATERMARK"):
        read(added, {PROPERTY: stored})  # of a column that is a date now
    found = read([*SPARK_COLUMNS, field("extra", "date")], {PROPERTY: stored})
    assert [c.name for c in found.columns] == ["id", "ts", "big", "name", "r", "extra"]
    with pytest.raises(PenstockError, match=r"SQL_CATALOG_FILE.*'penstock.table' of the table `lake`.`db`.`t`"):
        read(SPARK_COLUMNS, {PROPERTY: "{"})


def test_views_and_keys_of_spark() -> None:
    view = to_catalog(PATH, NAME, described([field("n", "long")], {}, kind="VIEW"))
    assert isinstance(view, CatalogView)
    assert isinstance(view.relation, Scan)
    assert dict(view.relation.options) == {"connector": "spark", "table": NAME}
    assert read([field("n", "long", False)], {}, primary_key=("n",)).primary_key == ("n",)


def test_a_type_without_a_type_in_sql_is_named() -> None:
    with pytest.raises(PenstockError, match=r"SPARK_TYPE.*`lake`.`db`.`t`.*column 'i'.*interval"):
        read([field("i", "interval day to second")], {})


def test_create_table() -> None:
    text = create_statement(NAME, table("id INT, d STRING", WITH, "COMMENT 'it''s' PARTITIONED BY (d)"))
    assert text.startswith(
        r"CREATE TABLE `lake`.`db`.`t` (`id` INT, `d` STRING) USING `delta` PARTITIONED BY (`d`) COMMENT 'it\'s' TBLPROPERTIES ("
    )
    assert "'a' = 'b'" in text
    assert f"'{PROPERTY}' = " in text  # of 'scan.option.x'
    with pytest.raises(PenstockError, match=r"SPARK_TYPE.*'i'"):
        create_statement(NAME, table("i TIMESTAMP(9)"))


def changes(columns: str, options: str = WITH, more: str = "") -> list[str]:
    return list(alter_statements(NAME, table(), table(columns, options, more)))


def test_alter_table() -> None:
    assert changes(COLUMNS) == []
    assert changes(COLUMNS, more="COMMENT 'c'") == [f"COMMENT ON TABLE {NAME} IS 'c'"]
    added = changes(COLUMNS.replace("VARCHAR(5)", "VARCHAR(5) COMMENT 'n'") + ", extra INT")
    assert added[:2] == [
        f"ALTER TABLE {NAME} ALTER COLUMN `name` COMMENT 'n'",
        f"ALTER TABLE {NAME} ADD COLUMNS (`extra` INT)",
    ]
    gone = changes(COLUMNS, WITH.replace("'properties.a' = 'b', ", ""))
    assert gone == [f"ALTER TABLE {NAME} UNSET TBLPROPERTIES IF EXISTS ('a')"]
    for other in (COLUMNS.replace("id BIGINT", "id INT"), COLUMNS.replace("name VARCHAR(5), ", "")):
        with pytest.raises(PenstockError, match="SQL_ALTER"):
            changes(other)
    with pytest.raises(PenstockError, match="SQL_OPTION"):
        changes(COLUMNS, WITH.replace("delta", "iceberg"))


def test_databases() -> None:
    old = CatalogDatabase("c", (("k", "v"),))
    assert create_database_statement("`d`", old) == "CREATE NAMESPACE `d` COMMENT 'c' WITH DBPROPERTIES ('k' = 'v')"
    assert list(alter_database_statements("`d`", old, CatalogDatabase("e", (("k", "w"), ("location", "/x"))))) == [
        "ALTER NAMESPACE `d` SET LOCATION '/x'",
        "ALTER NAMESPACE `d` SET DBPROPERTIES ('k' = 'w')",
        "COMMENT ON NAMESPACE `d` IS 'e'",
    ]


def test_the_property_is_json_without_what_spark_stores() -> None:
    stored = json.loads(stored_property(table(more="COMMENT 'c'")) or "")
    assert stored["options"] == {"scan.option.x": "y"}
    assert stored["comment"] is None
