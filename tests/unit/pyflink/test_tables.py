"""The part of the Table API that stream programs use: a generated table becomes a stream."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import StreamExecutionEnvironment, Types
from penstock.errors import ConfigError, PenstockError, PlanError, UnsupportedOperation
from penstock.pyflink import pyflink_modules
from penstock.pyflink.tables import DataTypes, Schema, StreamTableEnvironment, TableDescriptor
from penstock.testing import Harness


def table(**options: Any) -> TableDescriptor:
    schema = Schema.new_builder().column("id", DataTypes.INT()).column("name", DataTypes.VARCHAR(4)).build()
    builder = TableDescriptor.for_connector("datagen").schema(schema)
    for key, value in options.items():
        builder.option(key.replace("__", ".").replace("_", "-"), value)
    return builder.build()


def test_a_generated_table_becomes_a_stream() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    tables = StreamTableEnvironment.create(stream_execution_environment=env)
    limits: dict[str, Any] = {"fields__id__kind": "random", "fields__id__min": "0", "fields__id__max": "2"}
    tables.create_temporary_table("people", table(**limits, number_of_rows=200, rows_per_second="1000000"))
    stream = tables.to_data_stream(tables.from_path("people"))
    assert stream.get_type() == Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    harness = Harness(env)
    found = harness.collect(stream)
    harness.run()
    assert len(found) == 200
    assert {row.id for row in found} == {0, 1, 2}
    assert {len(row.name) for row in found} == {4}


def test_a_sequence() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    tables = StreamTableEnvironment.create(env)
    ends: dict[str, Any] = {"fields__id__kind": "sequence", "fields__id__start": 3, "fields__id__end": 5}
    tables.create_table("n", table(**ends, rows_per_second=1_000_000))
    harness = Harness(env)
    found = harness.collect(tables.to_data_stream(tables.from_path("n")))
    harness.run()
    assert [row[0] for row in found] == [3, 4, 5]


def unsupported_calls() -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    tables = StreamTableEnvironment.create(env)
    tables.create_temporary_table("t", table())
    return [
        (
            lambda: tables.execute_sql("SELECT 1"),
            UnsupportedOperation,
            "StreamTableEnvironment.execute_sql belongs to the",
        ),
        (lambda: tables.from_path("t").select("id"), UnsupportedOperation, "Table.select belongs to the Table API"),
        (lambda: DataTypes.INTERVAL(), UnsupportedOperation, "DataTypes.INTERVAL belongs"),
        (lambda: TableDescriptor.for_connector("kafka"), UnsupportedOperation, "The connector 'kafka' belongs"),
        (lambda: Schema.new_builder().watermark("ts", "ts"), UnsupportedOperation, "Builder.watermark belongs"),
        (lambda: Schema.new_builder().column("a", "INT"), UnsupportedOperation, "A column of type 'INT'"),
        (lambda: StreamTableEnvironment.create(), UnsupportedOperation, "without a stream environment"),
        (lambda: tables.from_path("u"), PlanError, "There is no table 'u'. Existing tables: t"),
    ]


@pytest.mark.parametrize("number", range(8))
def test_unsupported_calls_raise_an_error(number: int) -> None:
    call, kind, words = unsupported_calls()[number]
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fields__other__min": 1}, "unknown options: fields.other.min"),
        ({"rows_per_second": "many"}, "rows-per-second = 'many', but the value must be a number"),
        ({"fields__id__kind": "sequence"}, "fields.id.start = ''"),
        ({"fields__id__min": 5, "fields__id__max": 1}, "Field 'id' has values from 5"),
    ],
)
def test_wrong_options_raise_an_error(options: dict[str, Any], words: str) -> None:
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    tables.create_temporary_table("t", table(**options))
    with pytest.raises(ConfigError, match=words):
        tables.to_data_stream(tables.from_path("t"))


@pytest.mark.parametrize(
    "line",
    [
        "from pyflink.table.utils import TableSettings\nTableSettings()",
        "import pyflink.table.utils\npyflink.table.utils.TableSettings.load()",
    ],
)
def test_other_names_are_missing_with_a_reason(line: str) -> None:
    with pyflink_modules(), pytest.raises(PenstockError, match="the part of the Table API that"):
        exec(line, {})
