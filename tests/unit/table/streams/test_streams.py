"""Streams as tables and tables as streams, in one job."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from penstock import StreamExecutionEnvironment, Types, WatermarkStrategy
from penstock.errors import PlanError
from penstock.row import Row, RowKind
from penstock.table import ChangelogMode, Schema, StreamTableEnvironment


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment()
    env.configuration.set("execution.engine", "local")
    env.set_parallelism(1)
    return env


def rows_of(table_env: StreamTableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with table_env.execute_sql(query).collect() as rows:
        return [(str(row.get_row_kind()), *row) for row in rows]


def test_the_fields_of_tuples_are_columns(env: StreamExecutionEnvironment) -> None:
    table_env = StreamTableEnvironment.create(env)
    stream = env.from_collection([("a", 1), ("b", 2), ("a", 3)], Types.TUPLE([Types.STRING(), Types.INT()]))
    table_env.create_temporary_view("s", table_env.from_data_stream(stream, "name", "n"))
    assert rows_of(table_env, "SELECT name, SUM(n) FROM s GROUP BY name") == [("+I", "a", 4), ("+I", "b", 2)]


@dataclasses.dataclass
class Order:
    name: str
    amount: float


def test_objects_and_single_values(env: StreamExecutionEnvironment) -> None:
    table_env = StreamTableEnvironment.create(env)
    orders = env.from_collection([Order("a", 1.5), Order("b", 2.0)], Order)
    table_env.create_temporary_view("orders", orders)
    assert rows_of(table_env, "SELECT name, amount * 2 FROM orders") == [("+I", "a", 3.0), ("+I", "b", 4.0)]
    table_env.create_temporary_view("numbers", env.from_collection([1, 2], Types.LONG()))
    assert rows_of(table_env, "SELECT f0 + 1 FROM numbers") == [("+I", 2), ("+I", 3)]


def test_the_timestamps_and_watermarks_of_a_stream(env: StreamExecutionEnvironment) -> None:
    table_env = StreamTableEnvironment.create(env)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda element, _: element[1])
    stream = env.from_collection([("a", 1000), ("b", 2000), ("a", 12_000)], Types.TUPLE([Types.STRING(), Types.LONG()]))
    schema = (
        Schema.new_builder()
        .column_by_metadata("at", "TIMESTAMP_LTZ(3)", "rowtime")
        .column_by_expression("upper_name", "UPPER(f0)")
        .watermark("at", "SOURCE_WATERMARK()")
        .build()
    )
    table_env.create_temporary_view("s", stream.assign_timestamps_and_watermarks(strategy), schema)
    windows = "TABLE(TUMBLE(TABLE s, DESCRIPTOR(`at`), INTERVAL '10' SECOND))"
    query = f"SELECT MIN(upper_name), COUNT(*) FROM {windows} GROUP BY window_start, window_end"
    assert rows_of(table_env, query) == [("+I", "A", 2), ("+I", "A", 1)]


def test_computed_columns_use_fields_that_the_schema_leaves_out(env: StreamExecutionEnvironment) -> None:
    table_env = StreamTableEnvironment.create(env)
    stream = env.from_collection([(1000, "a", 1.5)], Types.ROW([Types.LONG(), Types.STRING(), Types.DOUBLE()]))
    schema = (
        Schema.new_builder()
        .column_by_expression("at", "TO_TIMESTAMP_LTZ(f0, 3)")
        .column("f2", "DOUBLE")
        .column("f1", "STRING")
        .watermark("at", "`at` - INTERVAL '3' SECOND")
        .build()
    )
    table = table_env.from_data_stream(stream, schema)
    assert table.get_resolved_schema().get_column_names() == ["at", "f2", "f1"]
    table_env.create_temporary_view("s", table)
    assert rows_of(table_env, "SELECT f1, f2, CAST(`at` AS STRING) FROM s")[0][1:3] == ("a", 1.5)


def changes(env: StreamExecutionEnvironment, *rows: tuple[RowKind, str, int]) -> Any:
    types = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()])
    return env.from_collection([Row.of_kind(*row) for row in rows], types)


def test_a_stream_of_changes(env: StreamExecutionEnvironment) -> None:
    table_env = StreamTableEnvironment.create(env)
    stream = changes(env, (RowKind.INSERT, "a", 1), (RowKind.UPDATE_BEFORE, "a", 1), (RowKind.UPDATE_AFTER, "a", 5))
    table_env.create_temporary_view("s", table_env.from_changelog_stream(stream))
    assert rows_of(table_env, "SELECT SUM(n) FROM s") == [("+I", 5)]


def test_a_stream_of_changes_by_key(env: StreamExecutionEnvironment) -> None:
    table_env = StreamTableEnvironment.create(env)
    stream = changes(env, (RowKind.INSERT, "a", 1), (RowKind.UPDATE_AFTER, "a", 5), (RowKind.INSERT, "b", 2))
    schema = Schema.new_builder().column("name", "STRING").column("n", "INT").primary_key("name").build()
    table_env.create_temporary_view("s", table_env.from_changelog_stream(stream, schema, ChangelogMode.upsert()))
    assert rows_of(table_env, "SELECT SUM(n) FROM s") == [("+I", 7)]


def test_tables_become_streams(env: StreamExecutionEnvironment) -> None:
    table_env = StreamTableEnvironment.create(env)
    table_env.create_temporary_view("s", env.from_collection([1, 2, 3], Types.INT()))
    stream = table_env.to_data_stream(table_env.sql_query("SELECT f0 * 10 AS n FROM s WHERE f0 > 1"))
    with stream.map(lambda row: row.n + 1).execute_and_collect() as elements:
        assert list(elements) == [21, 31]
    totals = table_env.sql_query("SELECT COUNT(*) FROM s")
    with pytest.raises(PlanError, match="to_changelog_stream"):
        table_env.to_data_stream(totals)
    with table_env.to_changelog_stream(totals).execute_and_collect() as rows:
        assert [(str(row.get_row_kind()), row[0]) for row in rows] == [("+I", 3)]


def test_a_stream_without_a_type_is_refused(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([object()])
    with pytest.raises(PlanError, match="Declare their type"):
        StreamTableEnvironment.create(env).from_data_stream(stream)


def test_an_upsert_stream_has_a_delete_for_a_row_that_a_filter_drops(env: StreamExecutionEnvironment) -> None:
    env.configuration.set("source.batch.records", 1)
    table_env = StreamTableEnvironment.create(env)
    stream = env.from_collection([("a", 1), ("a", 5), ("b", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))
    table_env.create_temporary_view("s", table_env.from_data_stream(stream, "name", "n"))
    small = table_env.sql_query("SELECT name, SUM(n) AS total FROM s GROUP BY name HAVING SUM(n) < 4")
    changes = table_env.to_changelog_stream(small, None, ChangelogMode.upsert()).execute_and_collect()
    with changes:
        assert [(str(row.get_row_kind()), *row) for row in changes] == [("+I", "a", 1), ("-D", "a", 1), ("+I", "b", 1)]
