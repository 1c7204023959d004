"""Contract tests of the Kafka sink.

Records of tasks are visible before the driver commits, unless set_whole_batches is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.connectors import Sink
from penstock.connectors.kafka import DeliveryGuarantee
from penstock.testing import SinkContract
from tests.servers import Kafka
from tests.system.kafka.writing import sink_to


class TestTransactions(SinkContract):
    hidden_until_commit = False
    whole_batches = False

    @pytest.fixture(autouse=True)
    def _broker(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.topic = kafka.create_topic()

    def make_sink(self, folder: Path) -> Sink:
        sink = sink_to(self.kafka.bootstrap, self.topic, DeliveryGuarantee.EXACTLY_ONCE)
        sink.whole_batches = self.whole_batches
        return sink

    def element(self, number: int) -> Any:
        return str(number)

    def visible(self, folder: Path) -> list[Any]:
        return [value.decode() for value in self.kafka.values(self.topic) if value is not None]


class TestWholeBatches(TestTransactions):
    hidden_until_commit = True
    whole_batches = True
