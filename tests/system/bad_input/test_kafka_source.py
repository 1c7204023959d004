"""A Kafka source that cannot read: errors, and no lost records."""

from __future__ import annotations

import logging
import socket
import time
from typing import Any

import msgspec
import pytest

from penstock.connectors import Source
from penstock.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.formats import SimpleStringSchema
from penstock.formats.schema import DeserializationSchema
from penstock.testing import SourceContract
from tests.servers import Kafka
from tests.system.bad_input.conftest import PASSWORD, USER, GuardedKafka
from tests.system.bad_input.reading import read

QUICK, PATIENT = "2500", "600000"  # timeouts in milliseconds


def source_of(bootstrap: str, topic: str, schema: Any = None, **properties: str) -> Source:
    kafka_source: Source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(topic)
        .set_value_only_deserializer(SimpleStringSchema() if schema is None else schema)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_properties(
            {"default.api.timeout.ms": PATIENT, **{name.replace("_", "."): value for name, value in properties.items()}}
        )
        .build()
    )
    return kafka_source


class Click(msgspec.Struct, frozen=True):
    """The expected records."""

    page: str


class Clicks(DeserializationSchema[Any]):
    """JSON of clicks."""

    def deserialize(self, message: bytes) -> Any:
        return msgspec.json.decode(message, type=Click)


def test_missing_topic(kafka: Kafka) -> None:
    outcome = read(source_of(kafka.bootstrap, "no-such-topic"))
    assert outcome.error is not None
    assert outcome.error.code.startswith("KAFKA_")
    assert "no-such-topic" in outcome.text
    assert kafka.bootstrap in outcome.text
    assert "set_topic" in outcome.text
    assert "no-such-topic" not in kafka.admin.list_topics(timeout=180).topics  # the query did not create it


def test_broker_that_does_not_respond() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    outcome = read(source_of(nobody, "clicks", default_api_timeout_ms=QUICK))
    assert outcome.error is not None
    assert outcome.error.code == "KAFKA_UNREACHABLE"
    assert nobody in outcome.text
    assert "bootstrap.servers" in outcome.text
    assert "default.api.timeout.ms" in outcome.text


@pytest.mark.parametrize(
    ("login", "says"),
    [
        (GuardedKafka.login("wrong-and-secret"), "sasl."),
        (GuardedKafka.login(user="somebody"), "somebody"),
        ({}, "security.protocol"),
    ],
    ids=["password", "user", "none"],
)
def test_wrong_credentials(guarded_kafka: GuardedKafka, login: dict[str, str], says: str) -> None:
    properties = {k.replace(".", "_"): v for k, v in login.items()}
    timeout = PATIENT if login else QUICK  # an error of the login does not wait for the timeout
    began = time.monotonic()
    outcome = read(source_of(guarded_kafka.bootstrap, "clicks", default_api_timeout_ms=timeout, **properties))
    assert time.monotonic() - began < 60
    assert outcome.error is not None
    assert outcome.error.code == ("KAFKA_CREDENTIALS" if login else "KAFKA_UNREACHABLE")
    assert guarded_kafka.bootstrap in outcome.text
    assert says in outcome.text
    fragment = "".join([outcome.text, *getattr(outcome.error, "__notes__", ())])
    assert PASSWORD not in fragment
    assert "wrong-and-secret" not in fragment


def test_the_right_credentials(guarded_kafka: GuardedKafka) -> None:
    from confluent_kafka import Producer

    topic = "guarded"
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN"}
    secret = {"sasl.username": USER, "sasl.password": PASSWORD}
    producer = Producer({"bootstrap.servers": guarded_kafka.bootstrap, **login, **secret})
    producer.produce(topic, b"one")
    assert producer.flush(180) == 0
    login_properties = {k.replace(".", "_"): v for k, v in guarded_kafka.login().items()}
    source = source_of(guarded_kafka.bootstrap, topic, **login_properties)
    assert PASSWORD not in repr(vars(source))
    assert read(source).elements == ["one"]


@pytest.mark.parametrize(
    ("schema", "bad", "says"),
    [(None, b"ab\xff\xfe", "0xff"), (Clicks(), b'{"page": 5}', "page"), (Clicks(), b'{"page": "a', "truncated")],
    ids=["no-utf8", "other-type", "cut-off"],
)
def test_invalid_records(kafka: Kafka, schema: Any, bad: bytes, says: str) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, [b'{"page":"a"}', bad, b'{"page":"b"}'], partition=1)
    good = ['{"page":"a"}', '{"page":"b"}'] if schema is None else [Click("a"), Click("b")]
    failed = read(source_of(kafka.bootstrap, topic, schema))
    assert failed.error is not None
    assert failed.error.code == "BAD_RECORD"
    for fragment in (f"topic {topic}", "partition 1", "offset 1", says, 'on_error="dead_letter"', 'on_error="skip"'):
        assert fragment in failed.text
    with_dead_letters = read(source_of(kafka.bootstrap, topic, schema), "dead_letter")
    assert with_dead_letters.elements == good
    dead_letters = [(x.topic, x.partition, x.offset, x.raw) for x in with_dead_letters.dead_letters]
    assert dead_letters == [(topic, 1, 1, bad)]
    skipped = read(source_of(kafka.bootstrap, topic, schema), "skip")
    assert (skipped.elements, skipped.skipped) == (good, 1)


class _Deleted:
    """A topic whose first records were deleted after a job had started with them."""

    def __init__(self, kafka: Kafka) -> None:
        from confluent_kafka import TopicPartition

        self.kafka = kafka
        self.topic = kafka.create_topic()
        kafka.produce(self.topic, [f"r{i}" for i in range(10)], partition=0)
        deleted = kafka.admin.delete_records([TopicPartition(self.topic, 0, 4)])
        for done in deleted.values():
            done.result(180)

    def read(self, policy: str | None, folder: Any) -> list[Any]:
        properties = {} if policy is None else {"auto_offset_reset": policy}
        source = source_of(self.kafka.bootstrap, self.topic, **properties)
        source.attach(str(folder))
        start = source.initial()
        start[self.topic]["0"] = 1  # the position in the checkpoint
        end = source.latest(start)
        tasks = source.plan(start, end, 1)
        return [value for task in tasks for chunk in source.read(task) for value in chunk.values]


def test_deleted_offsets_fail_the_job(kafka: Kafka, tmp_path: Any) -> None:
    from penstock.errors import PenstockError

    with pytest.raises(PenstockError) as failed:
        _Deleted(kafka).read(None, tmp_path)
    assert failed.value.code == "KAFKA_OFFSET_OUT_OF_RANGE"
    for fragment in ("offset 1 ", "partition 0", "4 to 10", "auto.offset.reset", "'earliest'", "'latest'"):
        assert fragment in str(failed.value)


@pytest.mark.parametrize(("policy", "values"), [("earliest", [f"r{i}" for i in range(4, 10)]), ("latest", [])])
def test_deleted_offsets_with_a_reset_policy_are_logged(
    kafka: Kafka, tmp_path: Any, policy: str, values: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert _Deleted(kafka).read(policy, tmp_path) == values
    assert f"auto.offset.reset={policy}" in caplog.text
    assert "1 to" in caplog.text


@pytest.mark.long
def test_a_record_of_100_megabytes(kafka: Kafka) -> None:
    from confluent_kafka import Producer

    size = 100 << 20
    topic = kafka.create_topic(config={"max.message.bytes": str(size + 10_000)})
    settings = {"bootstrap.servers": kafka.bootstrap, "message.max.bytes": size + 5_000, "compression.type": "gzip"}
    producer = Producer(settings)
    for value in (b"before", b"x" * size, b"behind"):
        producer.produce(topic, value, partition=0)
    assert producer.flush(180) == 0
    source = source_of(kafka.bootstrap, topic)
    assert [len(value) for value in read(source).elements] == [6, size, 6]


class TestContract(SourceContract):
    """Contract tests of the Kafka source."""

    most_in_a_batch = 400
    parallelisms = (1, 3)
    topic: str

    @pytest.fixture(autouse=True)
    def _topic(self, kafka: Kafka) -> None:
        if not hasattr(type(self), "topic"):
            type(self).topic = kafka.create_topic(partitions=3)
            for partition in range(2):
                count = 500 * (partition + 1)
                kafka.produce(self.topic, [f"{partition}-{i}" for i in range(count)], partition=partition)
        self.bootstrap = kafka.bootstrap

    def make_source(self) -> Source:
        source = source_of(self.bootstrap, self.topic)
        source.records_per_batch = 400
        return source

    def expected(self) -> list[Any]:
        return [f"{partition}-{i}" for partition in range(2) for i in range(500 * (partition + 1))]
