"""ON CONFLICT decides what a sink does with several rows of one primary key."""

from __future__ import annotations

import pytest

from penstock.datastream.environment import StreamExecutionEnvironment
from penstock.plan.nodes import OperatorNode
from penstock.runtime.relational.specs.operators import UpsertMaterializeSpec
from penstock.table import StreamTableEnvironment


def _materialized(query: str) -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    tables = StreamTableEnvironment.create(env)
    tables.execute_sql("CREATE TABLE bids (auction INT, price INT) WITH ('connector' = 'datagen')")
    tables.execute_sql(
        "CREATE TABLE best (auction INT, price INT, PRIMARY KEY (auction) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', "
        "'topic' = 't', 'properties.bootstrap.servers' = 'localhost:1', 'key.format' = 'json', 'value.format' = 'json')"
    )
    statements = tables.create_statement_set()
    statements.add_insert_sql(f"INSERT INTO best {query}")
    statements.attach_as_datastream()
    specs = [node.spec.spec for node in env.nodes() if isinstance(node, OperatorNode)]
    return [spec.conflict for spec in specs if isinstance(spec, UpsertMaterializeSpec)]


@pytest.mark.parametrize("conflict", ["error", "nothing", "deduplicate"])
@pytest.mark.parametrize(
    "query", ["SELECT auction, price FROM bids", "SELECT MAX(auction), price FROM bids GROUP BY price"]
)
def test_the_choice_reaches_the_operator(query: str, conflict: str) -> None:
    assert _materialized(f"{query} ON CONFLICT DO {conflict.upper()}") == [conflict]


def test_without_a_choice_the_newest_row_is_written() -> None:
    assert _materialized("SELECT MAX(auction), price FROM bids GROUP BY price") == ["deduplicate"]
    assert _materialized("SELECT auction, price FROM bids") == []


def test_a_query_with_the_key_of_the_table_has_no_conflicts() -> None:
    assert _materialized("SELECT auction, MAX(price) FROM bids GROUP BY auction ON CONFLICT DO ERROR") == []
