"""Statements about the catalog answer what Flink answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.table.environment.environment import TableEnvironment

CASES = Path(__file__).parent / "cases"
GROUPS: list[dict[str, Any]] = json.loads((CASES / "statements.json").read_text(encoding="utf-8"))["groups"]
COLUMNS: dict[str, Any] = json.loads((CASES / "computed_columns.json").read_text(encoding="utf-8"))
VIEWS: dict[str, Any] = json.loads((CASES / "views.json").read_text(encoding="utf-8"))


def shown(env: TableEnvironment, sql: str) -> list[list[str | None]]:
    def text(value: Any) -> str | None:
        return None if value is None else str(value).upper() if isinstance(value, bool) else str(value)

    with env.execute_sql(sql).collect() as rows:
        return [[text(value) for value in row] for row in rows]


@pytest.mark.parametrize(
    ("query", "stored"),
    [
        ("(SELECT 1 AS x EXCEPT SELECT 2) INTERSECT SELECT 3", "(SELECT 1 AS `x` EXCEPT SELECT 2) INTERSECT SELECT 3"),
        ("SELECT 1 AS x EXCEPT (SELECT 2 EXCEPT SELECT 3)", "SELECT 1 AS `x` EXCEPT (SELECT 2 EXCEPT SELECT 3)"),
        ("SELECT 1 AS x EXCEPT SELECT 2 INTERSECT SELECT 3", "SELECT 1 AS `x` EXCEPT SELECT 2 INTERSECT SELECT 3"),
        ("(SELECT 1 AS x INTERSECT SELECT 2) UNION SELECT 3", "SELECT 1 AS `x` INTERSECT SELECT 2 UNION SELECT 3"),
    ],
)
def test_a_view_keeps_the_parentheses_that_change_the_meaning(query: str, stored: str) -> None:
    env = TableEnvironment.create()
    env.execute_sql(f"CREATE VIEW v AS {query}")
    text = " ".join(str(shown(env, "SHOW CREATE VIEW v")[0][0]).split())
    assert text.endswith(f"AS {stored}")


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["id"])
def test_a_group_of_statements(group: dict[str, Any]) -> None:
    env = TableEnvironment.create()
    for statement in group["statements"]:
        sql = statement["sql"]
        if statement.get("refused"):
            with pytest.raises(PenstockError):
                shown(env, sql)
        elif "rows" in statement:
            assert shown(env, sql) == statement["rows"], sql
        else:
            env.execute_sql(sql)


@pytest.mark.parametrize("case", COLUMNS["cases"], ids=lambda case: case["expression"])
def test_a_computed_column(case: dict[str, Any]) -> None:
    env = TableEnvironment.create()
    env.execute_sql(f"CREATE TABLE t ({COLUMNS['columns']}, xx AS {case['expression']}) WITH ('connector' = 'print')")
    row = shown(env, "DESCRIBE t")[-1]
    assert row == ["xx", case["type"], str(case["nullable"]).upper(), None, f"AS {case['text']}", None]


@pytest.mark.parametrize("case", COLUMNS["cases"], ids=lambda case: case["expression"])
def test_the_text_of_a_computed_column_can_be_read_again(case: dict[str, Any]) -> None:
    env = TableEnvironment.create()
    env.execute_sql(f"CREATE TABLE t ({COLUMNS['columns']}, xx AS {case['text']}) WITH ('connector' = 'print')")
    assert shown(env, "DESCRIBE t")[-1][4] == f"AS {case['text']}"


@pytest.mark.parametrize("case", VIEWS["cases"], ids=lambda case: case["query"])
def test_the_query_of_a_view_is_stored_with_full_names(case: dict[str, Any]) -> None:
    env = TableEnvironment.create()
    env.execute_sql(VIEWS["table"])
    env.execute_sql(f"CREATE VIEW v AS {case['query']}")
    text = shown(env, "SHOW CREATE VIEW v")[0][0]
    assert text is not None
    assert text.partition("\nAS ")[2] == case["stored"]


def test_a_view_means_the_same_in_another_database() -> None:
    env = TableEnvironment.create()
    env.execute_sql("CREATE TABLE a (id INT) WITH ('connector' = 'print')")
    env.execute_sql("CREATE VIEW v AS SELECT * FROM a")
    env.execute_sql("ALTER TABLE a ADD more STRING")
    env.execute_sql("CREATE DATABASE d")
    env.execute_sql("USE d")
    table = env.sql_query("SELECT * FROM default_database.v")
    assert table.get_schema().get_field_names() == ["id"]


@pytest.mark.parametrize(
    ("sql", "line", "column", "words"),
    [
        ("DROP TABLE odrers", 1, 12, "Did you mean 'orders'?"),
        ("CREATE TABLE t (\n  id INT,\n  id INT)", 3, 3, "A column 'id' exists already"),
        ("CREATE TABLE t (id INT, PRIMARY KEY (idd) NOT ENFORCED)", 1, 25, "'idd' of the primary key is not defined"),
        ("CREATE TABLE t (a STRING, WATERMARK FOR a AS a)", 1, 27, "must be of type TIMESTAMP(p)"),
        ("CREATE TABLE t (a NOTYPE)", 1, 19, "There is no type 'NOTYPE'"),
        ("ALTER TABLE orders ADD id INT", 1, 24, "Use MODIFY"),
        ("DESCRIBE orders2", 1, 10, "Did you mean 'orders'?"),
        ("USE CATALOG default_catalg", 1, 13, "Did you mean 'default_catalog'?"),
        ("CREATE TABLE t (x AS 1 + nothing)", 1, 26, "Column 'nothing' not found"),
        ("SELECT * FROM order", 1, 15, "order"),
    ],
)
def test_errors_have_a_place(sql: str, line: int, column: int, words: str) -> None:
    env = TableEnvironment.create()
    env.execute_sql("CREATE TABLE orders (id INT) WITH ('connector' = 'print')")
    with pytest.raises(PenstockError) as raised:
        env.execute_sql(sql)
    error: Any = raised.value
    assert words in str(error)
    assert (error.line, error.column) == (line, column)
    assert sql.split("\n")[line - 1] in str(error)
    assert str(error).endswith("^")


def test_set_and_reset() -> None:
    env = TableEnvironment.create()
    env.execute_sql("SET 'pipeline.name' = 'mine'")
    env.execute_sql("SET 'my.password' = 'hidden'")
    assert shown(env, "SET") == [["my.password", "******"], ["pipeline.name", "mine"]]
    env.execute_sql("RESET 'pipeline.name'")
    assert env.get_config().get("pipeline.name", "none") == "none"
    env.execute_sql("RESET")
    assert shown(env, "SET") == []
    with pytest.raises(PenstockError, match="'Nowhere/Land' is not a time zone"):
        env.execute_sql("SET 'table.local-time-zone' = 'Nowhere/Land'")


def test_a_catalog_resets_at_least_one_option() -> None:
    env = TableEnvironment.create()
    env.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory', 'default-database' = 'd')")
    with pytest.raises(PenstockError, match="at least one key"):
        env.execute_sql("ALTER CATALOG c RESET ()")
    env.execute_sql("ALTER CATALOG c RESET ('default-database')")
    assert shown(env, "DESCRIBE CATALOG EXTENDED c")[-1] == ["comment", None]


def test_a_system_function_of_the_user_has_no_class_name() -> None:
    env = TableEnvironment.create()
    env.execute_sql("CREATE TEMPORARY SYSTEM FUNCTION f AS 'module.f' LANGUAGE PYTHON")
    env.execute_sql("CREATE TEMPORARY FUNCTION g AS 'module.g' LANGUAGE PYTHON")
    assert shown(env, "DESCRIBE FUNCTION f") == [["is system function", "true"], ["is temporary", "true"]]
    assert shown(env, "DESCRIBE FUNCTION g")[2:] == [["class name", "module.g"], ["function language", "PYTHON"]]
