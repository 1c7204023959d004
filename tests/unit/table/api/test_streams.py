"""Fields of streams as expressions, and tables as streams in the older forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import PenstockError
from penstock.table import (
    ChangelogMode,
    DataTypes,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    TableEnvironment,
)
from penstock.table.expressions import col


@pytest.fixture
def env() -> ps.StreamExecutionEnvironment:
    return ps.StreamExecutionEnvironment.get_execution_environment(ps.Configuration({"execution.engine": "local"}))


@pytest.fixture
def tables(env: ps.StreamExecutionEnvironment) -> StreamTableEnvironment:
    found = StreamTableEnvironment.create(env)
    found.get_config().set_local_timezone("UTC")
    return found


@pytest.fixture
def stream(env: ps.StreamExecutionEnvironment) -> Any:
    types = ps.Types.ROW_NAMED(["n", "s", "t"], [ps.Types.INT(), ps.Types.STRING(), ps.Types.LONG()])
    made = env.from_collection([ps.Row(1, "a", 1000), ps.Row(2, "b", 2000), ps.Row(3, "a", 3000)], types)
    return made.assign_timestamps_and_watermarks(
        ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.t)
    )


def _schema(table: Any) -> list[str]:
    return [line.strip().rstrip(",") for line in str(table.get_resolved_schema()).splitlines()[1:-1]]


def test_fields_by_name(tables: StreamTableEnvironment, stream: Any) -> None:
    table = tables.from_data_stream(stream, col("s").alias("q"), col("n"), col("rt").rowtime, col("pt").proctime)
    assert _schema(table) == [
        "`q` STRING",
        "`n` INT",
        "`rt` TIMESTAMP_LTZ(3) *ROWTIME*",
        "`pt` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*",
    ]
    rows = table.select(col("q"), col("rt")).execute().collect()
    assert [(q, t.second) for q, t in rows] == [("a", 1), ("b", 2), ("a", 3)]


def test_fields_by_position(tables: StreamTableEnvironment, stream: Any) -> None:
    table = tables.from_data_stream(stream, col("x"), col("y"))
    assert _schema(table) == ["`x` INT", "`y` STRING"]
    with pytest.raises(PenstockError, match="no field 'nothing'"):
        tables.from_data_stream(stream, col("n"), col("nothing"))
    with pytest.raises(PenstockError, match="A field of a stream is a name"):
        tables.from_data_stream(stream, col("n") + 1)


def test_changes_as_a_stream(tables: StreamTableEnvironment, stream: Any) -> None:
    table = tables.from_data_stream(stream).group_by(col("s")).select(col("s"), col("n").sum.alias("total"))
    pairs = tables.to_retract_stream(table, ps.Types.ROW([ps.Types.STRING(), ps.Types.INT()]))
    with pairs.execute_and_collect() as rows:
        left: dict[str, int] = {}
        for added, row in rows:
            if added:
                left[row[0]] = row[1]
    assert left == {"a": 4, "b": 2}


def test_a_schema_and_a_mode_of_changes(tables: StreamTableEnvironment, stream: Any) -> None:
    table = tables.from_data_stream(stream).select(col("n"), col("s"))
    schema = Schema.new_builder().column("a", DataTypes.BIGINT()).column("b", "STRING").build()
    found = tables.to_changelog_stream(table, schema, ChangelogMode.upsert())
    with found.execute_and_collect() as rows:
        assert sorted((row.a, row.b) for row in rows) == [(1, "a"), (2, "b"), (3, "a")]
    with pytest.raises(PenstockError, match="has 1 columns"):
        tables.to_changelog_stream(table, Schema.new_builder().column("a", "INT").build())


def test_a_table_that_only_adds_rows(tables: StreamTableEnvironment, stream: Any) -> None:
    found = tables.to_append_stream(tables.from_data_stream(stream).select(col("n")), ps.Types.ROW([ps.Types.INT()]))
    with found.execute_and_collect() as rows:
        assert sorted(row[0] for row in rows) == [1, 2, 3]


def test_files_of_functions_are_options_of_the_session(tmp_path: Path) -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    (tmp_path / "m.py").write_text("")
    (tmp_path / "requirements.txt").write_text("")
    tables.add_python_file(str(tmp_path / "m.py"))
    tables.add_python_archive(str(tmp_path / "m.py"), "data")
    tables.set_python_requirements(str(tmp_path / "requirements.txt"))
    tables.get_config().set_python_executable("python3")
    values = tables.get_config().to_map()
    assert "m.py" in values["python.files"]
    assert values["python.archives"].rstrip("]'").endswith("m.py#data")
    assert values["python.requirements"].endswith("requirements.txt")
    assert tables.get_config().get_python_executable() == "python3"
    assert tables.get_config().job_configuration().to_dict()["python.files"]
