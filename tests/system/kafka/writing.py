"""Batches written by hand: tasks, workers and drivers are played by the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.connectors import WriteTask
from penstock.connectors.kafka import DeliveryGuarantee, KafkaRecordSerializationSchema, KafkaSink
from penstock.connectors.kafka.producer import PRODUCERS
from penstock.connectors.sink import SinkWriter
from penstock.formats import SimpleStringSchema

NO_TIMESTAMP = -(2**63)


def sink_to(bootstrap: str, topic: str, guarantee: DeliveryGuarantee, **properties: Any) -> KafkaSink:
    """A sink of texts."""
    words = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder = KafkaSink.builder().set_bootstrap_servers(bootstrap).set_delivery_guarantee(guarantee)
    builder.set_record_serializer(words.set_value_serialization_schema(SimpleStringSchema()).build())
    for name, value in properties.items():
        builder.set_property(name.replace("_", "."), value)
    return builder.build()


def written(sink: KafkaSink, task: WriteTask, values: list[Any]) -> SinkWriter:
    """A task that has written and not ended."""
    writer = sink.writer(task)
    writer.write(values, np.full(len(values), NO_TIMESTAMP), None)
    return writer


def write(sink: KafkaSink, task: WriteTask, values: list[Any]) -> None:
    """A batch of one task, committed."""
    prepared = written(sink, task, values).prepare()
    sink.commit(task.batch, [] if prepared is None else [prepared])


class Workers:
    """Python workers of Spark's: each keeps its own producers."""

    def __init__(self) -> None:
        self._kept: dict[int, dict[Any, tuple[float, Any]]] = {}

    @contextmanager
    def worker(self, number: int) -> Iterator[None]:
        PRODUCERS.take("the process")  # they belong to one
        before = PRODUCERS._kept
        PRODUCERS._kept = self._kept.setdefault(number, {})
        try:
            yield
        finally:
            PRODUCERS._kept = before

    def close(self) -> None:
        for number in list(self._kept):
            with self.worker(number):
                PRODUCERS.close()
