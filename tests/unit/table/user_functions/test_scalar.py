"""Scalar Python functions in all places of a query."""

from __future__ import annotations

import functools
import itertools
import os
import threading
from typing import Any

import pytest

from penstock.errors import PlanError, SqlValidationError, UserFunctionError
from penstock.table import DataTypes, TableEnvironment
from penstock.table.expressions import call, col
from penstock.table.udf import AsyncScalarFunction, FunctionContext, ScalarFunction, udf
from tests.unit.table.user_functions.conftest import Query
from tests.unit.table.user_functions.library import exclaimed, twice


@pytest.fixture(autouse=True)
def functions(env: TableEnvironment) -> None:
    env.create_temporary_function("twice", twice)
    env.create_temporary_function("exclaimed", exclaimed)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT twice(id), exclaimed(s) FROM t", [(2, "a,b!"), (4, "B!"), (6, None)]),
        ("SELECT twice(twice(id)) + 1 FROM t", [(5,), (9,), (13,)]),
        ("SELECT TWICE(5), default_catalog.default_database.twice(6) FROM t WHERE id = 1", [(10, 12)]),
        ("SELECT id FROM t WHERE twice(id) > 2 AND exclaimed(s) = 'B!'", [(2,)]),
        ("SELECT CASE WHEN twice(id) = 4 THEN exclaimed(s) ELSE 'no' END FROM t", [("no",), ("B!",), ("no",)]),
        ("SELECT twice(id) / 4, COUNT(*), SUM(twice(id)) FROM t GROUP BY twice(id) / 4", [(0, 1, 2), (1, 2, 10)]),
        ("SELECT Twice(id) FROM t GROUP BY twice(id)", [(2,), (4,), (6,)]),
        ("SELECT twice(COUNT(*)) FROM t HAVING twice(COUNT(*)) > 5", [(6,)]),
        ("SELECT t.id, u.id FROM t JOIN t AS u ON twice(t.id) = u.id", [(1, 2)]),
        ("SELECT t.id, u.id FROM t JOIN t AS u ON t.id = u.id AND twice(u.id) + t.id > 3", [(2, 2), (3, 3)]),
        ("SELECT id FROM t WHERE id IN (SELECT twice(id) FROM t)", [(2,)]),
        ("SELECT * FROM (VALUES (twice(1)), (twice(2))) AS v(x)", [(2,), (4,)]),
        ("SELECT x FROM (SELECT id, twice(id) AS x FROM t) WHERE x > 2 AND id < 3", [(4,)]),
        ("SELECT twice(x) FROM t, UNNEST(ARRAY[twice(id), 1]) AS u(x) WHERE id = 3", [(12,), (2,)]),
        ("SELECT id, twice(SUM(id) OVER (ORDER BY id)) FROM t", [(1, 2), (2, 6), (3, 12)]),
    ],
)
def test_places(query: Query, env: TableEnvironment, sql: str, rows: list[Any]) -> None:
    if "OVER" in sql:
        env.get_config().set("execution.runtime-mode", "streaming")
    assert sorted(query(sql), key=repr) == sorted(rows, key=repr)


def test_views_and_computed_columns(query: Query, env: TableEnvironment) -> None:
    env.execute_sql("CREATE TEMPORARY VIEW v AS SELECT twice(id) AS x FROM t")
    assert query("SELECT twice(x) FROM v") == [(4,), (8,), (12,)]
    env.execute_sql(
        "CREATE TEMPORARY TABLE g (id BIGINT, d AS twice(id)) WITH ('connector' = 'datagen', 'number-of-rows' = '2', "
        "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '2')"
    )
    assert query("SELECT id, d FROM g") == [(1, 2), (2, 4)]


def test_patterns(query: Query, env: TableEnvironment) -> None:
    env.execute_sql(
        "CREATE TEMPORARY TABLE g (id BIGINT, p AS PROCTIME()) WITH ('connector' = 'datagen', 'number-of-rows' = '6', "
        "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '6')"
    )
    found = query(
        "SELECT * FROM g MATCH_RECOGNIZE (ORDER BY p MEASURES twice(A.id) AS x, B.id AS y PATTERN (A B) "
        "DEFINE A AS twice(A.id) = 4, B AS twice(B.id) > twice(A.id))"
    )
    assert found == [(4, 3)]
    found = query(
        "SELECT * FROM g MATCH_RECOGNIZE (ORDER BY p MEASURES twice(SUM(S.id)) AS x, CLASSIFIER() AS c ALL ROWS PER MATCH "
        "PATTERN (A (B | C)+) SUBSET S = (A, B) DEFINE A AS twice(A.id) = 4, B AS twice(PREV(B.id)) = twice(A.id), "
        "C AS twice(LAST(S.id)) < C.id)"
    )
    assert [(row[1], row[2]) for row in found] == [(4, "A"), (10, "B")]


def test_kinds_of_callables(query: Query, env: TableEnvironment) -> None:
    class Offset(ScalarFunction):
        def __init__(self, offset: int) -> None:
            self.offset = offset

        def eval(self, x: int) -> int:
            return x + self.offset

    class Tripled:
        def __call__(self, x: int) -> int:
            return 3 * x

    def add(a: int, b: int) -> int:
        return a + b

    class Lower(AsyncScalarFunction):
        async def eval(self, text: str | None) -> str | None:
            return None if text is None else text.lower()

    async def same(x: int) -> int:
        return x

    for name, function in {
        "f1": udf(Offset(5), result_type=DataTypes.INT()),
        "f2": udf(Tripled(), result_type="INT"),
        "f3": udf(functools.partial(add, 100), result_type="INT", name="hundred"),
        "f4": udf(lambda *parts: len(parts), result_type="INT"),
        "f5": udf(Lower(), result_type="STRING"),
        "f6": udf(same, result_type="INT"),
        "f7": udf(lambda x: x.fillna(0) + 1, result_type="BIGINT", func_type="pandas"),
        "f8": udf(lambda x: x.is_null(), result_type="BOOLEAN", func_type="arrow"),
    }.items():
        env.create_temporary_system_function(name, function)
    found = query("SELECT f1(id), f2(id), f3(id), f4(id, s, 1), f5(s), f6(id), f7(n), f8(n) FROM t")
    assert found == [
        (6, 3, 101, 3, "a,b", 1, 11, False),
        (7, 6, 102, 3, "b", 2, 21, False),
        (8, 9, 103, 3, None, 3, 1, True),
    ]


def test_calls_in_the_table_api(env: TableEnvironment) -> None:
    table = env.from_path("t").select(twice(col("id")).alias("x"), call("exclaimed", col("s")).alias("y"))
    with table.where(call(twice, col("x")) > 4).execute().collect() as rows:
        assert [tuple(row) for row in rows] == [(4, "B!"), (6, None)]


def test_open_gets_the_job(query: Query, env: TableEnvironment) -> None:
    class Known(ScalarFunction):
        def open(self, function_context: FunctionContext) -> None:
            self.counter = function_context.get_metric_group().counter("calls")
            self.parameter = function_context.get_job_parameter("greeting", "none")
            self.where = function_context.get_index_of_this_subtask()

        def eval(self, x: int) -> str:
            self.counter.inc()
            return f"{self.parameter} {self.where} {self.counter.get_count()}"

    env.get_config().set("pipeline.global-job-parameters", "greeting:hello")
    env.create_temporary_function("known", udf(Known(), result_type="STRING"))
    assert query("SELECT known(id) FROM t") == [("hello 0 1",), ("hello 0 2",), ("hello 0 3",)]


# -- functions that are not deterministic


def test_a_volatile_function_is_called_once_per_row(query: Query, env: TableEnvironment) -> None:
    numbers = itertools.count()
    env.create_temporary_function("nxt", udf(lambda: next(numbers), result_type="BIGINT", deterministic=False))
    assert query("SELECT a - b FROM (SELECT x AS a, x AS b FROM (SELECT nxt() AS x FROM t)) WHERE a >= 0") == [(0,)] * 3
    assert query("SELECT nxt() - nxt() FROM t WHERE id = 1") != [(0,)]


def test_a_volatile_function_over_updates(query: Query, env: TableEnvironment) -> None:
    env.create_temporary_function("pid", udf(lambda x: os.getpid(), result_type="BIGINT", deterministic=False))
    sql = "SELECT pid(c), COUNT(*) FROM (SELECT s, COUNT(*) AS c FROM t GROUP BY s) GROUP BY pid(c)"
    assert "computed again for the row before an update" in env.explain_sql(sql)
    env.get_config().set("table.optimizer.non-deterministic-update.strategy", "TRY_RESOLVE")
    with pytest.raises(PlanError, match=r"PYTHON_FUNCTION_NOT_DETERMINISTIC.*'pid'"):
        env.execute_sql(sql)
    assert query("SELECT pid(id) FROM t") == [(os.getpid(),)] * 3


def test_plans_show_functions(env: TableEnvironment) -> None:
    plan = env.explain_sql("SELECT twice(id) AS x FROM t WHERE exclaimed(s) = 'B!'")
    assert "Calc(select=[twice(id) AS x], where=[(exclaimed(s) = 'B!')])" in plan


# -- types and errors


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT typed(id, 1) FROM t WHERE id = 1", [("(1, 1.0)",)]),
        ("SELECT typed(NULL, 1.5) FROM t WHERE id = 1", [("(None, 1.5)",)]),
        ("SELECT typed(CAST(2 AS SMALLINT), n) FROM t WHERE id = 1", [("(2, 10.0)",)]),
    ],
)
def test_arguments_are_converted_to_declared_types(query: Query, env: TableEnvironment, sql: str, rows: Any) -> None:
    types = [DataTypes.BIGINT(), DataTypes.DOUBLE()]
    env.create_temporary_function("typed", udf(lambda *x: repr(x), input_types=types, result_type="STRING"))
    assert query(sql) == rows


@pytest.mark.parametrize(
    ("call_text", "words"),
    [
        ("typed(s, s)", "'typed' takes 1 argument (STRING), and is called with 2"),
        ("typed(id)", "INT is not converted to STRING automatically"),
        ("twice()", "'twice' has the parameters (x: 'Any') -> 'Any', and is called with 0 arguments"),
        ("twice(id, 1)", "too many positional arguments"),
        ("twic(id)", "Did you mean twice?"),
        ("twice(*)", "does not take such an argument"),
    ],
)
def test_wrong_calls(env: TableEnvironment, call_text: str, words: str) -> None:
    env.create_temporary_function("typed", udf(lambda x: x, input_types=DataTypes.STRING(), result_type="STRING"))
    with pytest.raises(SqlValidationError) as raised:
        env.explain_sql(f"SELECT {call_text} FROM t")
    assert words in str(raised.value)
    assert (raised.value.line, raised.value.column) == (1, 14 if "*" in call_text else 8)


def test_a_function_that_raises_in_a_job(query: Query, env: TableEnvironment) -> None:
    def reciprocal(x: int) -> float:
        return 1 / (x - 2)

    env.create_temporary_function("reciprocal", udf(reciprocal, result_type="DOUBLE"))
    with pytest.raises(UserFunctionError) as raised:
        query("SELECT reciprocal(id) FROM t")
    text = str(raised.value)
    assert raised.value.code == "PYTHON_FUNCTION_FAILED"
    for word in ("'reciprocal' raised ZeroDivisionError", "test_scalar.py:", "called with (2,)", "operator 'calc'"):
        assert word in text


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: udf(ScalarFunction, result_type="INT"), TypeError, "Create an object of a class"),
        (lambda: udf(5, result_type="INT"), TypeError, "is a callable"),  # type: ignore[call-overload]
        (lambda: udf(len), TypeError, "result_type should be"),
        (lambda: udf(len, result_type="INTEGRE"), TypeError, "not a type"),
        (lambda: udf(len, input_types=5, result_type="INT"), TypeError, "input_types should be"),  # type: ignore[call-overload]
        (lambda: udf(len, result_type="INT", func_type="fast"), ValueError, "general, pandas"),
        (lambda: udf(_Random(), result_type="INT", deterministic=True), ValueError, "is_deterministic"),
        (lambda: udf(_asynchronous, result_type="INT", func_type="pandas"), ValueError, "(?i)async"),
    ],
)
def test_wrong_definitions(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


class _Random(ScalarFunction):
    def eval(self) -> int:
        return 4

    def is_deterministic(self) -> bool:
        return False


async def _asynchronous(x: int) -> int:
    return x


def test_a_function_that_cannot_be_pickled(env: TableEnvironment) -> None:
    lock = threading.Lock()
    env.create_temporary_function("locked", udf(lambda x: lock.locked(), result_type="BOOLEAN"))
    with pytest.raises(PlanError, match=r"PYTHON_FUNCTION.* cannot be sent to workers.*open\(\)"):
        env.explain_sql("SELECT locked(id) FROM t")
