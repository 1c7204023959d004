"""A query reads each table once, with the columns that any part of it uses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from penstock.connectors import Step
from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.nodes import SinkNode, SourceNode
from penstock.table.connectors.interface import ChangelogMode
from penstock.table.environment.stream_environment import StreamTableEnvironment
from penstock.testing import Harness
from tests.conformance.scripted_tables import scripted_tables

_SALES = "sales (id INT, item STRING, price INT{key}) WITH ('connector' = 'scripted')"
_ROWS = [("+I", (1, "pear", 5)), ("+I", (2, "pear", 3)), ("+I", (3, "fig", 4)), ("+I", (4, "pear", 9))]
_JOIN = "SELECT a.id, b.price FROM sales AS a JOIN sales AS b ON a.item = b.item AND b.id > a.id"
_PAIRS = {(1, 3): 1, (1, 9): 1, (2, 9): 1}


def _env(
    *queries: str, key: str = "", mode: ChangelogMode = "append", settings: dict[str, str] | None = None, size: int = 1
) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment()
    tables = StreamTableEnvironment.create(env)
    for name, value in (settings or {}).items():
        tables.get_config().set(name, value)
    steps = [Step({"0": _ROWS[at : at + size]}) for at in range(0, len(_ROWS), size)]
    with scripted_tables({"sales": [*steps, Step({"0": []}, end=True)]}, {"sales": mode}, retracts=True):
        tables.execute_sql(f"CREATE TABLE {_SALES.format(key=key)}")
        tables.execute_sql("CREATE TABLE pairs (a INT, b INT) WITH ('connector' = 'scripted')")
        statements = tables.create_statement_set()
        for query in queries:
            statements.add_insert_sql(f"INSERT INTO pairs {query}")
        statements.attach_as_datastream()
    return env


def _sources(env: StreamExecutionEnvironment) -> int:
    return sum(isinstance(node, SourceNode) for node in env.nodes())


def _rows(env: StreamExecutionEnvironment) -> dict[Any, int]:
    [sink] = [node for node in env.nodes() if isinstance(node, SinkNode)]
    harness = Harness(env, parallelism=2, max_parallelism=8)
    harness.run()
    found: Counter[Any] = Counter()
    for (kind, row), _ in harness.sink(sink.uid).take():
        found[tuple(row)] += 1 if kind in ("+I", "+U") else -1
    harness.close()
    return {row: count for row, count in found.items() if count}


@pytest.mark.parametrize("size", [1, 4])
def test_a_join_of_a_table_with_itself_reads_it_once(size: int) -> None:
    env = _env(_JOIN, size=size)
    assert _sources(env) == 1
    assert _rows(env) == _PAIRS


def test_the_option_of_flink_turns_it_off() -> None:
    env = _env(_JOIN, settings={"table.optimizer.reuse-source-enabled": "false"})
    assert _sources(env) == 2
    assert _rows(env) == _PAIRS


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT id, price FROM sales WHERE price > 4 UNION ALL SELECT price, id FROM sales WHERE price < 4", 3),
        ("SELECT id, 0 FROM sales WHERE item IN (SELECT item FROM sales WHERE price = 4)", 1),
        ("SELECT id, id FROM sales UNION ALL SELECT 1, CAST(COUNT(*) AS INT) FROM sales", 5),
    ],
)
def test_parts_use_other_columns(query: str, rows: int) -> None:
    env = _env(query)
    assert _sources(env) == 1
    assert sum(_rows(env).values()) == rows


def test_a_part_with_other_options_reads_the_table_again() -> None:
    hint = "/*+ OPTIONS('scan.watermark.emit.strategy' = 'on-event') */"
    assert _sources(_env(f"SELECT id, id FROM sales UNION ALL SELECT id, price FROM sales {hint}")) == 2


def test_a_table_whose_rows_are_state_is_read_by_each_part() -> None:
    env = _env(_JOIN, key=", PRIMARY KEY (id) NOT ENFORCED", mode="upsert")
    assert _sources(env) == 2
    assert _rows(env) == _PAIRS


def test_each_query_of_a_statement_set_reads_its_tables() -> None:
    """So a query can be added or removed without a change of what the others have read."""
    assert _sources(_env("SELECT id, price FROM sales", "SELECT price, id FROM sales")) == 2
