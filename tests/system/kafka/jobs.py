"""Kafka sources, jobs and transactions for tests."""

from __future__ import annotations

from typing import Any

from penstock import StreamExecutionEnvironment
from penstock.connectors.kafka import KafkaOffsetsInitializer, KafkaSource, KafkaSourceBuilder
from penstock.connectors.kafka.source import consumers
from penstock.connectors.kafka.source.cluster import Cluster
from penstock.datastream.streams.on_error import OnBadRecord
from penstock.formats.strings import SimpleStringSchema
from penstock.testing import Harness
from tests.servers import Kafka
from tests.waiting import until

LATEST = KafkaOffsetsInitializer.latest()


def builder(kafka: Kafka, *topics: str) -> KafkaSourceBuilder:
    """Returns a builder for a source of strings from the start of topics."""
    source_builder = (
        KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap).set_value_only_deserializer(SimpleStringSchema())
    )
    return source_builder.set_topics(*topics) if topics else source_builder


def read_all(source: KafkaSource, parallelism: int = 2, on_error: OnBadRecord = "fail") -> list[Any]:
    """Reads a source in the harness, one split after the other."""
    env = StreamExecutionEnvironment()
    harness = Harness(env, parallelism=parallelism)
    out = harness.collect(env.from_source(source, on_error=on_error))
    with harness:
        harness.run()
    return list(out)


def read_directly(source: KafkaSource) -> bool:
    """Whether the source read everything directly from brokers and nothing with the client."""
    key = tuple(sorted(source._options.items(), key=lambda item: item[0]))
    readers = consumers._idle[key]
    assert readers
    return all(r.direct is not None and r.direct._paused_until == 0 and not r.positions for r in readers)


def bounded(kafka: Kafka, *topics: str) -> KafkaSource:
    """Returns a source of the current content of the topics."""
    return builder(kafka, *topics).set_bounded(LATEST).build()


def write_transaction(
    kafka: Kafka, topic: str, values: list[str], partition: int = 0, end: str = "commit", name: str | None = None
) -> Any:
    """Writes values in one transaction. `end` is commit, abort or open."""
    from confluent_kafka import Producer

    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": name or kafka.new_name("writer"), "log_level": 0}
    )
    producer.init_transactions(180)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=partition)
    producer.flush(180)
    if end == "commit":
        producer.commit_transaction(180)
    elif end == "abort":
        producer.abort_transaction(180)
    return producer


def wait_until_stable(kafka: Kafka, topic: str) -> None:
    """Waits until all markers of ended transactions are written, so that committed readers see the complete topic."""
    cluster = Cluster({"bootstrap.servers": kafka.bootstrap}, timeout=180)
    partitions = cluster.partitions_of([topic])
    until(lambda: cluster.end_offsets(partitions, committed=True) == cluster.end_offsets(partitions, committed=False))
    cluster.close()


def delete_before(kafka: Kafka, topic: str, partition: int, offset: int) -> None:
    """Deletes records, as retention does."""
    from confluent_kafka import TopicPartition

    for future in kafka.admin.delete_records([TopicPartition(topic, partition, offset)]).values():
        future.result(180)
