"""Ids of operators: what changes them, and what does not."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.plan.nodes import OperatorNode, RelationalSpec
from penstock.table import StreamTableEnvironment

_TABLE = (
    "CREATE TABLE {name} ({columns}, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
    "WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
)
BASE = "SELECT a, COUNT(*) FROM t GROUP BY a"


def ids(query: str, columns: str = "a INT, b STRING, c BIGINT") -> list[str]:
    env = ps.StreamExecutionEnvironment()
    tables = StreamTableEnvironment.create(env)
    for name in ("t", "u"):
        tables.execute_sql(_TABLE.format(name=name, columns=columns))
    tables.to_changelog_stream(tables.sql_query(query))
    return [n.uid for n in env.nodes() if isinstance(n, OperatorNode) and isinstance(n.spec, RelationalSpec)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x.a AS k, COUNT(*) AS n FROM t AS x GROUP BY x.a",
        "SELECT COUNT(*), SUM(c), a FROM t GROUP BY a",
        "SELECT a FROM (SELECT c, b, a FROM t) GROUP BY a HAVING COUNT(*) > 1",
        "WITH q AS (SELECT b, a AS z FROM t) SELECT z, MAX(b) FROM q GROUP BY z",
        "SELECT /*+ STATE_TTL('t' = '1 d') */ a, COUNT(*) FROM t GROUP BY a",
        "SELECT DISTINCT a FROM t",
    ],
)
def test_the_same_state_has_the_same_id(query: str) -> None:
    assert ids(query) == ids(BASE)


def test_columns_of_the_table_may_move_and_widen() -> None:
    assert ids(BASE, "c BIGINT, d INT, b STRING, a BIGINT") == ids(BASE)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT b, COUNT(*) FROM t GROUP BY b",
        "SELECT a, COUNT(*) FROM u GROUP BY a",
        "SELECT a, COUNT(*) FROM t WHERE c > 1 GROUP BY a",
        "SELECT a, b, COUNT(*) FROM t GROUP BY a, b",
        "SELECT a + 1, COUNT(*) FROM t GROUP BY a + 1",
    ],
)
def test_other_state_has_another_id(query: str) -> None:
    assert ids(query) != ids(BASE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a, b FROM t GROUP BY a, b", "SELECT b, a FROM t GROUP BY b, a"),
        ("SELECT a FROM t WHERE c > 1 AND b = 'x' GROUP BY a", "SELECT a FROM t WHERE 'x' = b AND c > 1 GROUP BY a"),
        ("SELECT l.b FROM t l JOIN u r ON l.a = r.a", "SELECT r.c, l.b FROM t AS l JOIN u AS r ON r.a = l.a"),
        ("SELECT a FROM t UNION SELECT a FROM u", "SELECT a FROM u UNION SELECT a FROM t"),
    ],
)
def test_the_order_means_nothing(one: str, other: str) -> None:
    assert ids(one) == ids(other)


def test_a_query_names_its_state() -> None:
    assert ids("SELECT /*+ UID('mine') */ a, COUNT(*) FROM t GROUP BY a") == ["mine-group-aggregate"]
