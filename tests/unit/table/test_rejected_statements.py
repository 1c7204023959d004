"""Statements that are parsed and not executed are rejected by name."""

from __future__ import annotations

import pytest

from penstock.errors import UnsupportedOperation
from penstock.table.dialect import parse_statement
from penstock.table.rejected_statements import check_supported


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ADD JAR 'a.jar'", "ADD JAR"),
        ("SHOW CREATE MODEL m", "SHOW CREATE MODEL"),
        ("DESCRIBE CONNECTION c", "DESCRIBE CONNECTION"),
        ("ALTER MODEL m SET ('a' = 'b')", "ALTER MODEL"),
        ("SHOW PROCEDURES", "SHOW PROCEDURES"),
        ("UPSERT INTO t SELECT 1", "UPSERT INTO"),
        ("DELETE FROM t", "DELETE"),
        ("CREATE FUNCTION f AS 'a.F'", "CREATE FUNCTION ... LANGUAGE JAVA"),
    ],
)
def test_rejected_by_name(text: str, name: str) -> None:
    with pytest.raises(UnsupportedOperation) as raised:
        check_supported(parse_statement(text))
    assert raised.value.code == "SQL_STATEMENT"
    assert raised.value.text.startswith(f"{name} is not supported. ")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "CREATE TABLE t (a INT)",
        "CREATE FUNCTION f AS 'm.f' LANGUAGE PYTHON",
        "DROP TABLE t",
        "SHOW TABLES",
        "DESCRIBE t",
        "INSERT INTO t SELECT 1",
        "ALTER TABLE t RENAME TO u",
    ],
)
def test_not_rejected(text: str) -> None:
    check_supported(parse_statement(text))
