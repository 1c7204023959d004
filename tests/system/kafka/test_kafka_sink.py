"""The Kafka sink with a real broker: output, and exactly-once delivery if tasks and drivers fail."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from confluent_kafka import KafkaError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.connectors import WriteTask
from penstock.connectors.kafka import (
    DeliveryGuarantee,
    FlinkKafkaProducer,
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaTopicSelector,
    Semantic,
)
from penstock.connectors.kafka.sink import producer as producers
from penstock.connectors.kafka.sink import transaction as transactions
from penstock.connectors.kafka.sink.record_serializer import RecordColumns
from penstock.connectors.sink import SinkWriter
from penstock.errors import ConfigError, JobError, PenstockError, UnsupportedOperation
from penstock.formats import SimpleStringSchema
from penstock.testing import Harness
from tests.servers import Kafka
from tests.system.kafka.writing import NO_TIMESTAMP, Workers, sink_to, write, written

EXACTLY, AT_LEAST, NONE = (
    DeliveryGuarantee.EXACTLY_ONCE,
    DeliveryGuarantee.AT_LEAST_ONCE,
    DeliveryGuarantee.NONE,
)
DAY = 24 * 3600 * 1000


class Tasks:
    """Tasks of one lineage."""

    def __init__(self) -> None:
        self.lineage = uuid.uuid4().hex

    def __call__(self, batch: int, partition: int = 0, **known: Any) -> WriteTask:
        return WriteTask(batch, partition, f"{time.monotonic_ns()}", self.lineage, "sink", **known)


@pytest.fixture
def task() -> Tasks:
    return Tasks()


def texts(kafka: Kafka, topic: str) -> list[str]:
    return [value.decode() for value in kafka.values(topic) if value is not None]


# -- records


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
def test_every_guarantee_writes_every_element(kafka: Kafka, task: Tasks, guarantee: DeliveryGuarantee) -> None:
    topic = kafka.create_topic(partitions=3)
    sink = sink_to(kafka.bootstrap, topic, guarantee)
    for batch in range(3):
        write(sink, task(batch), [f"{batch}-{n}" for n in range(50)])
    producers.CLIENT_CACHE.close()
    assert sorted(texts(kafka, topic)) == sorted(f"{b}-{n}" for b in range(3) for n in range(50))


class ByFirstLetter(KafkaTopicSelector):
    """A separate topic for words that start with a."""

    def __init__(self, with_a: str, others: str) -> None:
        self._with_a, self._others = with_a, others

    def apply(self, data: str) -> str:
        return self._with_a if data.startswith("a") else self._others


class ByLength(KafkaPartitioner):
    """A partition for each length."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        assert (parallel_instance_id, parallel_instances) == (0, 2)

    def partition(self, record: Any, key: bytes | None, value: bytes, target_topic: str, partitions: list[int]) -> int:
        assert (key, partitions) == (value, [0, 1, 2])
        return len(value) % len(partitions)


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_topic_key_headers_partition_and_timestamp(kafka: Kafka, task: Tasks, guarantee: DeliveryGuarantee) -> None:
    first, second = kafka.create_topic(partitions=3), kafka.create_topic(partitions=3)
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(ByFirstLetter(first, second))
        .set_key_serialization_schema(SimpleStringSchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .set_header_provider(lambda word: [("length", str(len(word)).encode()), ("empty", None)])
        .set_partitioner(ByLength())
        .build()
    )
    builder = KafkaSink.builder().set_bootstrap_servers(kafka.bootstrap).set_record_serializer(serializer)
    sink = builder.set_delivery_guarantee(guarantee).build()
    now = int(time.time() * 1000) - 10_000
    writer = sink.writer(task(0, partitions=2))
    writer.write(["ab", "bc", "abc"], np.array([now, NO_TIMESTAMP, now - 2000]), None)
    sink.commit(0, [writer.prepare()])
    records = kafka.read(first)
    caught = [(m.value(), m.key(), m.partition(), m.headers()) for m in records]
    assert caught == [
        (b"abc", b"abc", 0, [("length", b"3"), ("empty", None)]),
        (b"ab", b"ab", 2, [("length", b"2"), ("empty", None)]),
    ]
    [other] = kafka.read(second)
    assert [m.timestamp()[1] for m in records] == [now - 2000, now]
    assert other.timestamp()[1] > now + 9_000


def test_partition_of_a_key_is_that_of_the_java_client(kafka: Kafka, task: Tasks) -> None:
    topic = kafka.create_topic(partitions=4)
    schema = (
        KafkaRecordSerializationSchema.builder().set_topic(topic).set_key_serialization_schema(SimpleStringSchema())
    )
    builder = KafkaSink.builder().set_bootstrap_servers(kafka.bootstrap)
    sink = builder.set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build()).build()
    write(sink, task(0), ["21", "foobar", "abc", "a-little-bit-long-string"])
    # murmur2 of these texts, as Kafka's own tests have it
    hashes = {"21": -973932308, "foobar": -790332482, "abc": 479470107, "a-little-bit-long-string": -985981536}
    records = {m.value().decode(): m.partition() for m in kafka.read(topic)}  # type: ignore[union-attr]
    assert records == {text: (number & 0x7FFFFFFF) % 4 for text, number in hashes.items()}


# -- exactly-once delivery


def test_repeated_batch_is_detected(kafka: Kafka, task: Tasks) -> None:
    topic = kafka.create_topic()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY)
    workers = Workers()
    for worker in (0, 0, 1):  # again in the same worker, and in another one
        with workers.worker(worker):
            write(sink, task(0), ["a"])
    with workers.worker(2):
        write(sink, task(1), ["b"])
    assert texts(kafka, topic) == ["a", "b"]
    with workers.worker(2):  # a restored job counts from 0 again
        write(sink, Tasks()(0), ["a again"])
    assert texts(kafka, topic) == ["a", "b", "a again"]
    workers.close()


def test_fenced_worker_recovers(kafka: Kafka, task: Tasks) -> None:
    topic = kafka.create_topic()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY)
    workers = Workers()
    for batch, worker in enumerate([0, 1, 0, 0, 1, 0]):
        with workers.worker(worker):
            write(sink, task(batch), [str(batch)])
    assert texts(kafka, topic) == ["0", "1", "2", "3", "4", "5"]
    workers.close()


def test_fenced_task_cannot_commit(kafka: Kafka, task: Tasks) -> None:
    topic = kafka.create_topic()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY)
    workers = Workers()
    with workers.worker(0):
        zombie = written(sink, task(0), ["zombie"])
    with workers.worker(1):
        write(sink, task(0), ["alive"])
    with workers.worker(0):
        with pytest.raises(JobError, match=r"KAFKA_FENCED.*No data is lost"):
            zombie.prepare()
        zombie.abort()
    assert texts(kafka, topic) == ["alive"]
    workers.close()


def test_records_of_a_failed_task_are_never_visible(kafka: Kafka, task: Tasks) -> None:
    topic = kafka.create_topic()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY)
    written(sink, task(0), ["lost"]).abort()
    write(sink, task(0), ["kept"])
    assert texts(kafka, topic) == ["kept"]


def test_no_transaction_outlives_its_task(kafka: Kafka, task: Tasks) -> None:
    """Unlike in Flink, the commit of the driver may come at any time."""
    topic = kafka.create_topic()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY, **{"transaction.timeout.ms": 3000})
    prepared = written(sink, task(0), ["a"]).prepare()
    time.sleep(3.5)
    assert texts(kafka, topic) == ["a"]
    sink.commit(0, [prepared])
    write(sink, task(0), ["a"])
    write(sink, task(1), ["b"])
    assert texts(kafka, topic) == ["a", "b"]


def test_a_broker_that_was_killed_between_two_batches(kafka: Kafka, task: Tasks) -> None:
    """The cached producer would not find its coordinator again; a new one replaces it."""
    topic = kafka.create_topic()
    sinks = [sink_to(kafka.bootstrap, topic, guarantee) for guarantee in (EXACTLY, AT_LEAST)]
    for batch in range(2):
        for number, sink in enumerate(sinks):
            write(sink, task(batch, number), [f"{batch}-{number}"])
        if not batch:
            kafka.kill()
            kafka.start()
    assert sorted(texts(kafka, topic)) == ["0-0", "0-1", "1-0", "1-1"]


FAULTS = ["before", "abort", "killed", "after", "none"]


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(st.tuples(st.sampled_from(FAULTS), st.integers(0, 2)), max_size=3), min_size=3, max_size=5))
def test_each_record_is_written_once_despite_failures(kafka: Kafka, batches: list[list[tuple[str, int]]]) -> None:
    """Each batch has some failing attempts in different workers, then a successful one."""
    topic, task, workers = kafka.create_topic(partitions=2), Tasks(), Workers()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY)
    dead = []
    for batch, attempts in enumerate(batches):
        for fault, worker in [*attempts, ("none", 0)]:
            with workers.worker(worker):
                for partition in range(2):
                    values = [f"{batch}-{partition}-{n}" for n in range(3)]
                    if fault == "before" and partition == 1:
                        break
                    writer = written(sink, task(batch, partition), values)
                    if fault == "abort" and partition == 1:
                        writer.abort()
                    elif fault == "killed" and partition == 1:
                        dead.append(writer)  # its transaction stays open
                    else:
                        writer.prepare()
    assert Counter(texts(kafka, topic)) == Counter(
        f"{b}-{p}-{n}" for b in range(len(batches)) for p in (0, 1) for n in range(3)
    )
    workers.close()


# -- lost markers


def delete_marker(kafka: Kafka, sink: KafkaSink, task: WriteTask) -> None:
    """Deletes the marker, as the broker does after offsets.retention.minutes."""
    group = sink.transactional_id(task, str(task.partition))
    kafka.admin.delete_consumer_groups([group])[group].result(180)
    producers.CLIENT_CACHE.close()


@pytest.mark.parametrize(("policy", "expected"), [("fail", None), ("write", ["a", "b", "b"]), ("skip", ["a", "b"])])
def test_lost_marker(kafka: Kafka, task: Tasks, tmp_path: Path, policy: Any, expected: list[str] | None) -> None:
    topic = kafka.create_topic()
    message = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder = KafkaSink.builder().set_bootstrap_servers(kafka.bootstrap).set_delivery_guarantee(EXACTLY)
    builder.set_record_serializer(message.set_value_serialization_schema(SimpleStringSchema()).build())
    sink = builder.set_lost_marker_policy(policy).build()
    sink.attach(str(tmp_path))
    write(sink, task(0), ["a"])
    written(sink, task(1), ["b"]).prepare()  # and the driver dies
    delete_marker(kafka, sink, task(1))
    now = int(time.time() * 1000)
    if expected is None:
        with pytest.raises(JobError, match=r"KAFKA_MARKS_LOST.*batch 1 .*set_lost_marker_policy"):
            write(sink, task(1, begun_before=now), ["b"])
        assert texts(kafka, topic) == ["a", "b"]
    else:
        write(sink, task(1, begun_before=now), ["b"])
        assert texts(kafka, topic) == expected


def test_missing_marker_of_an_old_batch(kafka: Kafka, task: Tasks, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY)
    sink.attach(str(tmp_path))
    now = int(time.time() * 1000)
    write(sink, task(0, begun_before=now - DAY // 2), ["a"])  # the broker keeps markers for a week, so there was none
    assert texts(kafka, topic) == ["a"]
    with pytest.raises(JobError, match=r"KAFKA_MARKS_LOST.*keeps markers for 168 h, and the batch is 192.0 h old"):
        write(sink, task(0, partition=1, begun_before=now - 8 * DAY), ["b"])
    write(sink, task(1, partition=1), ["b"])  # a batch that no run has begun needs no marker
    assert texts(kafka, topic) == ["a", "b"]


def test_checkpoint_older_than_the_output_is_rejected(kafka: Kafka, task: Tasks) -> None:
    sink = sink_to(kafka.bootstrap, kafka.create_topic(), EXACTLY)
    write(sink, task(5), ["a"])
    for _ in range(2):  # with the cached producer, and with the marker
        with pytest.raises(JobError, match=r"KAFKA_BATCH_AHEAD.*batch 3, .*up to batch 5"):
            write(sink, task(3), ["b"])
        producers.CLIENT_CACHE.close()


def test_batch_of_a_repaired_checkpoint_is_not_written_again(kafka: Kafka, task: Tasks) -> None:
    topic = kafka.create_topic()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY)
    for batch in (4, 5):
        write(sink, task(batch), [f"batch {batch}"])
    for _ in range(2):  # with the cached producer, and with the marker
        for batch in (4, 5):
            write(sink, task(batch, repeated=True), [f"batch {batch}"])
        producers.CLIENT_CACHE.close()
    write(sink, task(6, repeated=True), ["batch 6"])
    assert texts(kafka, topic) == ["batch 4", "batch 5", "batch 6"]


# -- one transaction per batch


@pytest.mark.parametrize("attached", [True, False])
@pytest.mark.parametrize("by_setting", [True, False])
def test_batch_in_one_transaction(kafka: Kafka, task: Tasks, tmp_path: Path, attached: bool, by_setting: bool) -> None:
    """With set_whole_batches, and always in batch mode."""
    topic = kafka.create_topic()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY)
    sink.whole_batches = by_setting
    if attached:
        sink.attach(str(tmp_path))
    staged = tmp_path / "staged"
    for batch in range(2):
        tasks = [task(batch, partition, whole_job=not by_setting) for partition in (1, 0)]
        if attached:
            staged.mkdir(exist_ok=True)
            (staged / f"{batch:012d}-1-killed").write_bytes(b"what a killed task left")
        prepared = [written(sink, t, [f"{batch}-{t.partition}-{n}" for n in range(3)]).prepare() for t in tasks]
        assert len(texts(kafka, topic)) == 6 * batch
        for _ in range(2):  # the first answer may have been lost
            sink.commit(batch, prepared)
            producers.CLIENT_CACHE.close()
    assert texts(kafka, topic) == [f"{b}-{p}-{n}" for b in range(2) for p in range(2) for n in range(3)]
    assert not attached or {file.name[:12] for file in staged.iterdir()} == {f"{1:012d}"}


def test_aborted_batch_in_one_transaction_leaves_nothing(kafka: Kafka, task: Tasks, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    sink = sink_to(kafka.bootstrap, topic, EXACTLY)
    sink.whole_batches = True
    sink.attach(str(tmp_path))
    written(sink, task(0), ["a"]).abort()
    sink.abort(0, [written(sink, task(0), ["a"]).prepare()])
    assert not list((tmp_path / "staged").iterdir())
    assert texts(kafka, topic) == []


# -- errors


def write_more(writer: SinkWriter, value: str) -> None:
    writer.write([value], np.array([0]), None)
    writer.prepare()


@pytest.mark.parametrize("guarantee", [EXACTLY, AT_LEAST])
def test_invalid_input_errors(kafka: Kafka, task: Tasks, guarantee: DeliveryGuarantee) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "2000"})
    for length in (2_000_000, 5000):  # above what the client sends, and above what the topic takes
        sink = sink_to(kafka.bootstrap, topic, guarantee)
        writer = written(sink, task(0, length), ["fits"])
        with pytest.raises(JobError, match=r"KAFKA_RECORD_TOO_LARGE.*max.message.bytes"):
            write_more(writer, "x" * length)
        writer.abort()
    write(sink_to(kafka.bootstrap, topic, guarantee), task(1), ["fits too"])
    assert "fits too" in texts(kafka, topic)


def test_missing_topic(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a broker without automatic topic creation."""
    monkeypatch.setattr(producers, "_TOPIC_CREATION_TIMEOUT", 0.2)
    producer = producers.Producer({"bootstrap.servers": kafka.bootstrap})
    unknown = SimpleNamespace(error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), partitions={})
    answer = SimpleNamespace(topics={"nowhere": unknown})
    real, producer.client = producer.client, SimpleNamespace(list_topics=lambda topic, timeout: answer)
    with pytest.raises(ConfigError, match=r"KAFKA_NO_TOPIC.*'nowhere'.*Create it"):
        producer.send(RecordColumns("nowhere", [b"a"]))
    real.close()


def test_unreachable_broker(task: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (producers, transactions):
        monkeypatch.setattr(module, "_REQUEST_TIMEOUT", 1.0)
    for guarantee in (EXACTLY, AT_LEAST):
        with pytest.raises(JobError, match=r"KAFKA_UNREACHABLE.*127.0.0.1:9.*set_bootstrap_servers"):
            write(sink_to("127.0.0.1:9", "topic", guarantee), task(0), ["a"])


def test_wrong_credentials_name_the_options_and_not_the_password(
    kafka: Kafka, task: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producers, "_REQUEST_TIMEOUT", 5.0)
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    sink = sink_to(
        kafka.bootstrap, "topic", AT_LEAST, **login, **{"sasl.username": "me", "sasl.password": "sesame street"}
    )
    with pytest.raises(PenstockError, match=r"KAFKA_(CREDENTIALS|UNREACHABLE).*security.protocol") as caught:
        write(sink, task(0), ["a"])
    assert "sesame" not in str(caught.value) + repr(sink.options)


def test_error_contains_the_element(kafka: Kafka, task: Tasks) -> None:
    sink = sink_to(kafka.bootstrap, kafka.create_topic(), AT_LEAST)
    writer = sink.writer(task(0))
    with pytest.raises(Exception, match="int"):
        writer.write(["a", 7, "b"], np.array([0, 0, 0]), None)
    assert writer.failed_on == (7,)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda b: b.build(), "no bootstrap servers"),
        (lambda b: b.set_bootstrap_servers("x:1").build(), "no record serializer"),
        (lambda b: b.set_delivery_guarantee("exactly-once"), "expected a DeliveryGuarantee"),
        (lambda b: b.set_lost_marker_policy("ignore"), '"fail", "write" or "skip"'),
        (lambda b: b.set_transactional_id_prefix(""), "empty"),
        (lambda b: b.set_record_serializer(SimpleStringSchema()), "KafkaRecordSerializationSchema.builder"),
    ],
)
def test_invalid_sink_settings(build: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(KafkaSink.builder())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda b: b.build(), "no topic"),
        (lambda b: b.set_topic("a").build(), "no value schema"),
        (lambda b: b.set_topic("a").set_topic_selector(str), "set twice"),
        (lambda b: b.set_topic_selector(7), "KafkaTopicSelector or a function"),
        (lambda b: b.set_value_serialization_schema(str), "expected a SerializationSchema"),
        (lambda b: b.set_partitioner(str), "expected a KafkaPartitioner"),
    ],
)
def test_invalid_serializer_settings(build: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(KafkaRecordSerializationSchema.builder())


def test_flink_kafka_producer(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    env = ps.StreamExecutionEnvironment()
    servers = {"bootstrap.servers": kafka.bootstrap}
    for semantic in (Semantic.EXACTLY_ONCE, Semantic.AT_LEAST_ONCE):
        producer = FlinkKafkaProducer(topic, SimpleStringSchema(), servers, semantic=semantic)
        env.from_collection([f"{semantic.value}"]).add_sink(producer.set_write_timestamp_to_kafka(True))
    Harness(env, real_sinks=True).run().close()
    assert sorted(texts(kafka, topic)) == ["at-least-once", "exactly-once"]
    assert FlinkKafkaProducer(topic, SimpleStringSchema(), servers).set_flush_on_checkpoint(False).guarantee is NONE
    with pytest.raises(UnsupportedOperation, match="would be lost"):
        FlinkKafkaProducer(topic, SimpleStringSchema(), servers).set_log_failures_only(True)
