"""A Kafka sink that cannot write: errors, and no lost records."""

from __future__ import annotations

from collections import Counter

import pytest

import penstock as ps
from penstock.connectors import DeliveryGuarantee, Sink
from penstock.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from penstock.errors import PenstockError
from penstock.formats import SimpleStringSchema
from penstock.testing import Harness
from tests.servers import Kafka
from tests.system.bad_input.conftest import PASSWORD, GuardedKafka

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
    with pytest.raises(PenstockError) as failed:
        write(sink, *values)
    return failed.value


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("password", ["wrong-and-secret", None])
def test_wrong_credentials(
    guarded_kafka: GuardedKafka, guarantee: DeliveryGuarantee, password: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 3 if password is None else 30  # long enough for the answer of a slow broker
    monkeypatch.setattr("penstock.connectors.kafka.sink.producer._REQUEST_TIMEOUT", float(seconds))
    monkeypatch.setattr("penstock.connectors.kafka.sink.transaction._REQUEST_TIMEOUT", float(seconds))
    login = {} if password is None else guarded_kafka.login(password)
    login_properties = {name.replace(".", "_"): value for name, value in login.items()}
    error = failure(
        sink_of(
            guarded_kafka.bootstrap, "out", guarantee, message_timeout_ms=str(seconds * 1000 - 500), **login_properties
        ),
        "a",
    )
    assert error.code == ("KAFKA_UNREACHABLE" if password is None else "KAFKA_CREDENTIALS")
    message = "".join([str(error), *getattr(error, "__notes__", ())])
    assert guarded_kafka.bootstrap in message
    assert "security.protocol" in message
    assert "wrong-and-secret" not in message
    assert PASSWORD not in message


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_record_too_large_for_the_client(kafka: Kafka, guarantee: DeliveryGuarantee) -> None:
    topic = kafka.create_topic()
    error = failure(sink_of(kafka.bootstrap, topic, guarantee), "small", "x" * (2 << 20))
    assert error.code == "KAFKA_RECORD_TOO_LARGE"
    for message in (topic, "message.max.bytes", "max.message.bytes"):
        assert message in str(error)
    assert Counter(kafka.values(topic)) <= Counter([b"small"])
    if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
        assert kafka.values(topic) == []


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_record_too_large_for_the_topic(kafka: Kafka, guarantee: DeliveryGuarantee) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "1000"})
    error = failure(sink_of(kafka.bootstrap, topic, guarantee), "x" * 5000)
    assert error.code == "KAFKA_RECORD_TOO_LARGE"
    assert topic in str(error)
    assert kafka.values(topic) == []
