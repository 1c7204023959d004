"""Results of single functions, as Flink returns them."""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np
import pytest

from penstock.errors import ExpressionError, PlanError
from penstock.runtime.relational.aggregates.accumulators import AggregateSet
from penstock.runtime.relational.expressions.values import to_values
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.types.logical.kinds import LogicalType
from penstock.types.logical.text import parse_type
from tests.unit.runtime.relational.aggregates.aggregate_model import call
from tests.unit.runtime.relational.driver import to_changes

D = decimal.Decimal


def result(function: str, types: list[str], rows: list[Any], insert_only: bool = True, **more: Any) -> Any:
    """Returns the result of a call over all columns, for rows of one group."""
    given: list[LogicalType] = [parse_type(t) for t in types]
    one = call(function, *range(len(given)), types=given, **more)
    aggregates = AggregateSet([one], given, insert_only)
    groups = aggregates.create(1)
    aggregates.accumulate(groups, np.zeros(len(rows), np.int64), to_changes(rows, given))
    return to_values(aggregates.results(groups)[0], one.type)[0]


def column(*values: Any) -> list[tuple[Any]]:
    return [(v,) for v in values]


@pytest.mark.parametrize(
    ("function", "type_", "values", "expected"),
    [
        ("SUM", "INT", [2_000_000_010, 2_000_000_005], -294_967_281),
        ("AVG", "INT", [2_000_000_010, 2_000_000_005], 2_000_000_007),
        ("SUM", "TINYINT", [100, 100], -56),
        ("SUM", "BIGINT", [2**63 - 1, 1], -(2**63)),
        ("AVG", "INT", [-7, 2], -2),
        ("SUM0", "INT", [], 0),
        ("SUM", "DOUBLE", [], None),
        ("SUM", "FLOAT", [1e8, 1.100000023841858, 2.200000047683716], 1e8),
        ("SUM", "DOUBLE", [0.1, 0.2, 0.3], 0.1 + 0.2 + 0.3),
        ("SUM", "DECIMAL(8, 2)", [D("1.10"), D("2.25")], D("3.35")),
        ("AVG", "DECIMAL(8, 2)", [D("17.40"), *[D(0)] * 6], D("2.485714")),
        ("SUM", "DECIMAL(38, 0)", [D(10**38 - 1), D(1)], None),
        ("AVG", "DECIMAL(38, 0)", [D(10**38 - 1), D(1)], None),
        ("SUM", "DECIMAL(38, 0)", [D(-(10**37)), D(10**37 - 5), None], D(-5)),
        ("VAR_POP", "DOUBLE", [1.5, 2.5, -7.25, 9.0], 33.44921875),
        ("STDDEV_SAMP", "DOUBLE", [1.5, 2.5, -7.25, 9.0], 6.6782451537311305),
        ("VAR_SAMP", "DECIMAL(8, 2)", [D("1.10"), D("2.25")], D("0.661250")),
        ("STDDEV_SAMP", "DECIMAL(8, 2)", [D("1.10"), D("2.25")], D("0.813173")),
        ("STDDEV", "INT", [5], None),
        ("MAX", "DOUBLE", [1.0, math.nan, 2.0], 2.0),
        ("MIN", "TIMESTAMP(3)", [5_000_000, 3_000_000], 3_000_000),
        ("MAX", "DATE", [5, None, 7], 7),
        ("MAX", "BOOLEAN", [False, True], True),
        ("LISTAGG", "STRING", ["a", None, "b"], "a,b"),
        ("LISTAGG", "STRING", [None], None),
        ("ARRAY_AGG", "INT", [3, None, 1], [3, None, 1]),
        ("ARRAY_AGG", "ARRAY<INT>", [[1], []], [[1], []]),
        ("COLLECT", "STRING", ["x", "y", "x", None], [("x", 2), ("y", 1)]),
        ("COLLECT", "ROW<a INT>", [(1,), (1,)], [((1,), 2)]),
        ("JSON_ARRAYAGG", "DOUBLE", [1.5, None, 9.0], "[1.5,9.0]"),
        ("JSON_ARRAYAGG", "TIMESTAMP(0)", [1_577_836_800_000_000_000], '["2020-01-01T00:00:00"]'),
        ("APPROX_COUNT_DISTINCT", "INT", [3, 1, 5, 3, None], 3),
        ("BITMAP_BUILD_AGG", "INT", [3, 1, 3, -1], [1, 3, 2**32 - 1]),
        ("BITMAP_BUILD_CARDINALITY_AGG", "INT", [None], None),
        ("BITMAP_AND_AGG", "BITMAP", [[1, 2, 3], [2, 3, 4], [3, 9]], [3]),
        ("BITMAP_OR_AGG", "BITMAP", [[1, 2, 3], [2, 3, 4], [3, 9]], [1, 2, 3, 4, 9]),
        ("BITMAP_XOR_AGG", "BITMAP", [[1, 2, 3], [2, 3, 4], [3, 9]], [1, 3, 4, 9]),
        ("BITMAP_XOR_CARDINALITY_AGG", "BITMAP", [[1, 2, 3], [2, 3, 4], [3, 9]], 4),
    ],
)
@pytest.mark.parametrize("insert_only", [True, False])
def test_results(function: str, type_: str, values: list[Any], expected: Any, insert_only: bool) -> None:
    if insert_only or not any(isinstance(v, float) and math.isnan(v) for v in values):
        assert result(function, [type_], column(*values), insert_only) == expected


def test_nan_is_the_extreme_only_if_it_is_first() -> None:
    assert math.isnan(result("MAX", ["DOUBLE"], column(math.nan, 1.0)))
    assert math.isnan(result("MIN", ["DOUBLE"], column(math.nan, 1.0)))
    assert result("MIN", ["DOUBLE"], column(1.0, math.nan)) == 1.0


def test_count_of_several_arguments() -> None:
    assert result("COUNT", ["INT", "STRING"], [(1, "a"), (None, "a"), (1, None), (2, "b")]) == 2


def test_null_options() -> None:
    rows = column(3, None)
    assert result("JSON_ARRAYAGG", ["INT"], rows, options=("NULL ON NULL",)) == "[3,null]"
    assert result("ARRAY_AGG", ["INT"], rows, ignore_nulls=True) == [3]
    pairs = [("x", None), ("y", 1)]
    assert result("JSON_OBJECTAGG", ["STRING", "INT"], pairs) == '{"x":null,"y":1}'
    assert result("JSON_OBJECTAGG", ["STRING", "INT"], pairs, options=("ABSENT ON NULL",)) == '{"y":1}'


def test_json_object_of_a_changelog() -> None:
    rows = [("a", 3), ("b", 1), ("-U", ("a", 3)), ("+U", ("a", 6))]
    assert result("JSON_OBJECTAGG", ["STRING", "INT"], rows, insert_only=False) == '{"a":6,"b":1}'
    with pytest.raises(ExpressionError, match="second row with the key 'a'"):
        result("JSON_OBJECTAGG", ["STRING", "INT"], [("a", 1), ("a", 2)])


def test_percentiles() -> None:
    numbers = [3, 1, None, 5, 3]
    assert result("PERCENTILE", ["INT", "DOUBLE NOT NULL"], [(n, 0.5) for n in numbers]) == 3.0
    several = "ARRAY<DOUBLE NOT NULL> NOT NULL"
    assert result("PERCENTILE", ["INT", several], [(n, [0.25, 0.9]) for n in numbers]) == [2.5, 4.4]
    weighted = [(1.5, 0.3, 3), (2.5, 0.3, 1), (-7.25, 0.3, 5), (9.0, 0.3, 3)]
    assert result("PERCENTILE", ["DOUBLE", "DOUBLE NOT NULL", "INT"], weighted) == -7.25
    removed = [(3, 0.5), (1, 0.5), ("-D", (1, 0.5))]
    assert result("PERCENTILE", ["INT", "DOUBLE NOT NULL"], removed, insert_only=False) == 3.0
    with pytest.raises(ExpressionError, match="from 0 to 1"):
        result("PERCENTILE", ["INT", "DOUBLE NOT NULL"], [(1, 1.5)])


def test_first_and_last_value_of_a_changelog() -> None:
    rows = [(3,), (1,), ("-U", (1,)), ("+U", (6,)), ("-U", (3,)), ("+U", (7,))]
    assert result("FIRST_VALUE", ["INT"], rows, insert_only=False) == 6
    assert result("LAST_VALUE", ["INT"], rows, insert_only=False) == 7


def test_distinct_of_equal_floats() -> None:
    assert result("COUNT", ["DOUBLE"], column(0.0, -0.0, math.nan, math.nan), distinct=True) == 2


def test_functions_of_over_have_no_accumulators() -> None:
    with pytest.raises(PlanError, match="ROW_NUMBER"):
        AggregateSet([AggregateCall("ROW_NUMBER", (), (), parse_type("BIGINT"))], [])
