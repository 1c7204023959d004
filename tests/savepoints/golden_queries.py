"""Queries whose plans and savepoints are stored, to prove that later versions read them.

`python -m tests.savepoints.golden_queries v2` writes those of this version, before a release that changes their format.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from penstock.testing import Harness, PushSource
from penstock.types import Types

FOLDER = Path(__file__).parent
ORDER = Types.ROW_NAMED(["id", "who", "item", "price"], [Types.INT(), Types.STRING(), Types.STRING(), Types.LONG()])
ROWS = [
    (1, "ann", "pen", 10),
    (2, "bob", "cup", 20),
    (3, "ann", "cup", 5),
    (4, "ann", "pen", 100),
    (5, "cat", "cup", 7),
]
CUT = 3  # rows before the savepoint

QUERIES = {
    "groups": "SELECT who, COUNT(*), SUM(price), MAX(price), COUNT(DISTINCT item) FROM orders GROUP BY who",
    "last": "SELECT who, item FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY who ORDER BY id DESC) AS n FROM orders) WHERE n = 1",
    "join": "SELECT a.who, b.id FROM orders AS a JOIN orders AS b ON a.item = b.item AND a.id < b.id",
    "outer": "SELECT a.id, b.id FROM orders AS a LEFT JOIN orders AS b ON a.price = b.price AND a.id <> b.id",
    "nested": "SELECT n, COUNT(*) FROM (SELECT who, COUNT(*) AS n FROM orders GROUP BY who) GROUP BY n",
    "difference": "SELECT who FROM orders EXCEPT SELECT who FROM orders WHERE price > 50",
    "sets": "SELECT who, item, SUM(price) FROM orders GROUP BY GROUPING SETS ((who), (item), ())",
}

_TABLE = (
    "CREATE TABLE orders (id INT, who STRING, item STRING, price BIGINT, `time` AS TO_TIMESTAMP_LTZ(id * 1000, 3), "
    "WATERMARK FOR `time` AS `time` - INTERVAL '1' SECOND) "
    "WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '$FOLDER')"
)
_WINDOWS = {
    "windows": "SELECT who, SUM(price) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(`time`), INTERVAL '2' SECOND)) "
    "GROUP BY who, window_start, window_end",
    "over": "SELECT id, SUM(price) OVER (PARTITION BY who ORDER BY `time` ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders",
    "pattern": "SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY who ORDER BY `time` MEASURES FIRST(A.id) AS a, LAST(B.id) AS b "
    "PATTERN (A B) DEFINE B AS B.price > A.price)",
}


def plans() -> dict[str, str]:
    """Returns the plans of all queries, by name. Folders are named $FOLDER."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(_TABLE)
    found = {}
    for name, query in {**QUERIES, **_WINDOWS}.items():
        columns = ", ".join(f"c{i} {type_}" for i, type_ in enumerate(map(str, _types(env, query))))
        env.execute_sql(f"CREATE TABLE sink_{name} ({columns}) WITH ('connector' = 'print')")
        found[name] = env.compile_plan_sql(f"INSERT INTO sink_{name} {query}").as_json_string()
    return found


def _types(env: TableEnvironment, query: str) -> list[Any]:
    return [field.type.with_nullable(True) for field in env.sql_query(query).relation.row_type.fields]


def harness() -> tuple[Harness, dict[str, Any]]:
    """Returns one job with all queries, and their results."""
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    tables = StreamTableEnvironment.create(env)
    source = env.from_source(PushSource(), source_name="orders", type_info=ORDER).uid("orders")
    tables.create_temporary_view("orders", source)
    streams = {name: tables.to_changelog_stream(tables.sql_query(query)) for name, query in QUERIES.items()}
    job = Harness(env)
    return job, {name: job.collect(stream) for name, stream in streams.items()}


def push(job: Harness, rows: list[tuple[Any, ...]]) -> None:
    """Adds rows."""
    for row in rows:
        job.push(ps.Row(*row))


def net(rows: Any) -> list[list[Any]]:
    """Returns the rows that changes add and remove, with their counts, in a fixed order."""
    counts: Counter[str] = Counter()
    for row in rows:
        sign = 1 if row.get_row_kind().name in ("INSERT", "UPDATE_AFTER") else -1
        counts[json.dumps([None if v is None else v for v in row])] += sign
    return sorted([row, count] for row, count in counts.items() if count)


def write(version: str) -> None:
    """Writes the plans and the savepoint of this version."""
    folder = FOLDER / "plans" / version
    folder.mkdir(parents=True, exist_ok=True)
    for name, plan in plans().items():
        (folder / f"{name}.json").write_text(plan + "\n", encoding="utf-8")
    job, _ = harness()
    push(job, ROWS[:CUT])
    job.savepoint(FOLDER / "queries" / version)
    whole, _ = harness()
    push(whole, ROWS[:CUT])
    rest, results = harness()
    rest.restore(whole.snapshot())
    push(rest, ROWS[CUT:])
    expected = {name: net(rows) for name, rows in results.items()}
    (FOLDER / "queries" / version / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
