"""Named aggregates in window jobs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PlanError, UserFunctionError
from penstock.functions import (
    NamedAggregate,
    NamedAggregates,
    WindowResult,
    avg_of,
    count,
    max_of,
    min_of,
    sum_of,
)
from penstock.row import Row
from penstock.testing import At, Harness, PushSource
from penstock.windows import CountTrigger, TumblingEventTimeWindows


class Sale(msgspec.Struct):
    shop: str
    price: int


SALES = [("a", 3), ("b", 4), ("a", 5)]


def results(build: Any, elements: Any = SALES, key: Any = lambda e: e[0]) -> list[Any]:
    env = StreamExecutionEnvironment()
    harness = Harness(env)
    windows = env.from_source(PushSource()).key_by(key).window(TumblingEventTimeWindows.of(10))
    out = harness.collect(build(windows))
    harness.push_all([At(e, 1) for e in elements])
    harness.push_watermark(20)
    return sorted(out, key=repr)


def test_count_and_avg_include_the_window() -> None:
    assert results(lambda w: w.count()) == [WindowResult("a", 0, 10, 2), WindowResult("b", 0, 10, 1)]
    assert results(lambda w: w.avg(1)) == [WindowResult("a", 0, 10, 4.0), WindowResult("b", 0, 10, 4.0)]


def test_several_aggregates_return_rows() -> None:
    rows = results(lambda w: w.aggregates(n=count(), most=max_of(1)))
    assert rows == [
        Row(key="a", window_start=0, window_end=10, n=2, most=5),
        Row(key="b", window_start=0, window_end=10, n=1, most=4),
    ]


def test_aggregate_accepts_named_aggregates() -> None:
    assert results(lambda w: w.aggregate(sum_of(1))) == [4, 8]
    assert results(lambda w: w.aggregate(NamedAggregates(least=min_of(1)))) == [Row(least=3), Row(least=4)]
    assert results(lambda w: w.trigger(CountTrigger.of(2)).aggregate(sum_of(1))) == [8]


def test_sum_min_and_max_return_elements_as_in_flink() -> None:
    assert results(lambda w: w.sum(1)) == [("a", 8), ("b", 4)]
    assert results(lambda w: w.max(1)) == [("a", 5), ("b", 4)]
    assert results(lambda w: w.min_by(1)) == [("a", 3), ("b", 4)]


@pytest.mark.parametrize(
    ("elements", "field"),
    [
        ([Sale("a", 3), Sale("a", 5)], "price"),
        ([Sale("a", 3), Sale("a", 5)], 1),
        ([{"shop": "a", "price": 3}, {"shop": "a", "price": 5}], "price"),
        ([Row(shop="a", price=3), Row(shop="a", price=5)], "price"),
        ([("a", 3), ["a", 5]], 1),
        ([3, 5], None),
        ([3, 5], 0),
        ([3, 5], lambda e: e),
    ],
)
def test_fields_of_different_types(elements: list[Any], field: Any) -> None:
    assert results(lambda w: w.aggregate(sum_of(field)), elements, lambda e: "a") == [8]


def test_a_missing_field_is_reported_with_the_element() -> None:
    with pytest.raises(UserFunctionError, match="cost") as raised:
        results(lambda w: w.aggregate(sum_of("cost")), [Sale("a", 3)], lambda e: e.shop)
    assert "Sale(shop='a', price=3)" in str(raised.value)


def test_invalid_arguments() -> None:
    with pytest.raises(PlanError, match="AGGREGATE_NAME"):
        NamedAggregate("median")
    with pytest.raises(PlanError, match="FIELD_POSITION"):
        sum_of(1.5)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="NAMED_AGGREGATES"):
        NamedAggregates()
    with pytest.raises(PlanError, match="NAMED_AGGREGATES"):
        NamedAggregates(n=max)  # type: ignore[arg-type]


def test_average_of_a_field_is_not_rounded() -> None:
    assert results(lambda w: w.aggregate(avg_of(1)), [("a", 1), ("a", 2)]) == [1.5]
