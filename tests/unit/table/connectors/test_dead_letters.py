"""Records that do not match a table go to a table of dead letters."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.kafka import KafkaRecord
from penstock.errors import PenstockError
from penstock.functions import DeadLetter
from penstock.jobs.registry.registry import registry_of
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.connectors.dead_letters import DeadLetterRows
from penstock.types.logical.kinds import BIGINT, BYTES, STRING, Field, TimestampType
from tests.unit.table.connectors.requests import source

JSON_LINES = b'{"a": 1, "b": "x"}\n{"a": "many", "b": "y"}\n{broken\n{"a": 4, "b": "\xff"}\n{"a": 5, "b": "z"}\n'


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", "local")
    return env


def create(env: TableEnvironment, path: Path, content: bytes, form: str = "json", **options: str) -> None:
    path.write_bytes(content)
    given = {"connector": "filesystem", "path": str(path), "format": form} | options
    texts = ", ".join(f"'{name.replace('__', '.').replace('_', '-')}' = '{value}'" for name, value in given.items())
    env.execute_sql(f"CREATE TABLE t (a INT, b STRING) WITH ({texts})")


def bad_table(env: TableEnvironment, folder: Path, columns: str = "record STRING, error STRING, source STRING") -> None:
    options = f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'json'"
    env.execute_sql(f"CREATE TABLE bad ({columns}) WITH ({options})")


def rows(env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(query).collect() as found:
        return [tuple(row) for row in found]


def test_bad_records_go_to_the_table_and_are_counted(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "in", JSON_LINES, dead_letter__table="bad")
    bad_table(env, tmp_path / "bad")
    assert rows(env, "SELECT * FROM t") == [(1, "x"), (5, "z")]
    found = rows(env, "SELECT record, source, SUBSTRING(error, 1, 20) FROM bad")
    assert [record for record, _, _ in found] == ['{"a": "many", "b": "y"}', "{broken", '{"a": 4, "b": "\ufffd"}']
    assert {name for _, name, _ in found} == {"default_catalog.default_database.t"}
    assert found[0][2] == "Column 'a' has the t"
    registry = registry_of()
    dead = [p.dead for e in registry.entries() if (p := registry.progress(e.id)) is not None]
    assert sorted(dead) == [0, 3]


def test_files_have_all_that_is_known(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "in", JSON_LINES, dead_letter__path=str(tmp_path / "bad"))
    assert rows(env, "SELECT a, b FROM t") == [(1, "x"), (5, "z")]
    files = sorted((tmp_path / "bad").glob("*"))
    letters = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert [letter["position"] for letter in letters] == [19, 43, 51]
    assert base64.b64decode(letters[2]["record_bytes"]) == b'{"a": 4, "b": "\xff"}'
    assert letters[0]["record_bytes"] is None
    assert letters[0]["split"].endswith(str(tmp_path / "in"))


def test_only_columns_that_are_read_make_dead_letters(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "in", b'{"a": "many", "b": "y"}\n', dead_letter__path=str(tmp_path / "bad"))
    assert rows(env, "SELECT b FROM t") == [("y",)]
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_csv_in_both_modes(env: TableEnvironment, tmp_path: Path, mode: str) -> None:
    env.get_config().set("execution.runtime-mode", mode)
    create(env, tmp_path / "in", b"1,x\ntwo,y\n3\n4,z\n", "csv", dead_letter__table="bad")
    bad_table(env, tmp_path / "bad", "record BYTES, `position` BIGINT")
    assert rows(env, "SELECT a FROM t") == [(1,), (4,)]
    assert sorted(rows(env, "SELECT * FROM bad"))[0][0] == b"3"


def test_partition_columns_and_metadata(env: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "in" / "day=1").mkdir(parents=True)
    (tmp_path / "in" / "day=1" / "f").write_text('{"a": 1}\n{"a": "x"}\n')
    bad_table(env, tmp_path / "bad", "record STRING")
    env.execute_sql(
        "CREATE TABLE p (a INT, `day` INT, name STRING METADATA FROM 'file.name') PARTITIONED BY (`day`) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path / 'in'}', 'format' = 'json', 'dead-letter.table' = 'bad')"
    )
    assert rows(env, "SELECT * FROM p") == [(1, 1, "f")]
    assert rows(env, "SELECT * FROM bad") == [('{"a": "x"}',)]


def test_a_compiled_plan_keeps_the_table(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "in", JSON_LINES, dead_letter__table="bad")
    bad_table(env, tmp_path / "bad")
    env.execute_sql("CREATE TABLE out_t (a INT, b STRING) WITH ('connector' = 'blackhole')")
    env.execute_sql(f"COMPILE PLAN '{tmp_path / 'plan.json'}' FOR INSERT INTO out_t SELECT * FROM t")
    env.execute_sql(f"EXECUTE PLAN '{tmp_path / 'plan.json'}'").wait()
    assert len(rows(env, "SELECT * FROM bad")) == 3


def test_explain_names_the_target(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "in", b"", dead_letter__table="bad")
    bad_table(env, tmp_path / "bad")
    assert "deadLetters=[default_catalog.default_database.bad]" in env.explain_sql("SELECT * FROM t")
    hint = "/*+ OPTIONS('dead-letter.path' = '/x') */"
    with pytest.raises(PenstockError, match="shouldn't both be set"):
        env.explain_sql(f"SELECT * FROM t {hint}")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (None, "does not exist"),
        ("record STRING, errors STRING", "column 'errors' is unknown. A table of dead letters has"),
        ("record INT", "column 'record' has the type INT; expected STRING or BYTES"),
        ("`position` STRING", "expected BIGINT"),
        ("record_time TIMESTAMP_LTZ(3) NOT NULL", "is NOT NULL, but not all dead letters"),
    ],
)
def test_tables_that_cannot_take_dead_letters(
    env: TableEnvironment, tmp_path: Path, table: str | None, expected: str
) -> None:
    create(env, tmp_path / "in", b"", dead_letter__table="bad")
    if table is not None:
        bad_table(env, tmp_path / "bad", table)
    with pytest.raises(PenstockError, match=expected) as error:
        env.explain_sql("SELECT * FROM t")
    assert error.value.code == "TABLE_OPTION"


def test_other_mistakes(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "in", b"", dead_letter__table="t")
    with pytest.raises(PenstockError, match="names the table itself"):
        env.explain_sql("SELECT * FROM t")
    env.execute_sql("CREATE VIEW v AS SELECT 1 AS record")
    with pytest.raises(PenstockError, match="is a view"):
        env.explain_sql("SELECT * FROM t /*+ OPTIONS('dead-letter.table' = 'v') */")
    both = {"dead-letter.path": "/x", "json.ignore-parse-errors": "true"}
    with pytest.raises(PenstockError, match="a record that is skipped is no dead letter"):
        source("a INT", {"connector": "filesystem", "path": "/x", "format": "json"} | both)
    with pytest.raises(PenstockError, match=r"Option 'dead-letter[.]path' is unknown for connector 'datagen'"):
        source("a INT", {"connector": "datagen", "dead-letter.path": "/x"})


def test_kafka_records_have_key_and_time() -> None:
    letter = DeadLetter(
        operator="decode t",
        uid="u",
        element=KafkaRecord("orders", 0, 17, 1_700_000_000_000, b"k", b"\xffv"),
        error="ElementError",
        message="no JSON",
        timestamp=1_700_000_000_000,
        split="orders-0",
        position=17,
    )
    fields = [
        Field("record", BYTES),
        Field("record_key", STRING),
        Field("record_time", TimestampType(3, local=True)),
        Field("position", BIGINT),
        Field("source", STRING),
    ]
    [record], [key], [time], [position], [name] = (
        column.to_pylist() for column in DeadLetterRows("c.d.t", fields).convert([letter]).columns
    )
    assert (record, key, time.timestamp(), position, name) == (b"\xffv", "k", 1_700_000_000, 17, "c.d.t")


@pytest.mark.parametrize("connector", ["kafka", "upsert-kafka"])
def test_kafka_tables_have_the_options(connector: str) -> None:
    options = {
        "connector": connector,
        "topic": "orders",
        "properties.bootstrap.servers": "localhost:1",
        "dead-letter.path": "/x",
    }
    more = {"format": "json", "scan.startup.mode": "earliest-offset"}
    if connector == "upsert-kafka":
        more = {"key.format": "json", "value.format": "json"}
    key = ["a"] if connector == "upsert-kafka" else []
    assert source("a INT, b INT", options | more, key=key).mode in ("append", "upsert")
    prefix = "value." if connector == "upsert-kafka" else ""
    with pytest.raises(PenstockError, match="is no dead letter"):
        source("a INT, b INT", options | more | {f"{prefix}json.ignore-parse-errors": "true"}, key=key)
