"""Joins whose rows can match for a limited time only are recognised."""

from __future__ import annotations

import pytest

from penstock.table.passes import apply_passes
from penstock.table.passes.join_times import interval_bounds
from penstock.table.relations import Join, Relation, WindowAggregate
from tests.unit.table.binder.memory import MemoryCatalog

_TABLES = tuple(
    f"CREATE TABLE {name} (id INT, k STRING, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector' = 'x')"
    for name in "ab"
)
_WINDOWS = tuple(
    f"CREATE VIEW {name}w AS SELECT * FROM TABLE(TUMBLE(TABLE {name}, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
    for name in "ab"
)
_SAME_WINDOW = "aw.window_start = bw.window_start AND aw.window_end = bw.window_end"


def planned(query: str) -> Relation:
    return apply_passes(MemoryCatalog(*_TABLES, *_WINDOWS).query(query))


def find_join(relation: Relation) -> Join:
    return relation if isinstance(relation, Join) else find_join(relation.inputs()[0])


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [
        ("a.ts BETWEEN b.ts - INTERVAL '5' SECOND AND b.ts + INTERVAL '1' SECOND", (-5000, 1000, True)),
        ("b.ts BETWEEN a.ts AND a.ts + INTERVAL '10' SECOND", (-10000, 0, True)),
        ("a.ts > b.ts - INTERVAL '5' SECOND AND a.ts < b.ts", (-4999, -1, True)),
        ("a.ts + INTERVAL '2' SECOND >= b.ts AND b.ts + INTERVAL '3' SECOND >= a.ts", (-2000, 3000, True)),
        ("a.ts = b.ts", (0, 0, True)),
        ("a.p BETWEEN b.p - INTERVAL '5' SECOND AND b.p", (-5000, 0, False)),
        ("a.ts >= b.ts", None),
        ("a.ts > b.ts AND a.ts < b.ts", None),
        ("a.ts >= b.ts AND a.p <= b.p", None),
    ],
)
def test_bounds_of_interval_joins(condition: str, bounds: tuple[int, int, bool] | None) -> None:
    join = find_join(planned(f"SELECT a.id, b.id AS other FROM a JOIN b ON a.k = b.k AND {condition}"))
    found = interval_bounds(join)
    assert join.times == ("" if bounds is None else "interval")
    assert (None if found is None else (found.lower, found.upper, found.event_time)) == bounds


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT aw.id FROM aw JOIN bw ON aw.k = bw.k AND {_SAME_WINDOW}",
        f"SELECT aw.id FROM aw, bw WHERE aw.k = bw.k AND {_SAME_WINDOW}",
        f"SELECT aw.id FROM aw FULL JOIN bw ON {_SAME_WINDOW}",
        f"SELECT id FROM aw WHERE EXISTS (SELECT * FROM bw WHERE aw.k = bw.k AND {_SAME_WINDOW})",
        f"SELECT id FROM aw WHERE NOT EXISTS (SELECT * FROM bw WHERE aw.k = bw.k AND {_SAME_WINDOW})",
    ],
)
def test_window_joins(query: str) -> None:
    assert find_join(planned(query)).times == "window"


def test_half_of_the_window_is_not_enough() -> None:
    join = find_join(planned("SELECT aw.id FROM aw JOIN bw ON aw.k = bw.k AND aw.window_start = bw.window_start"))
    assert join.times == ""


def test_windows_can_be_aggregated_after_a_window_join() -> None:
    relation = planned(
        f"SELECT aw.window_start, aw.window_end, COUNT(*) AS n FROM aw JOIN bw ON aw.k = bw.k AND {_SAME_WINDOW} "
        "GROUP BY aw.window_start, aw.window_end"
    )
    while not isinstance(relation, WindowAggregate):
        relation = relation.inputs()[0]
    assert find_join(relation).times == "window"
