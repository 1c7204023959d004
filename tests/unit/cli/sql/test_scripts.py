"""`penstock sql -e` and `-f` on the local engine."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.cli.sql.script_file import has_secret, keep_script
from penstock.jobs.registry.registry import registry_of

COLORS = "(VALUES ('red', 1), ('blue', 2), ('red', 3)) AS x(color, n)"
NO_TIME = ("-D", "sql-client.display.print-time-cost=false")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sql(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, ["sql", "--local", *NO_TIME, *arguments], input=text)


def test_statements_and_their_messages() -> None:
    shown = sql(
        "-e", "CREATE TABLE t (a INT NOT NULL) WITH ('connector' = 'print'); SHOW TABLES; DESCRIBE t; DROP TABLE t"
    )
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == (
        "[INFO] Execute statement succeeded.\n"
        "+------------+\n"
        "| table name |\n"
        "+------------+\n"
        "|          t |\n"
        "+------------+\n"
        "1 row in set\n"
        "+------+------+-------+-----+--------+-----------+\n"
        "| name | type |  null | key | extras | watermark |\n"
        "+------+------+-------+-----+--------+-----------+\n"
        "|    a |  INT | FALSE |     |        |           |\n"
        "+------+------+-------+-----+--------+-----------+\n"
        "1 row in set\n"
        "[INFO] Execute statement succeeded.\n"
    )


def test_a_query_is_printed_as_tableau() -> None:
    shown = sql("-e", "SELECT color, n FROM (VALUES ('red', 1)) AS x(color, n)")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == (
        "+----+--------------------------------+-------------+\n"
        "| op |                          color |           n |\n"
        "+----+--------------------------------+-------------+\n"
        "| +I |                            red |           1 |\n"
        "+----+--------------------------------+-------------+\n"
        "Received a total of 1 row\n"
    )


def test_json_lines_have_the_kind_and_typed_values() -> None:
    shown = sql(
        "--json",
        "-e",
        "SELECT 1 AS a, 1.50 AS d, 'x' AS s, TRUE AS b, CAST(NULL AS INT) AS z, DATE '2024-01-02' AS today, "
        "TIMESTAMP '2024-01-01 00:00:00.123' AS ts, ARRAY[1, 2] AS ar, MAP['k', 1] AS m, ROW(1, 'x') AS r, x'0102' AS bin",
    )
    assert shown.exit_code == 0, shown.output
    assert '"d":1.50,' in shown.stdout
    assert json.loads(shown.stdout) == {
        "op": "+I",
        "a": 1,
        "d": 1.5,
        "s": "x",
        "b": True,
        "z": None,
        "today": "2024-01-02",
        "ts": "2024-01-01 00:00:00.123",
        "ar": [1, 2],
        "m": {"k": 1},
        "r": {"EXPR$0": 1, "EXPR$1": "x"},
        "bin": "AQI=",
    }


def test_json_leaves_messages_out_and_keeps_a_column_op() -> None:
    shown = sql("--json", "-e", "CREATE TABLE t (a INT) WITH ('connector' = 'print'); SHOW TABLES; SELECT 1 AS op")
    assert [json.loads(line) for line in shown.stdout.splitlines()] == [{"table name": "t"}, {"$op": "+I", "op": 1}]


def test_csv_has_a_line_of_names() -> None:
    shown = sql("--csv", "-e", "SELECT 'a,b' AS s, CAST(NULL AS INT) AS n; SHOW CURRENT CATALOG")
    assert shown.stdout == 'op,s,n\n+I,"a,b",\ncurrent catalog name\ndefault_catalog\n'


def test_batch_mode_is_set_in_the_script_or_by_an_option() -> None:
    query = f"SELECT color, SUM(n) AS total FROM {COLORS} GROUP BY color ORDER BY color"
    expected = (
        "+-------+-------+\n"
        "| color | total |\n"
        "+-------+-------+\n"
        "|  blue |     2 |\n"
        "|   red |     4 |\n"
        "+-------+-------+\n"
        "2 rows in set\n"
    )
    assert sql("-e", f"SET 'execution.runtime-mode' = 'batch'; {query}").stdout.endswith(expected)
    assert sql("-D", "execution.runtime-mode=BATCH", "-e", query).stdout == expected


def test_a_script_ends_at_its_first_error() -> None:
    shown = sql("-e", "SHOW TABLES;\n  SELECT nope FROM missing;\nSHOW VIEWS")
    assert shown.exit_code == 1
    assert shown.stdout == "Empty set\n"
    assert "penstock: [SQL_TABLE] There is no table or view 'missing'." in shown.stderr
    assert "(line 2, column 20)\n    SELECT nope FROM missing;\n                     ^" in shown.stderr


def test_an_error_of_the_parser_comes_after_the_statements_before_it() -> None:
    shown = sql("-e", "SHOW TABLES; SELEC 1; SHOW VIEWS")
    assert (shown.exit_code, shown.stdout) == (1, "Empty set\n")
    assert "[SQL_SYNTAX] Line 1, column 14" in shown.stderr


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_options_of_flink_are_kept_and_wrong_values_have_a_place() -> None:
    keys = ["foo.bar", "execution.checkpointing.unknown-thing", "taskmanager.memory.process.size", "table.exec.unknown"]
    settings = "".join(f"SET '{key}' = '1';\n" for key in keys)
    shown = sql("--json", "-e", f"{settings}SET; RESET 'foo.bar'; SELECT 1 AS a")
    assert shown.exit_code == 0, shown.output
    assert {"key": "foo.bar", "value": "1"} in [json.loads(line) for line in shown.stdout.splitlines()]
    for key, value in [("sql-client.execution.result-mode", "x"), ("execution.runtime-mode", "sometimes")]:
        shown = sql("-e", f"SHOW TABLES;\nSET '{key}' = '{value}'")
        assert shown.exit_code == 1
        assert f"[SQL_OPTION] '{key}' is '{value}'." in shown.stderr
        assert "(line 2, column 5)" in shown.stderr


def test_a_warning_about_a_setting_is_one_line() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        shown = sql("-e", "SET 'execution.unknown-thing' = '1'; SELECT 1")
    assert shown.exit_code == 0, shown.output
    assert "penstock: There is no option 'execution.unknown-thing'." in shown.stderr
    assert "OptionIgnored" not in shown.stderr


def test_a_file_with_an_init_file_and_insert(home: Path) -> None:
    Path("init.sql").write_text(
        "CREATE TABLE orders (color STRING, n INT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'json');\n"
        "CREATE TABLE copies (color STRING, n INT) WITH ('connector' = 'print');\n",
        encoding="utf-8",
    )
    Path("in").mkdir()
    Path("in", "a.json").write_text('{"color": "red", "n": 1}\n{"color": "blue", "n": 2}\n', encoding="utf-8")
    Path("job.sql").write_text("INSERT INTO copies SELECT color, n * 10 FROM orders;\nSHOW TABLES;\n", encoding="utf-8")
    shown = sql("-D", "execution.runtime-mode=BATCH", "-i", "init.sql", "-f", "job.sql")
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert "[INFO] SQL update statement has been successfully submitted to the cluster:" in lines
    assert {"+I[red, 10]", "+I[blue, 20]"} <= set(lines)
    job = registry_of().entries()[0]
    assert f"Job ID: {job.id}" in lines
    assert (job.name, job.status) == ("insert-into_default_catalog.default_database.copies", "finished")
    assert job.launch is not None
    assert job.launch.args[-1] == str(home / "job.sql")


@pytest.mark.parametrize(
    "script",
    [
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a VALUES (1); INSERT INTO b VALUES (2); END;",
        "BEGIN STATEMENT SET; INSERT INTO a VALUES (1); INSERT INTO b VALUES (2); END;",
    ],
)
def test_statement_sets_and_waiting_for_jobs(script: str) -> None:
    tables = "".join(f"CREATE TABLE {name} (n INT) WITH ('connector' = 'print');" for name in "ab")
    shown = sql("-e", f"SET 'table.dml-sync' = 'true'; {tables} {script} SHOW CURRENT DATABASE")
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    done = lines.index("[INFO] Complete execution of the SQL update statement.")
    assert {"+I[1]", "+I[2]"} <= set(lines[:done])
    assert len(registry_of().entries()) == 1


def test_an_empty_statement_set_starts_nothing() -> None:
    shown = sql("-e", "BEGIN STATEMENT SET; END")
    assert shown.exit_code == 0
    assert shown.stdout == "[INFO] Execute statement succeeded.\n" * 2
    assert not registry_of().entries()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("BEGIN STATEMENT SET; INSERT INTO a VALUES (1)", "has no END"),
        ("BEGIN STATEMENT SET; SHOW TABLES; END", "only INSERT statements"),
        ("BEGIN STATEMENT SET; BEGIN STATEMENT SET", "has begun already"),
        ("END", "END without BEGIN"),
    ],
)
def test_wrong_statement_sets(script: str, message: str) -> None:
    shown = sql("-e", script)
    assert shown.exit_code == 1
    assert "[SQL_STATEMENT_SET]" in shown.stderr
    assert message in shown.stderr


def test_a_failed_job_is_the_error_of_the_script() -> None:
    tables = "CREATE TABLE p (n INT) WITH ('connector' = 'print');"
    shown = sql("-e", f"{tables} INSERT INTO p SELECT 1 / n FROM (VALUES (0)) AS x(n); SHOW TABLES")
    assert shown.exit_code == 1
    assert "1 row in set" in shown.stdout
    assert "ivision by zero" in shown.stderr


def test_jobs_are_listed_and_described() -> None:
    table = "CREATE TABLE p (n INT) WITH ('connector' = 'blackhole'); SET 'table.dml-sync' = 'true';"
    assert sql("-e", f"{table} INSERT INTO p VALUES (1)").exit_code == 0
    (job,) = registry_of().entries()
    for statement in ("SHOW JOBS", f"DESCRIBE JOB '{job.id}'"):
        (found,) = [json.loads(line) for line in sql("--json", "-e", statement).stdout.splitlines()]
        assert found["job id"] == job.id
        assert found["status"] == "FINISHED"
        assert found["job name"] == "insert-into_default_catalog.default_database.p"
    shown = sql("-e", f"STOP JOB '{job.id}'")
    assert shown.exit_code == 1
    assert "[JOB_" in shown.stderr


def test_statements_from_stdin_and_quit() -> None:
    shown = sql("--csv", text="SELECT 1 AS a;\nQUIT;\nSHOW TABLES;\n")
    assert (shown.exit_code, shown.stdout) == (0, "op,a\n+I,1\n")
    assert "The following commands are available" in sql("-e", "HELP; CLEAR").stdout


def test_wrong_arguments() -> None:
    assert "Omit one of them" in sql("-e", "SHOW TABLES", "-f", "a.sql").stderr
    assert "exclude each other" in sql("--json", "--csv", "-e", "SHOW TABLES").stderr
    assert "missing.sql cannot be read" in sql("-f", "missing.sql").stderr
    wrong = sql("-D", "execution.engin=local", "-e", "SHOW TABLES")
    assert wrong.exit_code != 0
    assert "[UNKNOWN_OPTION]" in wrong.stderr


def test_a_script_with_a_secret_is_not_an_argument_of_its_job(home: Path) -> None:
    text = (
        "CREATE TABLE p (n INT) WITH ('connector' = 'blackhole'); SET 'some.password' = 'sesame';"
        "INSERT INTO p VALUES (1)"
    )
    assert has_secret(text)
    assert sql("-e", text).exit_code == 0
    (job,) = registry_of().entries()
    assert "sesame" not in job.program
    assert job.launch is not None
    assert job.launch.args[-2:] == ["-f", str(keep_script(text))]
    assert keep_script(text).stat().st_mode & 0o077 == 0
