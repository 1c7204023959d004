"""Programs use the table environment with PyFlink's names. Queries run in an executor that only remembers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.config import Configuration
from penstock.datastream.jobs.closeable_iterator import CloseableIterator
from penstock.errors import ConfigError, PenstockError, SqlValidationError
from penstock.pyflink import pyflink_modules
from penstock.row import Row
from penstock.table.data_types import DataTypes
from penstock.table.environment import session as sessions
from penstock.table.environment.descriptor import Schema, TableDescriptor
from penstock.table.environment.environment import TableEnvironment
from penstock.table.environment.settings import EnvironmentSettings
from penstock.table.environment.table_result import ResultKind
from penstock.table.relations import Relation, Sink, Sort


class Recorder:
    """An executor that remembers what it was asked to run."""

    def __init__(self) -> None:
        self.inserted: list[tuple[list[tuple[str, ...]], str]] = []
        self.explained: list[tuple[list[Relation], tuple[str, ...]]] = []
        self.collected: list[Relation] = []
        self.client: Any = object()

    def collect(self, relation: Relation) -> CloseableIterator[Row]:
        self.collected.append(relation)
        return CloseableIterator(iter([Row(1), Row(2)]))

    def insert(self, sinks: Sequence[Sink], job_name: str) -> Any:
        self.inserted.append(([tuple(sink.path) for sink in sinks], job_name))
        return self.client

    def explain(self, relations: Sequence[Relation], details: tuple[str, ...]) -> str:
        self.explained.append((list(relations), details))
        return "the plan\n"


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setattr(sessions, "load_executor", lambda session: found)
    return found


@pytest.fixture
def env(recorder: Recorder) -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql("CREATE TABLE a (id INT, name STRING) WITH ('connector' = 'print')")
    env.execute_sql("CREATE TABLE b (id INT, name STRING) WITH ('connector' = 'print')")
    return env


def test_a_query_is_collected(env: TableEnvironment, recorder: Recorder) -> None:
    result = env.execute_sql("SELECT id FROM a")
    assert result.get_result_kind() is ResultKind.SUCCESS_WITH_CONTENT
    assert result.get_table_schema().get_field_names() == ["id"]
    result.wait()
    with result.collect() as rows:
        assert [list(row) for row in rows] == [[1], [2]]
    assert len(recorder.collected) == 1


def test_a_statement_without_rows() -> None:
    result = TableEnvironment.create().execute_sql("CREATE TABLE t (id INT)")
    assert result.get_result_kind() is ResultKind.SUCCESS
    assert result.get_job_client() is None
    assert [list(row) for row in result.collect()] == [["OK"]]
    result.wait()


def test_an_insert_starts_a_job(env: TableEnvironment, recorder: Recorder) -> None:
    result = env.execute_sql("INSERT INTO b SELECT * FROM a")
    name = "default_catalog.default_database.b"
    assert recorder.inserted == [([("default_catalog", "default_database", "b")], f"insert-into_{name}")]
    assert result.get_job_client() is recorder.client
    assert result.get_table_schema().get_field_names() == [name]
    assert [list(row) for row in result.collect()] == [[-1]]


def test_a_statement_set_is_one_job(env: TableEnvironment, recorder: Recorder) -> None:
    env.get_config().set("pipeline.name", "mine")
    statements = env.create_statement_set()
    statements.add_insert_sql("INSERT INTO b SELECT * FROM a")
    statements.add_insert("b", env.sql_query("SELECT 1, 'x'"))
    assert statements.explain() == "the plan\n"
    result = statements.execute()
    path = ("default_catalog", "default_database", "b")
    assert recorder.inserted == [([path, path], "mine")]
    assert result.get_table_schema().get_field_names() == [f"{'.'.join(path)}_1", f"{'.'.join(path)}_2"]
    assert env.list_views() == []
    with pytest.raises(PenstockError, match="is empty"):
        statements.execute()
    with pytest.raises(PenstockError, match="takes INSERT"):
        statements.add_insert_sql("SELECT 1")


def test_create_table_as(env: TableEnvironment, recorder: Recorder) -> None:
    env.execute_sql(
        "CREATE TABLE c (x AS id + 1, extra INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'blackhole') "
        "AS SELECT COALESCE(id, 0) AS id, name FROM a"
    )
    described = [list(row)[:4] for row in env.execute_sql("DESCRIBE c").collect()]
    assert described == [
        ["x", "INT", False, None],
        ["extra", "INT", True, None],
        ["id", "INT", False, "PRI(id)"],
        ["name", "STRING", True, None],
    ]
    env.execute_sql("CREATE TABLE d (name, id) WITH ('connector' = 'blackhole') AS SELECT id, name FROM a")
    assert [row[0] for row in env.execute_sql("DESCRIBE d").collect()] == ["name", "id"]
    assert [paths[0][-1] for paths, _ in recorder.inserted] == ["c", "d"]
    with pytest.raises(SqlValidationError, match="The list has 1 columns"):
        env.execute_sql("CREATE TABLE e (name) AS SELECT id, name FROM a")
    with pytest.raises(PenstockError):
        env.execute_sql("CREATE TABLE e (id ARRAY<INT>) AS SELECT id, name FROM a")
    assert "e" not in env.list_tables()


def test_explain(env: TableEnvironment, recorder: Recorder) -> None:
    result = env.execute_sql("EXPLAIN CHANGELOG_MODE SELECT * FROM a")
    assert [list(row) for row in result.collect()] == [["the plan\n"]]
    env.explain_sql("INSERT INTO b SELECT * FROM a")
    assert [details for _, details in recorder.explained] == [("CHANGELOG_MODE",), ()]
    assert isinstance(recorder.explained[1][0][0], Sink)


def test_views_of_tables(env: TableEnvironment) -> None:
    table = env.sql_query("SELECT id AS k FROM a")
    env.create_temporary_view("`my view`", table)
    assert env.list_tables() == ["a", "b", "my view"]
    assert (env.list_views(), env.list_temporary_views()) == (["my view"], ["my view"])
    assert env.sql_query("SELECT k FROM `my view`").get_resolved_schema().get_column_names() == ["k"]
    with pytest.raises(SqlValidationError, match="exists already"):
        env.create_temporary_view("`my view`", table)
    with pytest.raises(SqlValidationError, match="has no text"):
        env.execute_sql("SHOW CREATE VIEW `my view`")
    assert env.drop_temporary_view("`my view`")
    assert not env.drop_temporary_view("`my view`")


def test_the_limit_of_a_table(env: TableEnvironment) -> None:
    relation = env.sql_query("SELECT id FROM a").limit(3, 1).relation
    assert isinstance(relation, Sort)
    assert (relation.limit, relation.offset) == (3, 1)


def test_a_table_from_a_descriptor(env: TableEnvironment) -> None:
    schema = (
        Schema.new_builder()
        .column("id", DataTypes.BIGINT().not_null())
        .column("ts", "TIMESTAMP(3)")
        .column_by_expression("more", "id + 1")
        .column_by_metadata("file", DataTypes.STRING(), "file.name", True)
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .primary_key("id")
        .build()
    )
    descriptor = TableDescriptor.for_connector("filesystem").schema(schema).option("path", "/x").format("json").build()
    env.create_temporary_table("t", descriptor)
    described = [list(row) for row in env.execute_sql("DESCRIBE t").collect()]
    assert described == [
        ["id", "BIGINT", False, "PRI(id)", None, None],
        ["ts", "TIMESTAMP(3) *ROWTIME*", True, None, None, "`ts` - INTERVAL '1' SECOND"],
        ["more", "BIGINT", False, None, "AS `id` + 1", None],
        ["file", "STRING", True, None, "METADATA FROM 'file.name' VIRTUAL", None],
    ]
    assert str(env.from_path("t").get_resolved_schema()).startswith("(\n  `id` BIGINT NOT NULL,")


def test_catalogs_and_databases(env: TableEnvironment) -> None:
    env.create_catalog("c", {"type": "generic_in_memory", "default-database": "main"})
    env.use_catalog("c")
    assert (env.get_current_catalog(), env.get_current_database()) == ("c", "main")
    assert (env.list_catalogs(), env.list_databases()) == (["c", "default_catalog"], ["main"])
    assert env.list_tables("default_catalog", "default_database") == ["a", "b"]
    with pytest.raises(SqlValidationError, match="Did you mean 'main'"):
        env.use_database("mian")
    assert env.list_modules() == ["core"]


def test_only_queries_are_tables(env: TableEnvironment) -> None:
    with pytest.raises(PenstockError, match="Use execute_sql"):
        env.sql_query("SHOW TABLES")
    env.execute_sql("CREATE VIEW v AS SELECT * FROM a")
    with pytest.raises(PenstockError, match="INSERT writes to tables only"):
        env.execute_sql("INSERT INTO v SELECT * FROM a")


def test_settings() -> None:
    settings = EnvironmentSettings.new_instance().in_batch_mode().with_built_in_catalog_name("c").build()
    env = TableEnvironment.create(settings)
    assert not settings.is_streaming_mode()
    assert env.get_current_catalog() == "c"
    configured = TableEnvironment.create(Configuration({"execution.runtime-mode": "BATCH", "pipeline.name": "n"}))
    assert not configured.session.streaming
    assert configured.get_config().get("pipeline.name", "") == "n"
    config = env.get_config()
    config.set_local_timezone("GMT-03:00")
    assert config.get_local_timezone() == "GMT-03:00"
    with pytest.raises(ConfigError, match="is not a time zone"):
        config.set_local_timezone("Moon/Base")
    config.set("table.display.max-column-width", "none")
    with pytest.raises(ConfigError, match="must be a number"):
        env.execute_sql("SHOW TABLES")


def test_pyflinks_names() -> None:
    with pyflink_modules():
        from pyflink.table import DataTypes as Found  # type: ignore[import-not-found, unused-ignore]
        from pyflink.table import EnvironmentSettings as Settings  # type: ignore[import-not-found, unused-ignore]
        from pyflink.table import StreamTableEnvironment, TableResult
        from pyflink.table.table_environment import TableEnvironment as Environment  # type: ignore[import-not-found, unused-ignore]
        from pyflink.util.exceptions import TableException  # type: ignore[import-not-found, unused-ignore]
    assert Environment is TableEnvironment
    assert Found is DataTypes
    env = Environment.create(Settings.in_streaming_mode())
    assert isinstance(env.execute_sql("SHOW TABLES"), TableResult)
    assert issubclass(StreamTableEnvironment, Environment)
    with pytest.raises(TableException):
        env.execute_sql("DROP TABLE nothing")
