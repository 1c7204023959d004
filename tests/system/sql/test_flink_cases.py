"""Queries, wrong statements and statements about the catalog give what real Flink 2.3 gave (scripts/flink_query_oracle.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.table.environment.environment import TableEnvironment
from penstock.table.environment.settings import EnvironmentSettings

from . import flink_answers as answers

FOLDER = Path(__file__).parent / "cases"


def load(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    data = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return data["tables"], data["cases"]


QUERY_TABLES, QUERIES = load("queries")
ERROR_TABLES, ERRORS = load("errors")
STATEMENT_TABLES, STATEMENTS = load("statements")


def environment(case: dict[str, Any], tables: dict[str, Any], folder: Path, engine: str = "local") -> Any:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", engine)
    answers.prepare(env, case, tables, folder)
    return env


def difference(case: dict[str, Any], folder: Path, engine: str) -> str | None:
    """How Penstock's answer of a query differs from Flink's; None if it does not."""
    env = environment(case, QUERY_TABLES, folder, engine)
    query = case["query"].replace("${dir}", str(folder))
    columns, changelog = answers.answer(env, query)
    if columns != case["columns"]:
        return f"columns {columns}, Flink {case['columns']}"
    return answers.table_difference(case["final"], answers.folded(changelog), [t for _, t in columns])


def identified(cases: list[dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(
            case,
            id=case["id"],
            marks=[pytest.mark.xfail(reason=case["known"], strict=False)] if "known" in case else [],
        )
        for case in cases
    ]


@pytest.mark.parametrize("case", identified(QUERIES))
def test_query(case: dict[str, Any], tmp_path: Path) -> None:
    assert difference(case, tmp_path, "local") is None


def two_of_each_family(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Spark takes seconds per query, so that it runs the first two queries of each family."""
    families: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        families.setdefault(case["id"].split("-")[0], []).append(case)
    return [case for family in families.values() for case in family[:2]]


@pytest.mark.long
@pytest.mark.parametrize("case", identified(two_of_each_family(QUERIES)))
def test_query_on_spark(case: dict[str, Any], tmp_path: Path, spark: Any) -> None:
    assert difference(case, tmp_path, "spark") is None


@pytest.mark.parametrize("case", identified(ERRORS))
def test_wrong_statement(case: dict[str, Any], tmp_path: Path) -> None:
    def attempt(statement: str, name: str) -> str | None:
        folder = tmp_path / name
        folder.mkdir()
        env = environment(case, ERROR_TABLES, folder)
        return answers.attempted(env, statement.replace("${dir}", str(folder)))

    message = attempt(case["statement"], "wrong")
    assert message is not None, "must be refused"
    mention = case["mention"] if isinstance(case["mention"], list) else [case["mention"]]
    assert any(word.lower() in message.lower() for word in mention), message
    if case.get("valid"):
        assert attempt(case["valid"], "right") is None


@pytest.mark.parametrize("case", identified(STATEMENTS))
def test_statements(case: dict[str, Any], tmp_path: Path) -> None:
    env = environment(case, STATEMENT_TABLES, tmp_path)
    for step in case["statements"]:
        if "rows" not in step:
            env.execute_sql(step["sql"])
        else:
            got = answers.returned(env, step["sql"])
            assert answers.tidy(step["sql"], got) == answers.tidy(step["sql"], step["rows"]), step["sql"]
