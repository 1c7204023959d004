"""Catalogs of Spark: Parquet tables of the session catalog that SQL reads and writes, and DataFrames as tables."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from penstock.atomic_file import write_atomic
from penstock.connectors.dataframe.tables import staged_files
from penstock.table.environment.descriptor import Schema
from penstock.table.environment.environment import TableEnvironment
from penstock.table.environment.settings import EnvironmentSettings
from tests.waiting import until


@pytest.fixture
def database(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    spark.sql(f"CREATE DATABASE catalog_test LOCATION '{tmp_path}/files'")
    yield "catalog_test"
    spark.sql("DROP DATABASE catalog_test CASCADE")


def environment(tmp_path: Path, streaming: bool = False, **options: str) -> TableEnvironment:
    mode = EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    env = TableEnvironment.create(mode)
    settings = {"execution.checkpointing.dir": f"{tmp_path}/checkpoints", "parallelism.default": "1"}
    for key, value in (settings | {"table.dml-sync": "false" if streaming else "true"} | options).items():
        env.get_config().set(key, value)
    env.execute_sql("CREATE CATALOG lake WITH ('type' = 'spark', 'default-database' = 'catalog_test')")
    env.execute_sql("USE CATALOG lake")
    return env


def rows(env: TableEnvironment, sql: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(sql).collect() as found:
        return sorted(tuple(row) for row in found)


def test_tables_of_the_session_catalog_are_written_and_read(database: str, spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    assert rows(env, "SHOW TABLES") == []
    env.execute_sql(
        "CREATE TABLE orders (id BIGINT COMMENT 'the id', price DECIMAL(10, 2), ts TIMESTAMP(3), tags ARRAY<STRING>, "
        "twice AS price * 2, day_ STRING) COMMENT 'all' PARTITIONED BY (day_) WITH ('properties.team' = 'a')"
    )
    insert = "INSERT INTO orders VALUES (1, 1.5, TIMESTAMP '2026-01-01 00:00:00.123', ARRAY['x'], 'mon'), "
    env.execute_sql(insert + "(2, 2.5, TIMESTAMP '2026-01-01 00:00:00', ARRAY['y'], 'tue')")
    env.execute_sql("INSERT OVERWRITE orders (id, price, day_) VALUES (3, 3.5, 'tue')")
    ts = datetime.datetime(2026, 1, 1, 0, 0, 0, 123000)
    assert [row[0:1] + row[2:] for row in rows(env, "SELECT * FROM orders")] == [
        (1, ts, ["x"], 3, "mon"),
        (3, None, None, 7, "tue"),
    ]
    assert sorted(row.id for row in spark.table("catalog_test.orders").collect()) == [1, 3]
    assert rows(env, "SHOW PARTITIONS orders") == [("day_=mon",), ("day_=tue",)]
    described = env.execute_sql("SHOW CREATE TABLE orders").collect().next()[0]
    for part in ("`ts` TIMESTAMP(3)", "COMMENT 'the id'", "COMMENT 'all'", "'properties.team' = 'a'", "AS `price` * 2"):
        assert part in described


def test_statements_that_change_what_the_catalog_has(database: str, spark: SparkSession, tmp_path: Path) -> None:
    """They need no job."""
    env = environment(tmp_path)
    env.execute_sql("CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('streaming-source.enable' = 'true')")
    env.execute_sql("ALTER TABLE t ADD (name STRING COMMENT 'of the thing')")
    env.execute_sql("ALTER TABLE t SET ('properties.a' = 'b', 'streaming-source.enable' = 'false')")
    env.execute_sql("ALTER TABLE t RENAME TO things")
    assert rows(env, "DESCRIBE things")[1][:2] == ("name", "STRING")
    text = env.execute_sql("SHOW CREATE TABLE things").collect().next()[0]
    assert "'properties.a' = 'b'" in text
    assert "'streaming-source.enable' = 'false'" in text
    assert "PRIMARY KEY" in text
    spark.sql("ALTER TABLE catalog_test.things ADD COLUMNS (size LONG)")
    assert [row[0] for row in rows(env, "DESCRIBE things")] == ["id", "name", "size"]
    spark.sql("CREATE VIEW catalog_test.sizes AS SELECT size FROM catalog_test.things")
    assert rows(env, "SHOW VIEWS") == [("sizes",)]
    assert env.sql_query("SELECT * FROM sizes").get_schema().get_field_names() == ["size"]
    env.execute_sql("DROP VIEW sizes")
    env.execute_sql("DROP TABLE things")
    env.execute_sql(f"CREATE DATABASE other COMMENT 'it''s' WITH ('k' = 'v', 'location' = '{tmp_path}/other')")
    assert ("other",) in rows(env, "SHOW DATABASES")
    env.execute_sql("ALTER DATABASE other SET ('k' = 'w')")
    assert "(k,w)" in str(spark.sql("DESCRIBE DATABASE EXTENDED other").collect())
    env.execute_sql("DROP DATABASE other")
    for statement, words in (
        ("CREATE TABLE t (id INT) WITH ('provider' = 'nope')", "Failed to find the data source: nope"),
        ("CREATE TABLE t (id INT) WITH ('connector' = 'kafka')", "has tables of Spark only"),
        ("CREATE TABLE t (id INT) WITH ('provder' = 'orc')", "Did you mean 'provider'?"),
        ("CREATE VIEW v AS SELECT 1 AS a", "cannot store the view 'v'"),
        ("CREATE CATALOG x WITH ('type' = 'spark', 'catalog' = 'nope')", "The catalog `nope` not found"),
    ):
        with pytest.raises(Exception, match=r"\[[A-Z_]+\]") as raised:
            env.execute_sql(statement)
        assert words in str(raised.value)


def test_a_stream_of_a_table_is_copied_once_though_its_job_fails(
    database: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job fails when the files of a batch are in the table and this is not recorded yet. Then the batch is written again."""
    retry = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "10 ms"}
    env = environment(tmp_path, streaming=True, **retry)
    spark.sql("CREATE TABLE catalog_test.a (id INT, name STRING) USING parquet")
    env.execute_sql("CREATE TABLE b (id INT, name STRING)")
    spark.sql("INSERT INTO catalog_test.a VALUES (1, 'x'), (2, 'y')")
    failures: list[int] = []

    def fail_once(*arguments: Any, **options: Any) -> None:
        if not failures:
            failures.append(1)
            raise OSError("the store is away")
        write_atomic(*arguments, **options)

    monkeypatch.setattr("penstock.connectors.dataframe.tables.staged_files.write_atomic", fail_once)
    client = env.execute_sql(
        "INSERT INTO b SELECT id, UPPER(name) FROM a /*+ OPTIONS('streaming-source.enable' = 'true') */"
    ).get_job_client()

    def copied(*expected: tuple[int, str]) -> None:
        until(lambda: sorted(map(tuple, spark.table("catalog_test.b").collect())) == list(expected), seconds=60)

    copied((1, "X"), (2, "Y"))
    spark.sql("INSERT INTO catalog_test.a VALUES (3, 'z')")
    copied((1, "X"), (2, "Y"), (3, "Z"))
    assert client is not None
    client.cancel().result()
    assert failures


def test_dataframes_are_tables_and_tables_are_dataframes(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    env.use_catalog("default_catalog")
    env.create_temporary_view("numbers", spark.range(5).selectExpr("id", "timestamp_seconds(id) AS ts"))
    env.create_temporary_view("names", pd.DataFrame({"id": [1, 2], "name": ["a", "b"]}))
    found = env.sql_query("SELECT n.id, name, ts FROM numbers AS n JOIN names ON n.id = names.id").to_dataframe()
    assert found.schema.simpleString() == "struct<id:bigint,name:string,ts:timestamp>"
    assert sorted((row.id, row.name) for row in found.collect()) == [(1, "a"), (2, "b")]
    schema = Schema.new_builder().column("ts", "TIMESTAMP_LTZ(3)").column_by_expression("s", "SECOND(ts)")
    table = env.from_dataframe(spark.range(2).selectExpr("id", "timestamp_seconds(id) AS ts"), schema.build())
    assert table.get_schema().get_field_names() == ["ts", "s"]


def test_a_batch_that_is_repeated_changes_nothing(
    database: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt fails when one of the files is in the table."""
    from penstock.connectors.dataframe.tables.sink import SparkTableSink, TableWrite
    from penstock.connectors.dataframe.tables.writing import write_batch
    from penstock.types.logical.kinds import BIGINT, STRING, Field

    spark.sql("CREATE TABLE catalog_test.t (id BIGINT, p STRING) USING json PARTITIONED BY (p)")
    spark.sql("CREATE TABLE catalog_test.whole (id BIGINT, p STRING) USING orc")
    fields = (Field("id", BIGINT), Field("p", STRING))
    append = TableWrite("`catalog_test`.`t`", fields)
    SparkTableSink(append).attach(str(tmp_path / "sink"))
    batch = spark.range(20, numPartitions=4).selectExpr("id", "concat('p', id % 3) AS p")
    move = staged_files._FileSystem.move
    moved: list[str] = []

    def fail_once(self: Any, *arguments: Any) -> None:
        if len(moved) == 1:
            moved.append("failure")
            raise OSError("the store is away")
        move(self, *arguments)
        moved.append("file")

    monkeypatch.setattr(staged_files._FileSystem, "move", fail_once)
    with pytest.raises(OSError, match="away"):
        write_batch(batch, append, tmp_path / "sink", 3)
    for number in (3, 3, 4):
        write_batch(batch, append, tmp_path / "sink", number)
    assert sorted(row.id for row in spark.table("catalog_test.t").collect()) == sorted(2 * list(range(20)))
    assert not list((tmp_path / "files" / "t" / "_penstock").rglob("*.json"))
    whole = TableWrite("`catalog_test`.`whole`", fields, "overwrite")
    for _ in range(2):
        write_batch(batch, whole, tmp_path / "sink", 0)
    write_batch(batch.where("id < 2"), whole, tmp_path / "sink", 1)
    assert sorted(row.id for row in spark.table("catalog_test.whole").collect()) == [0, 1]
