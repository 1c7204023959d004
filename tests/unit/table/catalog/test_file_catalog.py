"""The file catalog survives the session, and damage of its files."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from penstock.errors import PenstockError, SqlValidationError
from penstock.table.environment.environment import TableEnvironment

TABLE = """CREATE TABLE `my orders` (
    id BIGINT COMMENT 'the id', kind STRING NOT NULL, price DECIMAL(10, 2), twice AS price * 2,
    origin STRING METADATA FROM 'file.name' VIRTUAL, r ROW<a INT, b ARRAY<STRING NOT NULL>>,
    ts TIMESTAMP_LTZ(3), pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'it''s' DISTRIBUTED BY HASH(id) INTO 4 BUCKETS PARTITIONED BY (kind)
WITH ('connector' = 'filesystem', 'path' = '/data/t', 'format' = 'json')"""


def session(folder: Path) -> TableEnvironment:
    env = TableEnvironment.create()
    env.execute_sql(f"CREATE CATALOG files WITH ('type' = 'file', 'path' = '{folder}', 'default-database' = 'main')")
    env.execute_sql("USE CATALOG files")
    return env


def rows(env: TableEnvironment, sql: str) -> list[list[Any]]:
    return [list(row) for row in env.execute_sql(sql).collect()]


def test_everything_is_there_in_the_next_session(tmp_path: Path) -> None:
    first = session(tmp_path)
    first.execute_sql(TABLE)
    first.execute_sql("CREATE VIEW v (k, n) COMMENT 'c' AS SELECT kind, COUNT(*) FROM `my orders` GROUP BY kind")
    first.execute_sql("ALTER TABLE `my orders` ADD PARTITION (kind = 'a')")
    first.execute_sql("CREATE FUNCTION f AS 'helpers.f' LANGUAGE PYTHON")
    first.execute_sql("CREATE DATABASE `..` COMMENT 'odd' WITH ('a' = 'b')")
    questions = (
        "SHOW TABLES",
        "DESCRIBE `my orders`",
        "SHOW CREATE TABLE `my orders`",
        "DESCRIBE v",
        "SHOW CREATE VIEW v",
        "SHOW PARTITIONS `my orders`",
        "SHOW USER FUNCTIONS",
        "DESCRIBE FUNCTION f",
        "SHOW DATABASES",
        "DESCRIBE DATABASE EXTENDED `..`",
    )
    second = session(tmp_path)
    for question in questions:
        assert rows(second, question) == rows(first, question), question
    assert rows(second, "SHOW TABLES") == [["my orders"], ["v"]]
    assert rows(second, "SHOW DATABASES") == [[".."], ["main"]]
    assert second.sql_query("SELECT * FROM v").get_schema().get_field_names() == ["k", "n"]


def test_sessions_see_each_others_changes(tmp_path: Path) -> None:
    first, second = session(tmp_path), session(tmp_path)
    first.execute_sql(TABLE)
    second.execute_sql("ALTER TABLE `my orders` RENAME TO orders")
    first.execute_sql("ALTER TABLE orders SET ('path' = '/other')")
    assert "'path' = '/other'" in rows(second, "SHOW CREATE TABLE orders")[0][0]
    first.execute_sql("DROP TABLE orders")
    assert rows(second, "SHOW TABLES") == []
    first.execute_sql("CREATE DATABASE d")
    second.execute_sql("DROP DATABASE d")
    assert rows(first, "SHOW DATABASES") == [["main"]]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"kind": "table"}',
        b'{"kind": "table", "columns": [{"name": "a", "kind": "physical", "type": "NOTYPE"}]}',
        b'{"kind": "table", "columns": [{"name": "a", "kind": "computed", "expression": "b +"}]}',
        b'{"kind": "view"}',
    ],
)
def test_a_damaged_file_spoils_its_own_table_only(tmp_path: Path, content: bytes) -> None:
    env = session(tmp_path)
    env.execute_sql("CREATE TABLE good (a INT) WITH ('connector' = 'print')")
    env.execute_sql("CREATE TABLE bad (a INT) WITH ('connector' = 'print')")
    file = tmp_path / "main" / "tables" / "bad.json"
    file.write_bytes(content)
    assert rows(env, "SHOW TABLES") == [["bad"], ["good"]]
    assert rows(env, "DESCRIBE good")[0][0] == "a"
    with pytest.raises(PenstockError, match="SQL_CATALOG_FILE") as raised:
        env.execute_sql("DESCRIBE bad")
    assert str(file) in str(raised.value)
    assert rows(env, "SHOW VIEWS") == []
    env.execute_sql("DROP TABLE bad")
    assert rows(env, "SHOW TABLES") == [["good"]]


def test_unknown_keys_and_files_are_ignored(tmp_path: Path) -> None:
    env = session(tmp_path)
    env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'print')")
    file = tmp_path / "main" / "tables" / "t.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"version": 9, "later": True}))
    (tmp_path / "main" / "tables" / "notes.txt").write_text("mine")
    (tmp_path / "main" / "tables" / ".t.json.1-abc").write_text("{")
    (tmp_path / "readme.md").write_text("mine")
    assert rows(env, "SHOW TABLES") == [["t"]]
    assert rows(env, "DESCRIBE t") == [["a", "INT", True, None, None, None]]
    assert rows(env, "SHOW DATABASES") == [["main"]]


def test_a_view_of_the_program_cannot_be_stored(tmp_path: Path) -> None:
    env = session(tmp_path)
    with pytest.raises(PenstockError, match="cannot be stored"):
        env.create_view("v", env.sql_query("SELECT 1 AS a"))
    env.create_temporary_view("v", env.sql_query("SELECT 1 AS a"))
    assert env.list_views() == ["v"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("'type' = 'file'", "needs the option 'path'"),
        ("'type' = 'file', 'path' = 's3://bucket/x'", "a folder of this machine"),
        ("'type' = 'fil', 'path' = 'x'", "Did you mean 'file'?"),
        ("'type' = 'file', 'path' = 'x', 'paht' = 'y'", "no option 'paht'. Did you mean 'path'?"),
        ("'path' = 'x'", "needs the option 'type'"),
    ],
)
def test_options_are_checked(options: str, words: str) -> None:
    with pytest.raises(PenstockError) as raised:
        TableEnvironment.create().execute_sql(f"CREATE CATALOG c WITH ({options})")
    assert words in str(raised.value)


def is_created(env: TableEnvironment, statement: str) -> bool:
    with suppress(SqlValidationError):
        env.execute_sql(statement)
        return True
    return False


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """Eight sessions add partitions to one table, columns to another one, and create the same table."""
    session(tmp_path).execute_sql("CREATE TABLE p (n INT) PARTITIONED BY (n) WITH ('connector' = 'print')")
    session(tmp_path).execute_sql("CREATE TABLE c (a INT) WITH ('connector' = 'print')")
    start, created = Barrier(8), []

    def work(number: int) -> None:
        env = session(tmp_path)
        start.wait()
        for n in range(3):
            env.execute_sql(f"ALTER TABLE p ADD PARTITION (n = {number * 3 + n})")
            env.execute_sql(f"ALTER TABLE c ADD (c{number}_{n} INT)")
            env.execute_sql(f"CREATE FUNCTION f{number}_{n} AS 'helpers.f' LANGUAGE PYTHON")
        if is_created(env, f"CREATE TABLE single (c{number} INT) WITH ('connector' = 'print')"):
            created.append(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    env = session(tmp_path)
    assert len(rows(env, "SHOW PARTITIONS p")) == 24
    assert len(rows(env, "DESCRIBE c")) == 25
    assert len(rows(env, "SHOW USER FUNCTIONS")) == 24
    assert [row[0] for row in rows(env, "DESCRIBE single")] == [f"c{created[0]}"]
    assert len(created) == 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    env = session(tmp_path)
    (tmp_path / "main" / "tables").write_text("a file in the place of the folder")
    with pytest.raises(PenstockError, match=r"SQL_CATALOG_FILE.*main/tables.*cannot be written"):
        env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'print')")
