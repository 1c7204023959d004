"""COMPILE PLAN, EXECUTE PLAN and compiled plans of programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.errors import PlanError
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.environment.plans.plan_reference import PlanReference

INSERT = "INSERT INTO totals SELECT who, SUM(price) FROM orders GROUP BY who"


@pytest.fixture
def env(tmp_path: Path) -> TableEnvironment:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1").write_text('{"who": "ann", "price": 5}\n{"who": "ann", "price": 6}\n')
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", "local")
    env.get_config().set("execution.checkpointing.dir", str(tmp_path / "checkpoints"))
    files = f"'connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path / 'in'}'"
    env.execute_sql(f"CREATE TABLE orders (who STRING, price BIGINT) WITH ({files})")
    env.execute_sql("CREATE TABLE totals (who STRING, total BIGINT) WITH ('connector' = 'print')")
    return env


def test_a_plan_is_compiled_explained_and_executed(
    env: TableEnvironment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    env.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")
    plan = json.loads(file.read_text())
    assert plan["format"] == 1
    assert "GroupAggregate(groupBy=[who]" in env.explain_sql(f"EXPLAIN PLAN FOR '{file}'")
    env.execute_sql("DROP TABLE orders")  # the plan has the definition
    env.execute_sql(f"EXECUTE PLAN '{file}'").wait()
    assert "+I[ann, 11]" in capsys.readouterr().out


def test_a_file_that_exists_is_kept_or_refused(env: TableEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text("{}")
    with pytest.raises(PlanError) as refused:
        env.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")
    assert refused.value.code == "SQL_PLAN_EXISTS"
    env.execute_sql(f"COMPILE PLAN '{file}' IF NOT EXISTS FOR {INSERT}")
    assert file.read_text() == "{}"
    env.get_config().set("table.plan.force-recompile", "true")
    env.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")
    assert "Aggregate" in file.read_text()


def test_compile_and_execute_uses_the_file_if_it_exists(
    env: TableEnvironment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    env.execute_sql(f"COMPILE AND EXECUTE PLAN '{file}' FOR {INSERT}").wait()
    env.execute_sql(f"COMPILE AND EXECUTE PLAN '{file}' FOR INSERT INTO totals SELECT 'other', 1").wait()
    lines = [line for line in capsys.readouterr().out.splitlines() if "[" in line]
    assert lines == ["+I[ann, 11]", "+I[ann, 11]"]


def test_a_program_compiles_a_plan(env: TableEnvironment, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = env.compile_plan_sql(INSERT)
    plan.write_to_file(tmp_path / "plan.json")
    with pytest.raises(PlanError):
        plan.write_to_file(tmp_path / "plan.json")
    plan.write_to_file(tmp_path / "plan.json", ignore_if_exists=True)
    loaded = env.load_plan(PlanReference.from_file(tmp_path / "plan.json"))
    assert loaded.as_json_string() == plan.as_json_string()
    assert loaded.explain() == plan.explain()
    loaded.print_explain()
    env.execute_plan(PlanReference.from_json_string(plan.as_json_string())).wait()
    assert "+I[ann, 11]" in capsys.readouterr().out


def test_a_statement_set_is_compiled(env: TableEnvironment) -> None:
    plan = env.create_statement_set().add_insert_sql(INSERT).add_insert_sql(INSERT).compile_plan()
    assert len(json.loads(plan.as_json_string())["sinks"]) == 2


def test_a_query_is_refused(env: TableEnvironment) -> None:
    with pytest.raises(PlanError) as refused:
        env.compile_plan_sql("SELECT * FROM orders")
    assert refused.value.code == "SQL_PLAN_STATEMENT"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no plan", "SQL_PLAN_FORMAT"),
        ('{"flinkVersion": "2.3"}', "SQL_PLAN_FORMAT"),
        ('{"format": 99, "sinks": []}', "SQL_PLAN_FORMAT"),
    ],
)
def test_a_text_that_is_no_plan_is_refused(env: TableEnvironment, text: str, code: str) -> None:
    with pytest.raises(PlanError) as refused:
        env.load_plan(PlanReference.from_json_string(text))
    assert refused.value.code == code


def test_a_missing_file_is_refused(env: TableEnvironment, tmp_path: Path) -> None:
    with pytest.raises(PlanError) as refused:
        env.execute_sql(f"EXECUTE PLAN '{tmp_path / 'none.json'}'")
    assert refused.value.code == "SQL_PLAN_FILE"


def test_secrets_stay_in_the_catalog(env: TableEnvironment) -> None:
    secret = "'properties.bootstrap.servers' = 'localhost:1', 'properties.sasl.password' = 'sesame'"
    table = f"CREATE TABLE sink (k STRING) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json', {secret})"
    env.execute_sql(table)
    plan = env.compile_plan_sql("INSERT INTO sink SELECT who FROM orders").as_json_string()
    assert "sesame" not in plan
    env.load_plan(PlanReference.from_json_string(plan))
    env.execute_sql("DROP TABLE sink")
    with pytest.raises(PlanError) as refused:
        env.load_plan(PlanReference.from_json_string(plan))
    assert refused.value.code == "SQL_PLAN_SECRET"
