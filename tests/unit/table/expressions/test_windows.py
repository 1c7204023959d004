"""Windows are the nodes that the parser makes of the same SQL."""

from __future__ import annotations

from typing import Any

import pytest
from sqlglot import exp

from penstock.errors import PlanError
from penstock.table.dialect import nodes, parse_query
from penstock.table.expressions import (
    CURRENT_RANGE,
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    col,
    lit,
    row_interval,
)
from penstock.table.expressions.windows import Over, OverWindow, Session, Slide, Tumble


def literals(node: exp.Expr) -> list[Any]:
    """The lengths of time, in milliseconds."""
    return [part.this for part in node.find_all(nodes.TypedLiteral)]


@pytest.mark.parametrize(
    ("window", "name", "lengths"),
    [
        (Tumble.over(lit(10).minutes).on(col("t")).alias("w"), "TUMBLE", [600_000]),
        (Slide.over(lit(10).minutes).every(lit(5).minutes).on(col("t")).alias("w"), "HOP", [300_000, 600_000]),
        (Session.with_gap(lit(1).hour).on(col("t")).alias("w"), "SESSION", [3_600_000]),
    ],
)
def test_group_windows(window: Any, name: str, lengths: list[int]) -> None:
    node = window.node
    assert (node.name, node.expressions[0].name, literals(node)) == (name, "t", lengths)
    assert window.alias == "w"
    assert not window.by_rows


def test_windows_of_rows() -> None:
    assert Tumble.over(row_interval(5)).on(col("p")).alias("w").by_rows


def test_properties_become_calls() -> None:
    window = Tumble.over(lit(10).minutes).on(col("t")).alias("w")
    resolved = window.resolve((col("w").start + lit(1).day).alias("s").node)
    (call,) = resolved.find_all(nodes.Call)
    assert (call.name, call.expressions[0].name) == ("TUMBLE_START", "t")
    other = window.resolve(col("v").end.node)
    assert isinstance(other, nodes.WindowProperty)
    assert window.resolve(col("w").rowtime.node).name == "TUMBLE_ROWTIME"
    assert window.resolve(col("w").proctime.node).name == "TUMBLE_PROCTIME"


def spec(sql: str) -> exp.WindowSpec:
    query = parse_query(f"SELECT SUM(a) OVER w FROM t WINDOW w AS (PARTITION BY b ORDER BY c {sql})")
    found = query.find(exp.WindowSpec)
    assert found is not None
    return found


def frame(window: OverWindow) -> tuple[Any, ...]:
    return bounds(window.node.args["spec"])


def bounds(found: exp.WindowSpec) -> tuple[Any, ...]:
    values = []
    for key in ("start", "end"):
        bound = found.args[key]
        values.append(bound.this if isinstance(bound, exp.Expr) else bound)
    return (found.args["kind"], *values)


BASE = Over.partition_by(col("b")).order_by(col("c"))


@pytest.mark.parametrize(
    ("window", "sql"),
    [
        (BASE.alias("w"), "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
        (BASE.preceding(UNBOUNDED_RANGE).alias("w"), "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
        (BASE.preceding(UNBOUNDED_ROW).alias("w"), "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
        (BASE.preceding(row_interval(2)).following(CURRENT_ROW).alias("w"), "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
        (
            BASE.preceding(UNBOUNDED_RANGE).following(CURRENT_RANGE).alias("w"),
            "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        ),
        (
            BASE.preceding(row_interval(2)).following(row_interval(1)).alias("w"),
            "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
        ),
    ],
)
def test_over_windows(window: OverWindow, sql: str) -> None:
    assert frame(window) == bounds(spec(sql))
    node = window.node
    assert node.this.name == window.alias == "w"
    assert [part.name for part in node.args["partition_by"]] == ["b"]
    assert [(o.this.name, o.args["desc"]) for o in node.args["order"].expressions] == [("c", False)]


def test_over_windows_by_time_and_without_partition() -> None:
    node = Over.order_by(col("c").asc).preceding(lit(10).seconds).alias("w").node
    assert node.args.get("partition_by") is None
    assert node.args["spec"].args["kind"] == "RANGE"
    assert literals(node) == [10_000]


def test_sides_of_different_kinds_are_refused() -> None:
    window = BASE.preceding(row_interval(2)).following(CURRENT_RANGE).alias("w")
    with pytest.raises(PlanError, match="a number of rows on one side"):
        _ = window.node
