"""A Kafka sink that cannot write: what it says, and that no record is lost."""

from __future__ import annotations

import time
from collections import Counter

import pytest

import penstock as ps
from penstock.connectors import DeliveryGuarantee, Sink
from penstock.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from penstock.errors import PenstockError
from penstock.formats import SimpleStringSchema
from penstock.testing import Harness
from tests.bad_input.conftest import PASSWORD, GuardedKafka
from tests.servers import Kafka

GUARANTEES = [DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE]


def sink_of(bootstrap: str, topic: str, guarantee: DeliveryGuarantee, **properties: str) -> KafkaSink:
    records = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder = (
        KafkaSink.builder()
        .set_bootstrap_servers(bootstrap)
        .set_record_serializer(records.set_value_serialization_schema(SimpleStringSchema()).build())
        .set_delivery_guarantee(guarantee)
    )
    for name, value in properties.items():
        builder.set_property(name.replace("_", "."), value)
    return builder.build()


def write(sink: Sink, *values: str) -> None:
    env = ps.StreamExecutionEnvironment()
    env.from_collection(list(values)).sink_to(sink).name("output")
    Harness(env, real_sinks=True).run()


def failure(sink: Sink, *values: str) -> PenstockError:
    began = time.monotonic()
    with pytest.raises(PenstockError) as failed:
        write(sink, *values)
    assert time.monotonic() - began < 30
    return failed.value


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("password", ["wrong-and-secret", None])
def test_wrong_credentials(
    guarded_kafka: GuardedKafka, guarantee: DeliveryGuarantee, password: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.kafka.producer._PATIENCE", 3.0)
    monkeypatch.setattr("penstock.connectors.kafka.transaction._PATIENCE", 3.0)
    login = {} if password is None else guarded_kafka.login(password)
    given = {name.replace(".", "_"): value for name, value in login.items()}
    error = failure(sink_of(guarded_kafka.bootstrap, "out", guarantee, message_timeout_ms="2500", **given), "a")
    assert error.code == ("KAFKA_UNREACHABLE" if password is None else "KAFKA_CREDENTIALS")
    told = "".join([str(error), *getattr(error, "__notes__", ())])
    assert guarded_kafka.bootstrap in told
    assert "security.protocol" in told
    assert "wrong-and-secret" not in told
    assert PASSWORD not in told


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_record_that_is_too_large_for_the_client(kafka: Kafka, guarantee: DeliveryGuarantee) -> None:
    topic = kafka.create_topic()
    error = failure(sink_of(kafka.bootstrap, topic, guarantee), "small", "x" * (2 << 20))
    assert error.code == "KAFKA_RECORD_TOO_LARGE"
    for told in (topic, "message.max.bytes", "max.message.bytes"):
        assert told in str(error)
    assert Counter(kafka.values(topic)) <= Counter([b"small"])
    if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
        assert kafka.values(topic) == []


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_record_that_is_too_large_for_the_topic(kafka: Kafka, guarantee: DeliveryGuarantee) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "1000"})
    error = failure(sink_of(kafka.bootstrap, topic, guarantee), "x" * 5000)
    assert error.code == "KAFKA_RECORD_TOO_LARGE"
    assert topic in str(error)
    assert kafka.values(topic) == []
