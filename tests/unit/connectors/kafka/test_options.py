"""Options of Kafka's Java client under their names, secrets, what is missing or wrong: all before a broker is asked."""

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
from penstock.connectors.kafka.client import told
from penstock.connectors.kafka.options import client_options
from penstock.connectors.secret import Secret, revealed, secrets_may_travel
from penstock.errors import ConfigError, OptionIgnored, UnsupportedOperation
from penstock.formats.strings import SimpleStringSchema

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def complete() -> KafkaSourceBuilder:
    made = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:9").set_topics("orders")
    return made.set_value_only_deserializer(SimpleStringSchema())


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"fetch.max.wait.ms": "100"}, {"fetch.wait.max.ms": "100"}),
        ({"request.timeout.ms": 5000}, {"socket.timeout.ms": 5000}),
        ({"enable.auto.commit": True}, {"enable.auto.commit": "true"}),
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
def test_javas_names_are_translated(given: dict[str, Any], made: dict[str, Any]) -> None:
    assert revealed(client_options(given, "consumer")) == made


def test_a_producer_takes_its_own() -> None:
    given = {"acks": "all", "group.id": "g", "max.request.size": 10, "buffer.memory": 1 << 20, "isolation.level": "x"}
    made = client_options(given, "producer")
    assert made == {"acks": "all", "message.max.bytes": 10, "queue.buffering.max.kbytes": 1024}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("boostrap.servers", "Did you mean bootstrap.servers?"),
        ("isolation-level", "Did you mean isolation.level?"),
        ("colour", "Correct the name, or leave it out."),
    ],
)
def test_an_unknown_option_is_refused(name: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        complete().set_property(name, "x").build()
    assert caught.value.code == "KAFKA_OPTION"
    assert words in caught.value.text


@pytest.mark.parametrize(
    "value", ["nonsense", f"{PLAIN} required user=a", "com.sun.Krb5LoginModule required keyTab=x;"]
)
def test_a_login_that_is_not_understood_is_told_without_its_secret(value: str) -> None:
    with pytest.raises(ConfigError, match="KAFKA_LOGIN") as caught:
        client_options({"sasl.jaas.config": f'{value} password="hush hush"'}, "consumer")
    assert "hush" not in str(caught.value)


def test_a_java_keystore_is_refused() -> None:
    with pytest.raises(UnsupportedOperation, match=r"of type JKS.*PEM"):
        client_options({"ssl.truststore.location": "/trust.jks"}, "consumer")


def test_what_means_nothing_here_is_told_and_left_out() -> None:
    with pytest.warns(OptionIgnored, match=r"max\.poll\.records has no effect"):
        assert client_options({"max.poll.records": 5}, "consumer") == {}


def test_secrets_do_not_show_and_travel_with_the_program_only() -> None:
    source = (
        complete().set_property("sasl.jaas.config", f'{PLAIN} required username="app" password="hush hush";').build()
    )
    assert "hush hush" not in repr(vars(source))
    with pytest.raises(ConfigError, match="SECRET_WRITTEN"):
        cloudpickle.dumps(source)
    with secrets_may_travel():
        copy: KafkaSource = cloudpickle.loads(cloudpickle.dumps(source))
    assert revealed(copy._options)["sasl.password"] == "hush hush"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: KafkaSource.builder().set_topics("a").build(), "set_bootstrap_servers"),
        (lambda: KafkaSource.builder().set_bootstrap_servers("a:1").build(), "set_topics, set_topic_pattern"),
        (
            lambda: KafkaSource.builder().set_bootstrap_servers("a:1").set_topics("a").build(),
            "set_value_only_deserializer",
        ),
        (lambda: complete().set_topics("b"), "told twice"),
        (lambda: complete().set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build(), "set_group_id"),
        (lambda: complete().set_starting_offsets("latest"), "KafkaOffsetsInitializer.latest()"),  # type: ignore[arg-type]
        (lambda: complete().set_value_only_deserializer(len), "SimpleStringSchema()"),  # type: ignore[arg-type]
        (lambda: complete().set_deserializer(len), "KafkaRecordDeserializationSchema.of"),  # type: ignore[arg-type]
        (lambda: complete().set_property("auto.offset.reset", "newest").build(), "none, earliest, latest"),
        (lambda: complete().set_property("partition.discovery.interval.ms", "often").build(), "number of milliseconds"),
        (lambda: KafkaSource.builder().set_topic_pattern("(a"), "no regular expression"),
        (lambda: KafkaSource.builder().set_topics(), "set_topics('a', 'b')"),
        (lambda: KafkaSource.builder().set_partitions({("a", 0)}), "KafkaTopicPartition"),  # type: ignore[arg-type]
        (lambda: KafkaOffsetsInitializer.timestamp(-5), "milliseconds since 1970"),
        (lambda: KafkaOffsetsInitializer.offsets({KafkaTopicPartition("a", 0): -1}), "0 or more"),
    ],
)
def test_what_is_missing_or_wrong_is_said_at_once(made: Any, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        made()
    assert words in caught.value.text


def test_without_the_client_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    source = complete().build()
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ConfigError, match=r"pip install 'penstock\[kafka\]'") as caught:
        source.initial()
    assert caught.value.code == "KAFKA_MISSING"


def test_the_old_consumer_is_the_same_source() -> None:
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
    ("code", "error", "words"),
    [
        ("_AUTHENTICATION", "KAFKA_CREDENTIALS", "sasl.mechanism=PLAIN, user app"),
        ("TOPIC_AUTHORIZATION_FAILED", "KAFKA_NOT_ALLOWED", "does not allow this user to read topic 'a'"),
        ("_ALL_BROKERS_DOWN", "KAFKA_UNREACHABLE", "bootstrap.servers and security.protocol"),
        ("_SSL", "KAFKA_CLIENT", "Correct the options"),
        ("INVALID_MSG", "KAFKA_FAILED", "INVALID_MSG"),
    ],
)
def test_errors_of_the_client_in_our_words(code: str, error: str, words: str) -> None:
    from confluent_kafka import KafkaError

    options = client_options(
        {"bootstrap.servers": "host:1", "sasl.mechanism": "PLAIN", "sasl.username": "app", "sasl.password": "hush"},
        "consumer",
    )
    found = told(KafkaError(getattr(KafkaError, code)), options, "read topic 'a'")
    assert found.code == error
    assert "host:1" in found.text or error == "KAFKA_CLIENT"
    assert words in found.text
    assert "hush" not in found.text
