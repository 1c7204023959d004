"""Sources, jobs and transactions to test with."""

from __future__ import annotations

from typing import Any

from penstock import StreamExecutionEnvironment
from penstock.connectors.kafka import KafkaOffsetsInitializer, KafkaSource, KafkaSourceBuilder, consumers
from penstock.datastream.on_error import OnBadRecord
from penstock.formats.strings import SimpleStringSchema
from penstock.testing import Harness
from tests.servers import Kafka

LATEST = KafkaOffsetsInitializer.latest()


def builder(kafka: Kafka, *topics: str) -> KafkaSourceBuilder:
    """A source of strings from the beginnings of topics."""
    made = (
        KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap).set_value_only_deserializer(SimpleStringSchema())
    )
    return made.set_topics(*topics) if topics else made


def read_all(source: KafkaSource, parallelism: int = 2, on_error: OnBadRecord = "fail") -> list[Any]:
    """What a source gives, in the harness; its splits one after the other."""
    env = StreamExecutionEnvironment()
    harness = Harness(env, parallelism=parallelism)
    out = harness.collect(env.from_source(source, on_error=on_error))
    with harness:
        harness.run()
    return list(out)


def read_straight(source: KafkaSource) -> bool:
    """Whether all that this source's readers gave came straight from brokers, and none of it by the client."""
    key = tuple(sorted(source._options.items(), key=lambda item: item[0]))
    readers = consumers._waiting[key]
    assert readers
    return all(r.direct is not None and r.direct._rests_until == 0 and not r.at for r in readers)


def bounded(kafka: Kafka, *topics: str) -> KafkaSource:
    """The topics as they are now."""
    return builder(kafka, *topics).set_bounded(LATEST).build()


def write_transaction(
    kafka: Kafka, topic: str, values: list[str], partition: int = 0, end: str = "commit", name: str | None = None
) -> Any:
    """Writes values in a transaction of their own: `end` is commit, abort, or open."""
    from confluent_kafka import Producer

    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": name or kafka.new_name("writer"), "log_level": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=partition)
    producer.flush(30)
    if end == "commit":
        producer.commit_transaction(30)
    elif end == "abort":
        producer.abort_transaction(30)
    return producer


def delete_before(kafka: Kafka, topic: str, partition: int, offset: int) -> None:
    """What retention does."""
    from confluent_kafka import TopicPartition

    for future in kafka.admin.delete_records([TopicPartition(topic, partition, offset)]).values():
        future.result(30)
