"""Kafka client options: Java names, secrets, and errors that need no broker."""

from __future__ import annotations

import sys
from typing import Any

import cloudpickle
import pytest

from penstock.connectors.kafka import (
    FlinkKafkaConsumer,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from penstock.connectors.kafka.client.client import to_penstock_error
from penstock.connectors.kafka.client.options import client_options
from penstock.connectors.secret import Secret, allow_pickling_secrets, reveal_secrets
from penstock.errors import ConfigError, OptionIgnored, UnsupportedOperation
from penstock.formats.strings import SimpleStringSchema

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def complete() -> KafkaSourceBuilder:
    expected = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:9").set_topics("orders")
    return expected.set_value_only_deserializer(SimpleStringSchema())


@pytest.mark.parametrize(
    ("java_options", "expected"),
    [
        ({"fetch.max.wait.ms": "100"}, {"fetch.wait.max.ms": "100"}),
        ({"request.timeout.ms": 5000}, {"socket.timeout.ms": 5000}),
        ({"check.crcs": True, "enable.auto.commit": False}, {"check.crcs": "true"}),
        ({"acks": "all", "linger.ms": 5, "group.id": "g"}, {"group.id": "g"}),  # one set for both sides
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        (
            {"ssl.truststore.location": "/ca.pem", "ssl.truststore.type": "PEM", "ssl.truststore.password": "x"},
            {"ssl.ca.location": "/ca.pem"},
        ),
        (
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "sesame"},
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "sesame"},
        ),
        (
            {"ssl.keystore.location": "/me.pem", "ssl.keystore.password": "sesame"},
            {"ssl.certificate.location": "/me.pem", "ssl.key.password": "sesame"},
        ),
        (
            {"sasl.jaas.config": f'{PLAIN} required username="app" password="a \\"b\\" c";'},
            {"sasl.username": "app", "sasl.password": 'a "b" c', "sasl.mechanisms": "PLAIN"},
        ),
        (
            {
                "sasl.jaas.config": f"{SCRAM} required\n  username='app'\n  password='s3same-gate';",
                "sasl.mechanism": "SCRAM-SHA-256",
            },
            {"sasl.username": "app", "sasl.password": "s3same-gate", "sasl.mechanisms": "SCRAM-SHA-256"},
        ),
        ({"sasl.password": Secret("s3same-gate")}, {"sasl.password": "s3same-gate"}),
    ],
)
def test_java_names_are_converted(java_options: dict[str, Any], expected: dict[str, Any]) -> None:
    assert reveal_secrets(client_options(java_options, "consumer")) == expected


def test_producer_options() -> None:
    java_options = {
        "acks": "all",
        "group.id": "g",
        "max.request.size": 10,
        "buffer.memory": 1 << 20,
        "isolation.level": "x",
    }
    expected = client_options(java_options, "producer")
    assert expected == {"acks": "all", "message.max.bytes": 10, "queue.buffering.max.kbytes": 1024}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("boostrap.servers", "Did you mean bootstrap.servers?"),
        ("isolation-level", "Did you mean isolation.level?"),
        ("colour", "Correct the name or remove it."),
    ],
)
def test_unknown_option_is_rejected(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        complete().set_property(name, "x").build()
    assert caught.value.code == "KAFKA_OPTION"
    assert message in caught.value.text


@pytest.mark.parametrize(
    "value", ["nonsense", f"{PLAIN} required user=a", "com.sun.Krb5LoginModule required keyTab=x;"]
)
def test_unsupported_login_error_does_not_contain_the_secret(value: str) -> None:
    with pytest.raises(ConfigError, match="KAFKA_LOGIN") as caught:
        client_options({"sasl.jaas.config": f'{value} password="hush hush"'}, "consumer")
    assert "hush" not in str(caught.value)


def test_java_keystore_is_rejected() -> None:
    with pytest.raises(UnsupportedOperation, match=r"of type JKS.*PEM"):
        client_options({"ssl.truststore.location": "/trust.jks"}, "consumer")


def test_options_without_effect_are_ignored_with_a_warning() -> None:
    with pytest.warns(OptionIgnored, match=r"max\.poll\.records has no effect"):
        assert client_options({"max.poll.records": 5}, "consumer") == {}


def test_secrets_are_redacted_and_pickled_only_with_the_program() -> None:
    source = (
        complete().set_property("sasl.jaas.config", f'{PLAIN} required username="app" password="hush hush";').build()
    )
    assert "hush hush" not in repr(vars(source))
    with pytest.raises(ConfigError, match="SECRET_WRITTEN"):
        cloudpickle.dumps(source)
    with allow_pickling_secrets():
        copy: KafkaSource = cloudpickle.loads(cloudpickle.dumps(source))
    assert reveal_secrets(copy._options)["sasl.password"] == "hush hush"


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (lambda: KafkaSource.builder().set_topics("a").build(), "set_bootstrap_servers"),
        (lambda: KafkaSource.builder().set_bootstrap_servers("a:1").build(), "set_topics, set_topic_pattern"),
        (
            lambda: KafkaSource.builder().set_bootstrap_servers("a:1").set_topics("a").build(),
            "set_value_only_deserializer",
        ),
        (lambda: complete().set_topics("b"), "set twice"),
        (lambda: complete().set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build(), "set_group_id"),
        (lambda: complete().set_starting_offsets("latest"), "KafkaOffsetsInitializer.latest()"),  # type: ignore[arg-type]
        (lambda: complete().set_value_only_deserializer(len), "SimpleStringSchema()"),  # type: ignore[arg-type]
        (lambda: complete().set_deserializer(len), "KafkaRecordDeserializationSchema.of"),  # type: ignore[arg-type]
        (lambda: complete().set_property("auto.offset.reset", "newest").build(), "none, earliest, latest"),
        (lambda: complete().set_property("partition.discovery.interval.ms", "often").build(), "number of milliseconds"),
        (lambda: KafkaSource.builder().set_topic_pattern("(a"), "not a valid regular expression"),
        (lambda: KafkaSource.builder().set_topics(), "set_topics('a', 'b')"),
        (lambda: KafkaSource.builder().set_partitions({("a", 0)}), "KafkaTopicPartition"),  # type: ignore[arg-type]
        (lambda: KafkaOffsetsInitializer.timestamp(-5), "milliseconds since 1970"),
        (lambda: KafkaOffsetsInitializer.offsets({KafkaTopicPartition("a", 0): -1}), "0 or more"),
    ],
)
def test_missing_or_wrong_settings_fail_on_build(expected: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        expected()
    assert message in caught.value.text


def test_missing_client_library_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    source = complete().build()
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ConfigError, match=r"pip install 'penstock\[kafka\]'") as caught:
        source.initial()
    assert caught.value.code == "KAFKA_MISSING"


def test_flink_kafka_consumer_builds_the_same_source() -> None:
    properties = {"bootstrap.servers": "127.0.0.1:9", "group.id": "g", "auto.offset.reset": "earliest"}
    with pytest.warns(DeprecationWarning, match="Use KafkaSource"):
        old = FlinkKafkaConsumer("orders", SimpleStringSchema(), properties)
    source = old.to_source()
    assert (source._start.kind, source._start.reset.name, source._discover_every) == ("committed", "EARLIEST", None)
    assert source._reset == "none"
    source = old.set_start_from_timestamp(5).set_commit_offsets_on_checkpoints(False).to_source()
    assert (source._start.kind, source._commits) == ("timestamp", False)
    assert old.set_start_from_earliest().to_source()._start.kind == "earliest"
    assert old.set_start_from_latest().to_source()._start.kind == "latest"
    assert str(old.get_produced_type()) == str(SimpleStringSchema().get_produced_type())


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("_AUTHENTICATION", "KAFKA_CREDENTIALS", "sasl.mechanism=PLAIN, user app"),
        ("TOPIC_AUTHORIZATION_FAILED", "KAFKA_NOT_ALLOWED", "does not allow this user to read topic 'a'"),
        ("_ALL_BROKERS_DOWN", "KAFKA_UNREACHABLE", "bootstrap.servers and security.protocol"),
        ("_SSL", "KAFKA_CLIENT", "Correct the properties"),
        ("INVALID_MSG", "KAFKA_FAILED", "INVALID_MSG"),
    ],
)
def test_client_errors_are_converted(code: str, error: str, message: str) -> None:
    from confluent_kafka import KafkaError

    options = client_options(
        {"bootstrap.servers": "host:1", "sasl.mechanism": "PLAIN", "sasl.username": "app", "sasl.password": "hush"},
        "consumer",
    )
    converted = to_penstock_error(KafkaError(getattr(KafkaError, code)), options, "read topic 'a'")
    assert converted.code == error
    assert "host:1" in converted.text or error == "KAFKA_CLIENT"
    assert message in converted.text
    assert "hush" not in converted.text
