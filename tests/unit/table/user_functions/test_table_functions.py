"""Table functions in FROM."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import PlanError, SqlValidationError
from penstock.table import DataTypes, TableEnvironment
from penstock.table.udf import TableFunction, udf, udtf
from tests.unit.table.user_functions.conftest import Query
from tests.unit.table.user_functions.library import twice, words


class Sequence(TableFunction):
    def open(self, function_context: Any) -> None:
        self.start = 5

    def eval(self, n: int, step: int) -> Any:
        for i in range(n):
            yield self.start + i * step


@pytest.fixture(autouse=True)
def functions(env: TableEnvironment) -> None:
    env.create_temporary_function("words", words)
    env.create_temporary_function("sequence", udtf(Sequence(), result_types=DataTypes.INT()))
    env.create_temporary_function("twice", twice)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT id, w FROM t, LATERAL TABLE(words(s)) AS x(w, p)", [(1, "a"), (1, "b"), (2, "B")]),
        ("SELECT id, word, place FROM t CROSS JOIN LATERAL TABLE(words(s))", [(1, "a", 0), (1, "b", 1), (2, "B", 0)]),
        ("SELECT id, x.* FROM t JOIN LATERAL TABLE(words(s)) AS x ON TRUE WHERE id = 2", [(2, "B", 0)]),
        ("SELECT id, word FROM t LEFT JOIN LATERAL TABLE(words(s)) ON TRUE WHERE id > 1", [(2, "B"), (3, None)]),
        ("SELECT id, word FROM t JOIN LATERAL TABLE(words(s)) ON place > 0 AND twice(id) = 2", [(1, "b")]),
        ("SELECT id, f0 FROM t, LATERAL TABLE(sequence(2, id)) WHERE id < 3", [(1, 5), (1, 6), (2, 5), (2, 7)]),
        ("SELECT * FROM (SELECT id FROM t) AS q, LATERAL TABLE(sequence(1, twice(id)))", [(1, 5), (2, 5), (3, 5)]),
        ("SELECT a.word, b.f0 FROM t, LATERAL TABLE(words(s)) AS a, LATERAL TABLE(sequence(1, place)) AS b", 3),
        ("SELECT * FROM LATERAL TABLE(words('x,y')) AS x(w, p)", [("x", 0), ("y", 1)]),
        ("SELECT * FROM TABLE(sequence(2, 1))", [(5,), (6,)]),
        ("SELECT w, COUNT(*) FROM t, LATERAL TABLE(words(s)) AS x(w, p) GROUP BY w", [("a", 1), ("b", 1), ("B", 1)]),
    ],
)
def test_joins(query: Query, sql: str, rows: Any) -> None:
    found = query(sql)
    assert len(found) == rows if isinstance(rows, int) else sorted(found, key=repr) == sorted(rows, key=repr)


def test_updates_retract_their_rows(env: TableEnvironment) -> None:
    env.create_temporary_view("u", env.from_elements([("a", 1), ("a", 1), ("b", 2)], ["k", "v"]))
    env.get_config().set("parallelism.default", "1")
    sql = (
        "SELECT f0, COUNT(*) FROM (SELECT k, SUM(v) AS total FROM u GROUP BY k), "
        "LATERAL TABLE(sequence(CAST(total AS INT), 1)) GROUP BY f0"
    )
    final: dict[Any, Any] = {}
    with env.execute_sql(sql).collect() as rows:
        for row in rows:
            final[row[0]] = row[1]
    assert final == {5: 2, 6: 2}


def test_plans_show_table_functions(env: TableEnvironment) -> None:
    plan = env.explain_sql("SELECT id, word FROM t LEFT JOIN LATERAL TABLE(words(s)) ON TRUE")
    assert "TableFunction(type=[LEFT], call=[words(s)], fields=[id, n, s, word, place])" in plan


def test_columns_that_nothing_reads_are_not_computed(env: TableEnvironment) -> None:
    env.execute_sql("CREATE TEMPORARY TABLE g (id INT, n INT, s STRING) WITH ('connector' = 'datagen')")
    plan = env.explain_sql("SELECT word FROM g, LATERAL TABLE(words(s))")
    assert "fields=[s, word, place]" in plan


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT words(s) FROM t", "'words' is a table function, and not allowed here. Join it"),
        ("SELECT id FROM t, LATERAL TABLE(twice(id)) AS x(y)", "'twice' is a scalar function, and FROM needs a table"),
        ("SELECT id FROM t, LATERAL TABLE(words(s)) AS x(y)", "names 1 columns, and the function returns 2 columns"),
        ("SELECT id FROM t, LATERAL TABLE(words(s, 1))", "too many positional arguments"),
        ("SELECT id FROM t, LATERAL TABLE(words(nope))", "Column 'nope' not found"),
        ("SELECT id FROM t, TABLE(words(s))", "Column 's' not found"),  # needs LATERAL
        ("SELECT id FROM t LEFT JOIN LATERAL TABLE(words(s)) ON place = 1", "supports the condition ON TRUE only"),
        ("SELECT id FROM t RIGHT JOIN LATERAL TABLE(words(s)) ON TRUE", "can be joined by CROSS JOIN"),
        ("SELECT id FROM t JOIN LATERAL TABLE(words(s))", "needs a condition"),
        ("SELECT id FROM t, LATERAL TABLE(missing(s))", "There is no table function missing"),
    ],
)
def test_wrong_joins(env: TableEnvironment, sql: str, expected: str) -> None:
    with pytest.raises(SqlValidationError) as raised:
        env.explain_sql(sql)
    assert expected in str(raised.value)


def test_a_volatile_table_function_over_updates(env: TableEnvironment) -> None:
    env.create_temporary_function("v", udtf(lambda x: [x], result_types="BIGINT", deterministic=False))
    env.get_config().set("table.optimizer.non-deterministic-update.strategy", "TRY_RESOLVE")
    with pytest.raises(PlanError, match="PYTHON_FUNCTION_NOT_DETERMINISTIC"):
        env.execute_sql("SELECT f0 FROM (SELECT COUNT(*) AS c FROM t), LATERAL TABLE(v(c))")


@pytest.mark.parametrize(
    ("types", "names"),
    [
        (DataTypes.INT(), ["f0"]),
        ("INT", ["f0"]),
        (["INT", "STRING"], ["f0", "f1"]),
        ([DataTypes.INT(), "STRING"], ["f0", "f1"]),
        (DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), ["f0"]),
        ("ROW<a INT, b STRING>", ["a", "b"]),
        ("Row<a INT>", ["a"]),
    ],
)
def test_result_types(types: Any, names: list[str]) -> None:
    assert [field.name for field in udtf(lambda x: x, result_types=types).fields] == names


@pytest.mark.parametrize("types", [None, [], 5, [int]])
def test_wrong_result_types(types: Any) -> None:
    with pytest.raises(TypeError, match="result_types should be"):
        udtf(lambda x: x, result_types=types)


def test_a_scalar_function_keeps_its_kind() -> None:
    assert repr(udf(lambda x: x, result_type="INT", name="f")) == "<scalar function f>"
    assert repr(words) == "<table function words>"
