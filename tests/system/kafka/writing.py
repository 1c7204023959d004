"""Writes batches with simulated tasks, workers and drivers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.connectors import WriteTask
from penstock.connectors.kafka import DeliveryGuarantee, KafkaRecordSerializationSchema, KafkaSink
from penstock.connectors.kafka.sink.producer import CLIENT_CACHE
from penstock.connectors.sink import SinkWriter
from penstock.formats import SimpleStringSchema

NO_TIMESTAMP = -(2**63)


def sink_to(bootstrap: str, topic: str, guarantee: DeliveryGuarantee, **properties: Any) -> KafkaSink:
    """Returns a sink of strings."""
    serializer = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder = KafkaSink.builder().set_bootstrap_servers(bootstrap).set_delivery_guarantee(guarantee)
    builder.set_record_serializer(serializer.set_value_serialization_schema(SimpleStringSchema()).build())
    for name, value in properties.items():
        builder.set_property(name.replace("_", "."), value)
    return builder.build()


def written(sink: KafkaSink, task: WriteTask, values: list[Any]) -> SinkWriter:
    """Returns the writer of a task that has written but not ended."""
    writer = sink.writer(task)
    writer.write(values, np.full(len(values), NO_TIMESTAMP), None)
    return writer


def write(sink: KafkaSink, task: WriteTask, values: list[Any]) -> None:
    """Writes and commits a batch of one task."""
    prepared = written(sink, task, values).prepare()
    sink.commit(task.batch, [] if prepared is None else [prepared])


class Workers:
    """Simulated Python workers, each with its own cached producers."""

    def __init__(self) -> None:
        self._clients_of: dict[int, dict[Any, tuple[float, Any]]] = {}

    @contextmanager
    def worker(self, number: int) -> Iterator[None]:
        CLIENT_CACHE.take("the process")  # they belong to one
        before = CLIENT_CACHE._clients
        CLIENT_CACHE._clients = self._clients_of.setdefault(number, {})
        try:
            yield
        finally:
            CLIENT_CACHE._clients = before

    def close(self) -> None:
        for number in list(self._clients_of):
            with self.worker(number):
                CLIENT_CACHE.close()
