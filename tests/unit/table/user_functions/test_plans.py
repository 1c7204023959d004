"""Stored plans contain the names of Python functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import PlanError
from penstock.table import TableEnvironment
from penstock.table.expressions import col
from penstock.table.udf import udf
from tests.unit.table.user_functions.library import twice, words

_SINK = "CREATE TABLE sink (x BIGINT, w STRING) WITH ('connector' = 'print')"
_SOURCE = (
    "CREATE TABLE g (id BIGINT, s STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '2', "
    "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '2')"
)
_INSERT = "INSERT INTO sink SELECT later(twice(id)), word FROM g, LATERAL TABLE(words(s))"


async def _later(x: int) -> int:
    return x


def _prepared(env: TableEnvironment) -> None:
    env.execute_sql(_SOURCE)
    env.execute_sql(_SINK)
    env.create_temporary_function("twice", twice)
    env.create_temporary_function("words", words)
    env.create_temporary_function("later", udf(_later, result_type="BIGINT"))


def test_a_plan_calls_functions_by_name(env: TableEnvironment, tmp_path: Path) -> None:
    _prepared(env)
    file = tmp_path / "plan.json"
    env.execute_sql(f"COMPILE PLAN '{file}' FOR {_INSERT}")
    assert "twice" in file.read_text()
    env.execute_sql(f"EXECUTE PLAN '{file}'").wait()
    env.drop_temporary_function("words")
    with pytest.raises(PlanError, match=r"SQL_PLAN_FUNCTION.*'words', which does not exist"):
        env.execute_sql(f"EXECUTE PLAN '{file}'")


def test_a_function_without_a_name_cannot_be_stored(env: TableEnvironment, tmp_path: Path) -> None:
    _prepared(env)
    table = env.from_path("g").select(udf(lambda x: x, result_type="BIGINT")(col("id")).alias("x"), col("s"))
    env.create_temporary_view("v", table)
    with pytest.raises(PlanError, match="registered by name"):
        env.execute_sql(f"COMPILE PLAN '{tmp_path / 'plan.json'}' FOR INSERT INTO sink SELECT x, s FROM v")
