"""Pickled state of earlier versions that contains Kafka records can be read."""

from __future__ import annotations

import pickle

from penstock.connectors.kafka import KafkaRecord

PICKLED = (
    b"\x80\x05\x95S\x00\x00\x00\x00\x00\x00\x00\x8c penstock.connectors.kafka.record\x94\x8c\x0bKafkaRecord\x94\x93\x94"
    b"(\x8c\x06orders\x94K\x01K\x05M\xe8\x03C\x01k\x94C\x01v\x94]\x94t\x94R\x94."
)


def test_a_record_that_was_pickled_with_its_former_module_is_read() -> None:
    assert pickle.loads(PICKLED) == KafkaRecord("orders", 1, 5, 1000, b"k", b"v")
