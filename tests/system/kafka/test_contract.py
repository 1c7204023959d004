"""Contract tests of a bounded Kafka source that reads committed transactions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock.connectors.kafka import KafkaSource, KafkaSourceBuilder
from penstock.connectors.source import Source
from penstock.testing.source_contract import SourceContract
from tests.servers import Kafka
from tests.system.kafka.jobs import LATEST, builder, write_transaction


def limited(source_builder: KafkaSourceBuilder, records: int) -> KafkaSource:
    source = source_builder.build()
    source.records_per_batch = records
    return source


@pytest.fixture(scope="module")
def with_gaps(kafka: Kafka) -> str:
    topic = kafka.create_topic(partitions=2)
    for number in range(4):
        # In this order, because it is unknown before reading which of the remaining offsets are aborted.
        write_transaction(kafka, topic, ["never"] * 5, number % 2, end="abort")
        write_transaction(kafka, topic, [str(n) for n in range(number * 20, number * 20 + 20)], number % 2)
    return topic


class TestCommittedAndBounded(SourceContract):
    """With gaps in the offsets and stop offsets."""

    most_in_a_batch = 52

    @pytest.fixture(autouse=True)
    def _made(self, kafka: Kafka, with_gaps: str) -> None:
        self.source_builder = (
            builder(kafka, with_gaps).set_property("isolation.level", "read_committed").set_bounded(LATEST)
        )

    def make_source(self) -> Source:
        return limited(self.source_builder, 50)

    def expected(self) -> Iterable[Any]:
        return [str(n) for n in range(80)]
