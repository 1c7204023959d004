"""The connector 'spark' without Spark: what it reads and writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.connectors.dataframe.tables.sink import SparkTableSink, TableWrite
from penstock.connectors.dataframe.tables.writing import merge_statement
from penstock.connectors.sink import WriteTask
from penstock.errors import PenstockError
from penstock.table.connectors.interface import ScanRequest, SinkRequest
from penstock.table.connectors.registry import find_connector
from penstock.table.environment.environment import TableEnvironment
from penstock.table.environment.settings import EnvironmentSettings
from penstock.types.logical.kinds import INT, STRING, CharType, Field, TimestampType, VariantType

SPARK = {"connector": "spark", "table": "`c`.`d`.`t`"}
FIELDS = (Field("id", INT), Field("name", STRING))


def source(batch_mode: bool = True, fields: Any = FIELDS, **options: str) -> Any:
    given = SPARK | {name.replace("__", "-").replace("_", "."): value for name, value in options.items()}
    request = ScanRequest(None, ("c", "d", "t"), given, fields, zone="Asia/Tokyo", batch_mode=batch_mode)  # type: ignore[arg-type]
    return find_connector(given, request.path).source(request).source


def sink(options: dict[str, str] | None = None, **parts: Any) -> Any:
    given = SPARK | (options or {})
    request = SinkRequest(None, ("c", "d", "t"), given, FIELDS, **parts)  # type: ignore[arg-type]
    return find_connector(given, request.path).sink(request)


def test_a_table_is_read_once_or_as_a_stream() -> None:
    assert source().table.query() == "SELECT `id`, `name` FROM `c`.`d`.`t`"
    streams = {"streaming__source_enable": "true"}
    assert not source(batch_mode=False, **streams).bounded
    assert source(batch_mode=False).bounded
    assert source(batch_mode=True, **streams).bounded  # as in Flink


def test_versions() -> None:
    assert source(scan_version="3").table.query().endswith(" VERSION AS OF 3")
    assert source(scan_version="tag").table.query().endswith(" VERSION AS OF 'tag'")
    at = source(scan_timestamp="2026-01-02 00:30:00").table
    assert at.query().endswith(" TIMESTAMP AS OF '2026-01-01 15:30:00.000000Z'")
    variants = source(fields=(Field("v", VariantType()),)).table
    assert variants.query() == "SELECT to_json(`v`) AS `v` FROM `c`.`d`.`t`"
    for options, words in (
        ({"scan_version": "1", "scan_timestamp": "2026-01-01"}, "exclude each other"),
        ({"scan_timestamp": "monday"}, "expected a time such as"),
        ({"scan_version": "1", "streaming__source_enable": "true"}, "reads a version that does not change"),
    ):
        with pytest.raises(PenstockError) as raised:
            source(batch_mode=False, **options)
        assert words in str(raised.value)


def test_how_a_table_is_written() -> None:
    assert (sink().mode, sink().sink.write.mode) == ("append", "append")
    assert sink(overwrite=True, primary_key=(0,)).sink.write.mode == "overwrite"
    merged = sink({"sink.option.a": "b"}, primary_key=(0,))
    assert (merged.mode, merged.sink.write.key, merged.sink.write.options) == ("upsert", ("id",), {"a": "b"})
    with pytest.raises(PenstockError, match="SPARK_TABLE_MERGE"):
        sink({"provider": "parquet"}, primary_key=(0,))
    with pytest.raises(PenstockError, match="Required option 'table'"):
        find_connector({"connector": "spark"}, ("t",)).sink(SinkRequest(None, ("t",), {}, FIELDS))  # type: ignore[arg-type]


def test_a_task_stores_its_changes_with_their_order(tmp_path: Path) -> None:
    """Spark's timestamps have microseconds. MERGE takes the last change of a key."""
    fields = (Field("id", INT), Field("ts", TimestampType(3, local=True)))
    written = SparkTableSink(TableWrite("t", fields, "merge", ("id",)))
    written.attach(str(tmp_path))
    writer = written.writer(WriteTask(batch=4, partition=2, attempt="0"))
    first = pa.record_batch([pa.array([1, 2], pa.int32()), pa.array([5, 6], pa.timestamp("ms", "UTC"))], ["id", "ts"])
    writer.write([(first, None), (first, np.array([False, True]))], None, None)
    stored = pq.read_table(writer.prepare())
    assert stored.schema.field("ts").type == pa.timestamp("us", "UTC")
    assert stored["__deleted"].to_pylist() == [False, False, False, True]
    orders = stored["__order"].to_pylist()
    assert orders == sorted(orders)
    assert orders[0] == 2 << 40
    assert written.spark_schema == "`id` INT, `ts` TIMESTAMP, __deleted BOOLEAN, __order BIGINT"


def test_merge_deletes_before_it_updates() -> None:
    text = merge_statement(TableWrite("t", (Field("id", INT), Field("c", CharType(3))), "merge", ("id",)), "v")
    assert text.index("THEN DELETE") < text.index("THEN UPDATE") < text.index("THEN INSERT")
    assert "PARTITION BY `id` ORDER BY __order DESC" in text


def local(batch: bool = True) -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode() if batch else None)
    env.get_config().set("execution.engine", "local")
    return env


def test_the_local_engine_says_what_needs_spark() -> None:
    env = local()
    with pytest.raises(PenstockError, match=r"NEEDS_SPARK.*--local"):
        env.execute_sql("CREATE CATALOG c WITH ('type' = 'spark')")
    env.execute_sql("CREATE TABLE t (id INT) WITH ('connector' = 'spark', 'table' = 'x')")
    with pytest.raises(PenstockError, match=r"NEEDS_SPARK.*source 't'"):
        env.execute_sql("SELECT * FROM t")
    with pytest.raises(PenstockError, match=r"NEEDS_SPARK.*sink 't'"):
        env.execute_sql("INSERT INTO t VALUES (1)")


def options_of_scan(env: TableEnvironment, sql: str) -> dict[str, str]:
    relation: Any = env.sql_query(sql).relation
    while relation.inputs():
        relation = relation.inputs()[-1]
    return dict(relation.options)


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("TIMESTAMP '2026-01-31 12:00:00'", "2026-01-31 12:00:00"),
        ("TIMESTAMP '2026-01-31 12:00:00' - INTERVAL '1' DAY", "2026-01-30 12:00:00"),
        ("TO_TIMESTAMP_LTZ(0, 3)", "1970-01-01 00:00:00+00:00"),
    ],
)
def test_a_constant_time_chooses_a_version(moment: str, expected: str) -> None:
    env = local()
    env.execute_sql("CREATE TABLE t (id INT) WITH ('connector' = 'spark', 'table' = 'x')")
    for sql in (
        f"SELECT * FROM t FOR SYSTEM_TIME AS OF {moment}",
        f"SELECT * FROM (VALUES (1)) AS v(id) JOIN t FOR SYSTEM_TIME AS OF {moment} AS o ON v.id = o.id",
    ):
        assert options_of_scan(env, sql)["scan.timestamp"] == expected


def test_only_tables_with_versions_have_old_ones() -> None:
    env = local()
    env.execute_sql("CREATE TABLE t (id INT) WITH ('connector' = 'datagen')")
    with pytest.raises(PenstockError, match=r"(?s)SQL_TIME_TRAVEL.*'t' has no old versions.*line 1"):
        env.sql_query("SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-31 12:00:00'")


def test_a_view_of_something_else_is_refused() -> None:
    with pytest.raises(PenstockError, match="A view is created from a Table"):
        local().create_temporary_view("v", [1, 2])


def test_a_view_of_a_frame_of_pandas() -> None:
    import pandas as pd

    env = local()
    env.create_temporary_view("v", pd.DataFrame({"n": [1, 2]}))
    assert env.sql_query("SELECT SUM(n) AS s FROM v").to_pandas()["s"].tolist() == [3]
