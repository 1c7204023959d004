"""SQL from Kafka to Kafka: JSON, metadata columns, upserts with tombstones, and change formats, with a real broker."""

from __future__ import annotations

import json
from typing import Any

from penstock.table import EnvironmentSettings, TableEnvironment
from tests.servers import Kafka

_BOUNDED = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'"


def environment() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {"execution.engine": "local", "parallelism.default": "2", "table.dml-sync": "true"}.items():
        env.get_config().set(key, value)
    return env


def rows(env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    """The rows that are left after all changes, in order."""
    left: list[tuple[Any, ...]] = []
    with env.execute_sql(query).collect() as changes:
        for row in changes:
            values = tuple(row)
            if str(row.get_row_kind()) in ("+I", "+U"):
                left.append(values)
            else:
                left.remove(values)
    return sorted(left, key=repr)


def test_an_aggregate_is_written_by_key_and_read_again(kafka: Kafka) -> None:
    source, target = kafka.create_topic(partitions=2), kafka.create_topic(partitions=2)
    kafka.produce(source, [json.dumps({"name": "abc"[i % 3], "n": i}) for i in range(30)])
    env = environment()
    env.execute_sql(
        f"CREATE TABLE src (name STRING, n INT, place BIGINT METADATA FROM 'offset' VIRTUAL) WITH ('connector' = 'kafka', "
        f"'topic' = '{source}', 'properties.bootstrap.servers' = '{kafka.bootstrap}', 'format' = 'json', {_BOUNDED})"
    )
    env.execute_sql(
        f"CREATE TABLE totals (name STRING, total INT, PRIMARY KEY (name) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', "
        f"'topic' = '{target}', 'properties.bootstrap.servers' = '{kafka.bootstrap}', 'key.format' = 'json', "
        f"'value.format' = 'json', 'scan.bounded.mode' = 'latest-offset')"
    )
    env.execute_sql("INSERT INTO totals SELECT name, SUM(n) FROM src GROUP BY name")
    assert rows(env, "SELECT * FROM totals") == [("a", 135), ("b", 145), ("c", 155)]
    assert rows(env, "SELECT COUNT(*), MIN(place) FROM src") == [(30, 0)]
    # Now a group of the result disappears, and its key gets a tombstone.
    env.execute_sql("INSERT INTO totals SELECT name, total FROM (VALUES ('a', 1)) AS t(name, total)")
    assert rows(env, "SELECT name, total FROM totals WHERE total < 10") == [("a", 1)]


def test_changes_of_a_database_are_aggregated(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=1)
    changes: list[dict[str, Any]] = [
        {"before": None, "after": {"id": 1, "city": "Oslo"}, "op": "c"},
        {"before": None, "after": {"id": 2, "city": "Oslo"}, "op": "c"},
        {"before": {"id": 1, "city": "Oslo"}, "after": {"id": 1, "city": "Rome"}, "op": "u"},
        {"before": {"id": 2, "city": "Oslo"}, "after": None, "op": "d"},
    ]
    kafka.produce(topic, list(map(json.dumps, changes)))
    env = environment()
    env.execute_sql(
        f"CREATE TABLE users (id INT, city STRING) WITH ('connector' = 'kafka', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{kafka.bootstrap}', 'format' = 'debezium-json', {_BOUNDED})"
    )
    assert rows(env, "SELECT city, COUNT(*) FROM users GROUP BY city") == [("Rome", 1)]
