"""Process table functions in SQL: what they are called with, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.user_functions.process_table_function import ProcessTableFunction, udptf


class Numbered(ProcessTableFunction[Any]):
    def create_state(self) -> Any:
        return [0]

    def eval(self, ctx: Any, state: Any, row: Any, step: int = 1) -> Any:
        state[0] += step
        yield state[0], row.v


def _environment() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.create_temporary_function("numbered", udptf(Numbered(), result_type="ROW<n INT, v BIGINT>"))
    env.create_temporary_function("by_row", udptf(Numbered(), result_type="ROW<n INT, v BIGINT>", semantics="row"))
    fields = [DataTypes.FIELD("k", DataTypes.STRING()), DataTypes.FIELD("v", DataTypes.BIGINT())]
    env.create_temporary_view("t", env.from_elements([("a", 1), ("b", 2), ("a", 3)], DataTypes.ROW(fields)))
    return env


def test_a_call_in_sql() -> None:
    query = "SELECT k, n + 0 AS n, v FROM numbered(input => TABLE t PARTITION BY k, step => 10) WHERE n > 0"
    with _environment().execute_sql(query).collect() as rows:
        assert sorted(list(row) for row in rows) == [["a", 10, 1], ["a", 20, 3], ["b", 10, 2]]


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        ("SELECT * FROM numbered(5)", "SQL_FUNCTION", "needs a table"),
        ("SELECT * FROM numbered(TABLE t, TABLE t)", "SQL_FUNCTION", "one table"),
        ("SELECT * FROM numbered(TABLE t PARTITION BY z)", "SQL_COLUMN", "'z'"),
        ("SELECT * FROM numbered(TABLE t, 1, 2)", "SQL_FUNCTION", "1 arguments"),
        ("SELECT * FROM numbered(TABLE t, stop => 1)", "SQL_FUNCTION", "no parameter 'stop'"),
        ("SELECT * FROM numbered(TABLE t, on_time => DESCRIPTOR(v))", "SQL_FUNCTION", "watermark"),
        ("SELECT * FROM numbered(TABLE t, on_time => 1)", "SQL_FUNCTION", "DESCRIPTOR"),
        ("SELECT * FROM by_row(TABLE t PARTITION BY k)", "SQL_FUNCTION", "row semantics"),
        ("SELECT numbered(v) FROM t", "SQL_FUNCTION", "FROM"),
        (
            "WITH s AS (SELECT k, COUNT(*) AS v FROM t GROUP BY k) SELECT * FROM numbered(TABLE s)",
            "SQL_CHANGELOG",
            "updates",
        ),
    ],
)
def test_calls_that_are_refused(query: str, code: str, text: str) -> None:
    with pytest.raises(PenstockError, match=text) as raised:
        _environment().execute_sql(query)
    assert raised.value.code == code


def test_the_decorator_checks_the_function() -> None:
    with pytest.raises(TypeError, match="ProcessTableFunction"):
        udptf(lambda: 1, result_type="INT")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="set"):
        udptf(Numbered(), result_type="INT", semantics="all")  # type: ignore[arg-type]
    assert str(udptf(Numbered(), result_type="INT").emitted) == "ROW<`f0` INT>"
