"""`penstock sql --parse`."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from penstock.cli.main import app


def test_one_line_per_statement(tmp_path: Path) -> None:
    script = tmp_path / "job.sql"
    script.write_text("CREATE TABLE t (a INT);\nINSERT INTO t SELEC 1;\nSHOW TABLES;\n", encoding="utf-8")
    shown = CliRunner().invoke(app, ["sql", "--parse", str(script)])
    assert shown.exit_code == 0
    first, second, third = [json.loads(line) for line in shown.stdout.splitlines()]
    assert (first, third) == ({"kind": "CreateTable"}, {"kind": "ShowTables"})
    error = second["error"]
    assert sorted(error) == ["code", "column", "line", "message"]
    assert (error["code"], error["line"], error["column"]) == ("SQL_SYNTAX", 2, 15)
    assert "found 'SELEC'" in error["message"]


def test_a_file_that_is_not_there() -> None:
    shown = CliRunner().invoke(app, ["sql", "--parse", "missing.sql"])
    assert shown.exit_code == 1
    assert "[SQL_SCRIPT] The script missing.sql cannot be read" in shown.stderr


def test_nothing_to_do() -> None:
    shown = CliRunner().invoke(app, ["sql"])
    assert shown.exit_code == 1
    assert "[SQL_NO_SCRIPT]" in shown.stderr
