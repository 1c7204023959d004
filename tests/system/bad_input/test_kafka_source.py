"""A Kafka source that cannot read: what it says, and that no record is lost."""

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
from tests.bad_input.conftest import PASSWORD, USER, GuardedKafka
from tests.bad_input.reading import read
from tests.servers import Kafka

QUICK = {"default.api.timeout.ms": "2500"}


def source_of(bootstrap: str, topic: str, schema: Any = None, **properties: str) -> Source:
    made: Source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(topic)
        .set_value_only_deserializer(SimpleStringSchema() if schema is None else schema)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_properties({**QUICK, **{name.replace("_", "."): value for name, value in properties.items()}})
        .build()
    )
    return made


class Click(msgspec.Struct, frozen=True):
    """What the records should have."""

    page: str


class Clicks(DeserializationSchema[Any]):
    """JSON of clicks."""

    def deserialize(self, message: bytes) -> Any:
        return msgspec.json.decode(message, type=Click)


def test_a_topic_that_is_not_there(kafka: Kafka) -> None:
    outcome = read(source_of(kafka.bootstrap, "no-such-topic"))
    assert outcome.error is not None
    assert outcome.error.code.startswith("KAFKA_")
    assert "no-such-topic" in outcome.text
    assert kafka.bootstrap in outcome.text
    assert "set_topic" in outcome.text
    assert "no-such-topic" not in kafka.admin.list_topics(timeout=10).topics  # asking for it has not made it


def test_a_broker_that_does_not_answer() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    began = time.monotonic()
    outcome = read(source_of(nobody, "clicks"))
    assert time.monotonic() - began < 20
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
    began = time.monotonic()
    outcome = read(source_of(guarded_kafka.bootstrap, "clicks", **{k.replace(".", "_"): v for k, v in login.items()}))
    assert time.monotonic() - began < 20
    assert outcome.error is not None
    assert outcome.error.code == ("KAFKA_CREDENTIALS" if login else "KAFKA_UNREACHABLE")
    assert guarded_kafka.bootstrap in outcome.text
    assert says in outcome.text
    told = "".join([outcome.text, *getattr(outcome.error, "__notes__", ())])
    assert PASSWORD not in told
    assert "wrong-and-secret" not in told


def test_the_right_credentials(guarded_kafka: GuardedKafka) -> None:
    from confluent_kafka import Producer

    topic = "guarded"
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN"}
    secret = {"sasl.username": USER, "sasl.password": PASSWORD}
    producer = Producer({"bootstrap.servers": guarded_kafka.bootstrap, **login, **secret})
    producer.produce(topic, b"one")
    assert producer.flush(20) == 0
    given = {k.replace(".", "_"): v for k, v in guarded_kafka.login().items()}
    source = source_of(guarded_kafka.bootstrap, topic, **given)
    assert PASSWORD not in repr(vars(source))
    assert read(source).elements == ["one"]


@pytest.mark.parametrize(
    ("schema", "bad", "says"),
    [(None, b"ab\xff\xfe", "0xff"), (Clicks(), b'{"page": 5}', "page"), (Clicks(), b'{"page": "a', "truncated")],
    ids=["no-utf8", "other-type", "cut-off"],
)
def test_records_that_do_not_decode(kafka: Kafka, schema: Any, bad: bytes, says: str) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, [b'{"page":"a"}', bad, b'{"page":"b"}'], partition=1)
    good = ['{"page":"a"}', '{"page":"b"}'] if schema is None else [Click("a"), Click("b")]
    failed = read(source_of(kafka.bootstrap, topic, schema))
    assert failed.error is not None
    assert failed.error.code == "BAD_RECORD"
    for told in (f"topic {topic}", "partition 1", "offset 1", says, 'on_error="dead_letter"', 'on_error="skip"'):
        assert told in failed.text
    aside = read(source_of(kafka.bootstrap, topic, schema), "dead_letter")
    assert aside.elements == good
    letters = [(x.topic, x.partition, x.offset, x.raw) for x in aside.letters]
    assert letters == [(topic, 1, 1, bad)]
    skipped = read(source_of(kafka.bootstrap, topic, schema), "skip")
    assert (skipped.elements, skipped.skipped) == (good, 1)


class _Deleted:
    """A topic whose first records were deleted after a job had begun at them."""

    def __init__(self, kafka: Kafka) -> None:
        from confluent_kafka import TopicPartition

        self.kafka = kafka
        self.topic = kafka.create_topic()
        kafka.produce(self.topic, [f"r{i}" for i in range(10)], partition=0)
        deleted = kafka.admin.delete_records([TopicPartition(self.topic, 0, 4)])
        for done in deleted.values():
            done.result(20)

    def read(self, policy: str | None, folder: Any) -> list[Any]:
        properties = {} if policy is None else {"auto_offset_reset": policy}
        source = source_of(self.kafka.bootstrap, self.topic, **properties)
        source.attach(str(folder))
        start = source.initial()
        start[self.topic]["0"] = 1  # where the checkpoint says that the job is
        end = source.latest(start)
        tasks = source.plan(start, end, 1)
        return [value for task in tasks for chunk in source.read(task) for value in chunk.values]


def test_offsets_that_kafka_has_not_any_more_fail_the_job(kafka: Kafka, tmp_path: Any) -> None:
    from penstock.errors import PenstockError

    with pytest.raises(PenstockError) as failed:
        _Deleted(kafka).read(None, tmp_path)
    assert failed.value.code == "KAFKA_OFFSET_OUT_OF_RANGE"
    for told in ("offset 1 ", "partition 0", "4 to 10", "auto.offset.reset", "'earliest'", "'latest'"):
        assert told in str(failed.value)


@pytest.mark.parametrize(("policy", "values"), [("earliest", [f"r{i}" for i in range(4, 10)]), ("latest", [])])
def test_or_the_policy_decides_and_the_gap_is_logged(
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
    assert producer.flush(60) == 0
    source = source_of(kafka.bootstrap, topic, default_api_timeout_ms="60000")
    assert [len(value) for value in read(source).elements] == [6, size, 6]


class TestContract(SourceContract):
    """The Kafka source keeps the contract of sources."""

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
