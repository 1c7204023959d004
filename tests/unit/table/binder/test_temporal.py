"""Temporal joins: the versioned table must have a key that is joined, and a time."""

from __future__ import annotations

import pytest

from penstock.errors import SqlValidationError
from penstock.table.passes import apply_passes
from penstock.table.relations import Relation, TemporalJoin
from tests.unit.table.binder.memory import MemoryCatalog

_TABLES = (
    "CREATE TABLE b (id INT, cur STRING, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector' = 'x')",
    "CREATE TABLE r (cur STRING, rate INT, ts TIMESTAMP(3), PRIMARY KEY (cur) NOT ENFORCED, WATERMARK FOR ts AS ts) "
    "WITH ('connector' = 'x')",
    "CREATE TABLE keyless (cur STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'x')",
    "CREATE TABLE timeless (cur STRING, rate INT, PRIMARY KEY (cur) NOT ENFORCED) WITH ('connector' = 'x')",
    "CREATE VIEW v AS SELECT cur, rate, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY cur ORDER BY ts DESC) AS rn "
    "FROM keyless) WHERE rn = 1",
)


def find_join(relation: Relation) -> TemporalJoin:
    if isinstance(relation, TemporalJoin):
        return relation
    return find_join(relation.inputs()[0])


@pytest.mark.parametrize("table", ["r", "v"])
def test_times_stay_with_their_columns(table: str) -> None:
    query = (
        f"SELECT b.id, x.rate FROM b LEFT JOIN {table} FOR SYSTEM_TIME AS OF b.ts AS x ON b.cur = x.cur WHERE b.id > 1"
    )
    join = find_join(apply_passes(MemoryCatalog(*_TABLES).query(query)))
    assert join.left.row_type.fields[join.left_time].name == "ts"
    assert join.right.row_type.fields[join.right_time].name == "ts"


def test_a_condition_on_versions_stays_above() -> None:
    query = "SELECT b.id FROM b JOIN r FOR SYSTEM_TIME AS OF b.ts AS x ON b.cur = x.cur WHERE x.rate > 1 AND b.id > 2"
    relation = apply_passes(MemoryCatalog(*_TABLES).query(query))
    assert "rate" in str(getattr(relation, "condition", ""))
    assert "id" in str(getattr(find_join(relation).left, "condition", ""))


@pytest.mark.parametrize(
    ("join", "message"),
    [
        ("JOIN keyless FOR SYSTEM_TIME AS OF b.ts AS x ON b.cur = x.cur", "needs a primary key"),
        ("JOIN timeless FOR SYSTEM_TIME AS OF b.ts AS x ON b.cur = x.cur", "no event-time attribute"),
        ("JOIN r FOR SYSTEM_TIME AS OF b.ts AS x ON b.id = x.rate", r"primary key \(cur\)"),
        ("JOIN r FOR SYSTEM_TIME AS OF b.ts AS x ON b.cur > x.cur", r"primary key \(cur\)"),
        ("JOIN keyless FOR SYSTEM_TIME AS OF b.p AS x ON b.cur = x.cur", "needs a primary key"),
        ("JOIN r FOR SYSTEM_TIME AS OF b.id AS x ON b.cur = x.cur", "needs a time attribute"),
        ("JOIN r FOR SYSTEM_TIME AS OF b.ts - INTERVAL '1' SECOND AS x ON b.cur = x.cur", "needs a time attribute"),
        ("RIGHT JOIN r FOR SYSTEM_TIME AS OF b.ts AS x ON b.cur = x.cur", "LEFT JOIN"),
        ("JOIN r FOR SYSTEM_TIME AS OF b.ts AS x USING (cur)", "needs its condition in ON"),
    ],
)
def test_errors(join: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        MemoryCatalog(*_TABLES).query(f"SELECT * FROM b {join}")


def test_as_of_a_processing_time_means_the_latest_version() -> None:
    query = "SELECT b.id, x.rate FROM b JOIN timeless FOR SYSTEM_TIME AS OF b.p AS x ON b.cur = x.cur"
    join = find_join(apply_passes(MemoryCatalog(*_TABLES).query(query)))
    assert join.right_time == -1
    assert "p" not in [field.name for field in join.left.row_type.fields]
