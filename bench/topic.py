"""Writes generated messages to a topic of Kafka."""

from __future__ import annotations

from collections.abc import Iterable


def write_topic(bootstrap: str, topic: str, partitions: int, messages: Iterable[bytes]) -> None:
    """Creates a topic and writes messages to its partitions in turn, with one producer."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": 500_000,
            "queue.buffering.max.kbytes": 1 << 20,
        }
    )
    for n, message in enumerate(messages):
        while True:
            try:
                producer.produce(topic, message, partition=n % partitions)
                break
            except BufferError:
                producer.poll(0.1)
        if n % 10_000 == 0:
            producer.poll(0)
    producer.flush()
