"""Rows of joins that can be dropped, because no later window can match them."""

from __future__ import annotations

import pytest

from penstock.table.passes import apply_passes
from penstock.table.passes.join_expiry import row_expiry
from penstock.table.relations import Join, Relation
from tests.unit.table.binder.memory import MemoryCatalog

_TABLES = (
    "CREATE TABLE a (id INT, ts TIMESTAMP(3), other TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'x')",
    "CREATE VIEW w AS SELECT COUNT(*) AS n, window_start AS s, window_end AS e FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), "
    "INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
)


def find_join(relation: Relation) -> Join:
    return relation if isinstance(relation, Join) else find_join(relation.inputs()[0])


@pytest.mark.parametrize(
    ("condition", "column", "distance"),
    [
        ("a.ts BETWEEN w.e - INTERVAL '10' SECOND AND w.e", "ts", 10_000),
        ("w.e <= a.other + INTERVAL '1' SECOND", "other", 1000),
        ("a.ts > w.s", "ts", 10_000),
        ("a.ts = w.e", "ts", 0),
        ("a.ts < w.e", None, 0),
        ("a.ts >= w.e - INTERVAL '1' SECOND AND a.ts >= w.e - INTERVAL '5' SECOND", "ts", 1000),
    ],
)
def test_bounds_of_windows(condition: str, column: str | None, distance: int) -> None:
    query = f"SELECT a.id, a.ts, a.other, w.n, w.s, w.e FROM a JOIN w ON a.id = w.n AND {condition}"
    join = find_join(apply_passes(MemoryCatalog(*_TABLES).query(query)))
    left, right = row_expiry(join)
    assert right is None
    if column is None:
        assert left is None
    else:
        assert left is not None
        assert (join.left.row_type.fields[left[0]].name, left[1]) == (column, distance)


def test_late_rows_of_tables_are_joined() -> None:
    query = "SELECT a.id FROM a JOIN a AS b ON a.id = b.id AND a.ts >= b.ts - INTERVAL '1' SECOND"
    assert row_expiry(find_join(apply_passes(MemoryCatalog(*_TABLES).query(query)))) == (None, None)
