"""Sinks that write by primary key have the rows of the query and no others, also when an update leads out of the result."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.connectors import Step
from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.nodes import OperatorNode, SinkNode
from penstock.runtime.relational.specs.operators import UpsertMaterializeSpec
from penstock.table.environment.stream_environment import StreamTableEnvironment
from penstock.testing import Harness
from tests.conformance.scripted_tables import scripted_tables

_SALES = "sales (id INT, item STRING, price INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'scripted')"
_CHANGES = [
    ("+I", (1, "pear", 5)),
    ("+I", (2, "pear", 3)),
    ("+I", (3, "fig", 4)),
    ("-U", (2, "pear", 3)),
    ("+U", (2, "fig", 9)),
    ("-U", (2, "fig", 9)),
    ("+U", (2, "fig", 1)),
]


def _job(query: str, columns: str, batches: list[list[Any]]) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment()
    tables = StreamTableEnvironment.create(env)
    steps = [*(Step({"0": batch}) for batch in batches), Step({"0": []}, end=True)]
    with scripted_tables({"sales": steps}, {"sales": "retract"}, retracts=False):
        tables.execute_sql(f"CREATE TABLE {_SALES}")
        tables.execute_sql(f"CREATE TABLE best ({columns}) WITH ('connector' = 'scripted')")
        statements = tables.create_statement_set()
        statements.add_insert_sql(f"INSERT INTO best {query}")
        statements.attach_as_datastream()
    return env


def _written(env: StreamExecutionEnvironment) -> dict[Any, Any]:
    """The table that a sink has which knows no -U."""
    [sink] = [n for n in env.nodes() if isinstance(n, SinkNode)]
    harness = Harness(env, parallelism=2, max_parallelism=8)
    harness.run()
    found = {}
    for (kind, (key, *rest)), _ in harness.sink(sink.uid).take():
        assert kind != "-U"
        found[key] = rest
        if kind == "-D":
            del found[key]
    harness.close()
    return found


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize(
    ("query", "columns", "rows"),
    [
        (
            "SELECT item, COUNT(*) FROM sales GROUP BY item HAVING COUNT(*) > 1",
            "item STRING, n BIGINT, PRIMARY KEY (item) NOT ENFORCED",
            {"fig": [2]},
        ),
        (
            "SELECT id, price FROM sales WHERE price > 3",
            "id INT, p INT, PRIMARY KEY (id) NOT ENFORCED",
            {1: [5], 3: [4]},
        ),
        (
            "SELECT price, item FROM sales",
            "p INT, i STRING, PRIMARY KEY (p) NOT ENFORCED",
            {5: ["pear"], 4: ["fig"], 1: ["fig"]},
        ),
    ],
    ids=["having", "where", "another key"],
)
def test_a_row_that_leaves_the_result_is_deleted(query: str, columns: str, rows: dict[Any, Any], size: int) -> None:
    batches = [_CHANGES[at : at + size] for at in range(0, len(_CHANGES), size)]
    assert _written(_job(query, columns, batches)) == rows


@pytest.mark.parametrize(("partition", "materialized"), [("PARTITION BY item", 1), ("PARTITION BY id", 0), ("", 0)])
def test_a_key_that_moves_between_partitions_is_put_in_order(partition: str, materialized: int) -> None:
    """Two slots emit the old and the new row of a key, in any order, if the key does not contain the partition."""
    ranked = f"SELECT *, ROW_NUMBER() OVER ({partition} ORDER BY price) AS n FROM sales"
    query = f"SELECT id, item FROM ({ranked}) WHERE n <= 2"
    env = _job(query, "id INT, item STRING, PRIMARY KEY (id) NOT ENFORCED", [])
    specs = [node.spec.spec for node in env.nodes() if isinstance(node, OperatorNode)]
    assert sum(isinstance(spec, UpsertMaterializeSpec) for spec in specs) == materialized
