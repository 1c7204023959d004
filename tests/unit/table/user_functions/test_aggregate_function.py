"""Aggregate functions in Python: what `udaf` and `udtaf` take, what queries with them are, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.row import Row
from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.expressions import call, col
from penstock.table.user_functions.aggregate_function import AggregateFunction, udaf
from penstock.table.user_functions.table_aggregate_function import TableAggregateFunction, udtaf
from penstock.table.user_functions.views import ListView


class Mean(AggregateFunction[Any, Any]):
    def create_accumulator(self) -> Any:
        return [0, 0]

    def accumulate(self, accumulator: Any, value: Any) -> None:
        accumulator[0] += value
        accumulator[1] += 1

    def retract(self, accumulator: Any, value: Any) -> None:
        accumulator[0] -= value
        accumulator[1] -= 1

    def merge(self, accumulator: Any, accumulators: Sequence[Any]) -> None:
        for total, count in accumulators:
            accumulator[0] += total
            accumulator[1] += count

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def get_result_type(self) -> Any:
        return DataTypes.DOUBLE()

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())


class Joined(AggregateFunction[Any, Any]):
    def create_accumulator(self) -> Any:
        return Row(ListView())

    def accumulate(self, accumulator: Any, text: Any, separator: Any) -> None:
        accumulator[0].add(f"{text}{separator}")

    def get_value(self, accumulator: Any) -> Any:
        return "".join(accumulator[0])


class Two(TableAggregateFunction[Any, Any]):
    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, value: Any) -> None:
        accumulator[:] = sorted([*accumulator, value], reverse=True)[:2]

    def emit_value(self, accumulator: Any) -> Any:
        return accumulator


joined = udaf(
    Joined(),
    input_types=["STRING", "STRING"],
    result_type=DataTypes.STRING(),
    accumulator_type=DataTypes.ROW([DataTypes.FIELD("a", DataTypes.LIST_VIEW(DataTypes.STRING()))]),
)
two = udtaf(Two(), result_type="ROW<best BIGINT>", accumulator_type="ARRAY<BIGINT>")


@udaf(result_type="DOUBLE", func_type="pandas")
def spread(values: Any) -> Any:
    return values.max() - values.min()


def _environment(batch: bool = False) -> TableEnvironment:
    settings = EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    env = TableEnvironment.create(settings)
    for name, function in {"mean": udaf(Mean()), "joined": joined, "spread": spread, "two": two}.items():
        env.create_temporary_function(name, function)
    rows = [("a", 1), ("a", 3), ("b", 5), ("a", 3)]
    env.create_temporary_view(
        "t",
        env.from_elements(
            rows, DataTypes.ROW([DataTypes.FIELD("k", DataTypes.STRING()), DataTypes.FIELD("v", DataTypes.BIGINT())])
        ),
    )
    return env


def _rows(result: Any) -> list[str]:
    with result.collect() as rows:
        return sorted(f"{row.get_row_kind()} {list(row)}" for row in rows)


# -- decorators


def test_types_come_from_the_decorator_or_the_class() -> None:
    function = udaf(Mean())
    assert (str(function.result_type), str(function.accumulator_type)) == ("DOUBLE", "ARRAY<BIGINT>")
    assert str(udaf(Mean(), result_type="FLOAT").result_type) == "FLOAT"
    assert spread.name == "spread"
    assert spread.kind == "aggregate"
    assert two.kind == "table aggregate"


def test_a_callable_needs_pandas() -> None:
    with pytest.raises(TypeError, match="AggregateFunction"):
        udaf(lambda x: x, result_type="INT")
    with pytest.raises(TypeError, match="MAP"):
        udaf(lambda x: x, result_type="MAP<INT, INT>", func_type="pandas")


def test_other_function_types_are_refused() -> None:
    with pytest.raises(ValueError, match="pandas"):
        udaf(Mean(), func_type="arrow")
    with pytest.raises(ValueError, match="general"):
        udtaf(Two(), result_type="INT", accumulator_type="INT", func_type="pandas")


def test_types_must_be_known() -> None:
    with pytest.raises(RuntimeError, match="get_result_type"):
        udaf(Joined(), accumulator_type="INT")
    with pytest.raises(RuntimeError, match="get_accumulator_type"):
        udaf(Joined(), result_type="INT")


# -- queries


def test_groups_with_filter_distinct_and_having() -> None:
    query = (
        "SELECT k, mean(v), mean(DISTINCT v) FILTER (WHERE v > 1), COUNT(*), joined(k, '-') FROM t GROUP BY k "
        "HAVING mean(v) > 1"
    )
    found = _rows(_environment(batch=True).execute_sql(query))
    assert found == ["+I ['a', 2.3333333333333335, 3.0, 3, 'a-a-a-']", "+I ['b', 5.0, 5.0, 1, 'b-']"]


def test_pandas_functions_in_batch_mode() -> None:
    found = _rows(_environment(batch=True).execute_sql("SELECT k, spread(v), SUM(v) FROM t GROUP BY k"))
    assert found == ["+I ['a', 2.0, 7]", "+I ['b', 0.0, 5]"]


def test_functions_of_changelogs() -> None:
    env = _environment()
    with env.execute_sql("SELECT mean(c) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k)").collect() as rows:
        assert list(rows)[-1][0] == 2.0


def test_calls_of_the_table_api() -> None:
    env = _environment(batch=True)
    table = env.from_path("t")
    grouped = table.group_by(col("k")).select(col("k"), call(udaf(Mean()), col("v")), call("joined", col("k"), "+"))
    assert _rows(grouped.execute()) == ["+I ['a', 2.3333333333333335, 'a+a+a+']", "+I ['b', 5.0, 'b+']"]
    flat = table.group_by(col("k")).flat_aggregate(call(two, col("v")).alias("x")).select(col("k"), col("x"))
    assert _rows(flat.execute()) == ["+I ['a', 3]", "+I ['a', 3]", "+I ['b', 5]"]


def test_explain_shows_the_function() -> None:
    text = _environment().explain_sql("SELECT k, mean(v) AS m FROM t GROUP BY k")
    assert "PythonGroupAggregate(groupBy=[k], select=[Mean(v)])" in text
    table = _environment().from_path("t").flat_aggregate(call(two, col("v"))).select(col("best"))
    assert "PythonGroupTableAggregate(select=[Two(v)])" in table.explain()


# -- errors


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        ("SELECT mean(v, v) FROM t", "SQL_FUNCTION", "2 arguments"),
        ("SELECT mean() FROM t", "SQL_FUNCTION", "0 arguments"),
        ("SELECT joined(k) FROM t", "SQL_FUNCTION", "takes 2 arguments"),
        ("SELECT joined(k, v) FROM t", "SQL_TYPE", "BIGINT"),
        ("SELECT mean(*) FROM t", "SQL_TYPE", r"\*"),
        ("SELECT k FROM t WHERE mean(v) > 1", "SQL_AGGREGATE", "WHERE"),
        ("SELECT mean(mean(v)) FROM t", "SQL_AGGREGATE", "nested"),
        ("SELECT mean(v) WITHIN GROUP (ORDER BY v) FROM t", "SQL_AGGREGATE", "ORDER BY"),
        ("SELECT k, mean(v) FROM t", "SQL_GROUP", "'k'"),
        ("SELECT two(v) FROM t", "SQL_FUNCTION", "flat_aggregate"),
        ("SELECT k, spread(v) FROM t GROUP BY k", "SQL_PANDAS_AGGREGATE", "never end"),
        ("SELECT spread(v) OVER (ORDER BY v) FROM t", "SQL_PANDAS_AGGREGATE", "UNBOUNDED"),
        ("SELECT joined(k, 'x') FROM (SELECT k, COUNT(*) FROM t GROUP BY k) AS s", "", ""),
        (
            "SELECT joined(CAST(c AS STRING), 'x') FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) AS s",
            "SQL_RETRACT",
            r"retract\(accumulator",
        ),
    ],
)
def test_queries_that_are_refused(query: str, code: str, text: str) -> None:
    env = _environment()
    if not code:  # the counts are not read, so that nothing is removed
        assert "changelogMode" in env.explain_sql(query)
        return
    with pytest.raises(PenstockError, match=text) as raised:
        env.execute_sql(query)
    assert raised.value.code == code
