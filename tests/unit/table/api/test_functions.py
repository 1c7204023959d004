"""Python functions in the methods of tables."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import Row
from penstock.errors import SqlValidationError
from penstock.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    Table,
    TableAggregateFunction,
    TableEnvironment,
)
from penstock.table.expressions import call, col, lit
from penstock.table.expressions.windows import Tumble
from penstock.table.udf import udaf, udf, udtaf, udtf

PAIR = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.STRING()), DataTypes.FIELD("b", DataTypes.BIGINT())])
TOTAL = DataTypes.ROW([DataTypes.FIELD("total", DataTypes.BIGINT()), DataTypes.FIELD("n", DataTypes.BIGINT())])


class Total(AggregateFunction[Any, Any]):
    """Sums the first argument, which may be a row."""

    def create_accumulator(self) -> Any:
        return [0, 0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] += args[0].price if isinstance(args[0], Row) else args[0]
        accumulator[1] += 1

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_value(self, accumulator: Any) -> Any:
        return Row(accumulator[0], accumulator[1])

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> Any:
        return TOTAL


class Top2(TableAggregateFunction[Any, Any]):
    """Returns the two greatest values."""

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(args[0])

    def emit_value(self, accumulator: Any) -> Iterator[Row]:
        for place, value in enumerate(sorted(accumulator, reverse=True)[:2]):
            yield Row(value, place)

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("value", DataTypes.BIGINT()), DataTypes.FIELD("place", DataTypes.INT())])


pair = udf(lambda name, price: Row(name.upper(), price * 2), result_type=PAIR)
of_row = udf(lambda row: Row(row.name, row.price + 1), result_type=PAIR)
words = udtf(lambda text: [(w, len(w)) for w in text.split()], result_types=[DataTypes.STRING(), DataTypes.INT()])
total, top2 = udaf(Total()), udtaf(Top2())


@pytest.fixture
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", "local").set_local_timezone("UTC")
    return env


@pytest.fixture
def orders(env: TableEnvironment) -> Table:
    return env.from_elements([("ann", 3, "x yy"), ("bob", 5, ""), ("ann", 7, "z")], ["name", "price", "text"])


def _rows(table: Table) -> list[tuple[Any, ...]]:
    return sorted(table.to_pandas().itertuples(index=False, name=None), key=repr)


def _names(table: Table) -> list[str]:
    return table.get_schema().get_field_names()


def test_map(orders: Table) -> None:
    mapped = orders.map(pair(col("name"), col("price")))
    assert _names(mapped) == ["a", "b"]
    assert _rows(mapped) == [("ANN", 14), ("ANN", 6), ("BOB", 10)]
    assert _names(orders.map(of_row).alias("x", "y")) == ["x", "y"]
    assert _rows(orders.map(of_row)) == [("ann", 4), ("ann", 8), ("bob", 6)]


def test_flat_map(orders: Table) -> None:
    assert _names(orders.flat_map(words(col("text")))) == ["f0", "f1"]
    assert _rows(orders.flat_map(words(col("text"))).alias("w", "n")) == [("x", 1), ("yy", 2), ("z", 1)]


def test_lateral_joins(orders: Table) -> None:
    joined = orders.join_lateral(words(col("text")).alias("w", "n"), col("n") > 1)
    assert _rows(joined.select(col("name"), col("w"))) == [("ann", "yy")]
    outer = orders.left_outer_join_lateral(words(col("text")).alias("w", "n")).select(col("name"), col("w"))
    assert ("bob", None) in _rows(outer)
    with pytest.raises(AttributeError, match="alias"):
        orders.join_lateral(words)


def test_aggregate(orders: Table) -> None:
    groups = orders.group_by(col("name"))
    assert _rows(groups.aggregate(total(col("price"))).select(col("name"), col("total"), col("n"))) == [
        ("ann", 10, 2),
        ("bob", 5, 1),
    ]
    assert _rows(orders.aggregate(total(col("price")).alias("x", "y")).select(col("x") + col("y"))) == [(18,)]
    assert _rows(orders.aggregate(total).select(col("*"))) == [(15, 3)]
    with pytest.raises(SqlValidationError, match="returns 2 columns"):
        groups.aggregate(total(col("price")).alias("x")).select(col("x"))


def test_aggregate_in_windows() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.get_config().set("execution.engine", "local").set_local_timezone("UTC")
    times = [datetime.datetime(2024, 1, 1, 0, 0, second) for second in (1, 4, 12)]
    fields = [DataTypes.FIELD("price", DataTypes.BIGINT()), DataTypes.FIELD("t", DataTypes.TIMESTAMP(3))]
    table = env.from_elements(list(zip((1, 2, 3), times, strict=True)), DataTypes.ROW(fields))
    window = Tumble.over(lit(10).seconds).on(col("t")).alias("w")
    groups = table.window(window).group_by(col("w"))
    found = groups.aggregate(total(col("price"))).select(col("w").end.alias("end"), col("total"))
    assert [(end.second, number) for end, number in _rows(found)] == [(10, 3), (20, 3)]


def test_flat_aggregate(orders: Table) -> None:
    found = orders.group_by(col("name")).flat_aggregate(top2(col("price"))).select(col("name"), col("value"))
    assert _rows(found) == [("ann", 3), ("ann", 7), ("bob", 5)]
    everything = orders.flat_aggregate(top2(col("price")).alias("v", "p")).select(col("v"))
    assert _rows(everything) == [(5,), (7,)]
    with pytest.raises(SqlValidationError, match="udtaf"):
        orders.flat_aggregate(total(col("price"))).select(col("*"))


def test_functions_by_name(env: TableEnvironment, orders: Table) -> None:
    env.create_temporary_function("total", total)
    env.create_temporary_function("words", words)
    found = orders.group_by(col("name")).select(col("name"), call("total", col("price")))
    assert _names(found) == ["name", "EXPR$0"]
    assert _rows(orders.flat_map(call("words", col("text"))).alias("w", "n").select(col("w"))) == [
        ("x",),
        ("yy",),
        ("z",),
    ]
