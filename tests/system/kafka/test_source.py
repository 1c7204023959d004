"""The Kafka source with a real broker, in the harness: start and stop offsets, records, errors."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import StreamExecutionEnvironment, WatermarkStrategy
from penstock.connectors.kafka import (
    FlinkKafkaConsumer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaTopicPartition,
)
from penstock.connectors.source import Chunk, Offset
from penstock.errors import ConfigError, JobError
from penstock.formats.strings import SimpleStringSchema
from penstock.testing import Harness
from tests.servers import Kafka
from tests.system.kafka.jobs import (
    LATEST,
    bounded,
    builder,
    delete_before,
    read_all,
    read_directly,
    wait_until_stable,
    write_transaction,
)


def numbers(low: int, high: int) -> list[str]:
    return [str(n) for n in range(low, high)]


def batch(source: KafkaSource, start: Offset, parallelism: int = 2) -> tuple[Offset, list[str]]:
    """Reads one batch. Returns its end offset and the values."""
    end = source.latest(start)
    return end, [
        v for task in source.plan(start, end, parallelism) for chunk in source.read(task) for v in chunk.values
    ]


def test_all_partitions_are_read_to_their_ends_and_no_further(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=3)
    for partition in range(3):
        kafka.produce(topic, numbers(partition * 100, partition * 100 + 50), partition=partition)
    source = bounded(kafka, topic)
    start = source.initial()
    kafka.produce(topic, ["too late"], partition=1)
    end, values = batch(source, start)
    assert sorted(values, key=int) == numbers(0, 50) + numbers(100, 150) + numbers(200, 250)
    assert end[topic] == {"0": 50, "1": 50, "2": 50}
    assert source.ended(end) == source.splits(end) == [f"{topic}-{p}" for p in range(3)]
    assert source.latest(end) == end
    assert sorted(read_all(bounded(kafka, topic))) == sorted([*values, "too late"])


def test_an_element_has_the_time_of_its_record_and_its_offset_is_its_position(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, ["a", "b", "c"], timestamps=[1_000, 3_000, 2_000])
    source = bounded(kafka, topic)
    start = source.initial()
    (task,) = source.plan(start, source.latest(start), 2)
    (chunk,) = source.read(task)
    assert (chunk.split, chunk.start) == (f"{topic}-0", 0)
    assert (chunk.values, chunk.timestamps, list(chunk.positions)) == (["a", "b", "c"], [1000, 3000, 2000], [0, 1, 2])


def test_watermarks_are_those_of_the_slowest_partition(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, ["a", "b"], partition=0, timestamps=[1_000, 9_000])
    kafka.produce(topic, ["c"], partition=1, timestamps=[4_000])
    env = StreamExecutionEnvironment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_source(builder(kafka, topic).build(), strategy).key_by(lambda v: v).map(lambda v: v).uid("kept")
    harness = Harness(env)
    harness.collect(stream)
    with harness:
        harness.run()
        assert harness.watermark("kept") == 3_999


# -- start offsets


def test_starting_offsets(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in range(2):
        kafka.produce(topic, numbers(0, 10), partition=partition, timestamps=range(1_000, 2_000, 100))

    def start_offsets(initializer: KafkaOffsetsInitializer, group: str | None = None) -> dict[str, int]:
        source_builder = builder(kafka, topic).set_starting_offsets(initializer)
        source = (source_builder if group is None else source_builder.set_group_id(group)).build()
        result: dict[str, int] = source.initial()[topic]
        return result

    start = KafkaOffsetsInitializer
    assert start_offsets(start.earliest()) == {"0": 0, "1": 0}
    assert start_offsets(start.latest()) == {"0": 10, "1": 10}
    assert start_offsets(start.timestamp(1_350)) == {"0": 4, "1": 4}
    assert start_offsets(start.timestamp(5_000)) == {"0": 10, "1": 10}  # none is so young: the end
    given_offsets = {KafkaTopicPartition(topic, 1): 7}
    assert start_offsets(start.offsets(given_offsets)) == {"0": 0, "1": 7}
    assert start_offsets(start.offsets(given_offsets, KafkaOffsetResetStrategy.LATEST)) == {"0": 10, "1": 7}
    with pytest.raises(ConfigError, match=f"partition 0 of topic '{topic}'") as caught:
        start_offsets(start.offsets(given_offsets, KafkaOffsetResetStrategy.NONE))
    assert caught.value.code == "KAFKA_NO_OFFSET"
    group = kafka.new_name("group")
    with pytest.raises(ConfigError, match="EARLIEST or LATEST"):
        start_offsets(start.committed_offsets(), group)
    assert start_offsets(start.committed_offsets(KafkaOffsetResetStrategy.LATEST), group) == {"0": 10, "1": 10}


def test_group_offsets_are_committed_and_used_as_start(kafka: Kafka) -> None:
    topic, group = kafka.create_topic(partitions=2), kafka.new_name("group")
    kafka.produce(topic, numbers(0, 20), partition=0)
    first = builder(kafka, topic).set_group_id(group).build()
    start = first.initial()
    end, values = batch(first, start)
    assert len(values) == 20
    first.committed(end)
    kafka.produce(topic, ["new"], partition=1)
    committed = (
        builder(kafka, topic).set_group_id(group).set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    )
    deadline = time.monotonic() + 180
    while (result := committed.build().initial()[topic] if _has_committed(kafka, group, topic) else None) is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert result == {"0": 20, "1": 0}
    assert read_all(committed.set_bounded(LATEST).build()) == ["new"]


def _has_committed(kafka: Kafka, group: str, topic: str) -> bool:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group, "log_level": 0})
    try:
        return bool(consumer.committed([TopicPartition(topic, 0)], timeout=180)[0].offset > 0)
    finally:
        consumer.close()


def test_no_offsets_are_committed_without_a_group_or_if_disabled(kafka: Kafka) -> None:
    topic, group = kafka.create_topic(), kafka.new_name("group")
    kafka.produce(topic, ["a"])
    without = builder(kafka, topic).build()
    without.committed({topic: {"0": 1}})
    unwanted = builder(kafka, topic).set_group_id(group).set_property("commit.offsets.on.checkpoint", "false").build()
    unwanted.committed({topic: {"0": 1}})
    time.sleep(0.5)
    assert not _has_committed(kafka, group, topic)


# -- stop offsets


def test_stopping_offsets_are_resolved_once_and_stored(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, numbers(0, 10), partition=0)
    source = bounded(kafka, topic)
    source.records_per_batch = 4
    start = source.initial()
    middle, first = batch(source, start)
    kafka.produce(topic, ["later"], partition=0)
    resumed = bounded(kafka, topic)  # as after a restart: it has only the offset
    end, rest = batch(resumed, middle)
    assert first + rest == numbers(0, 10)
    assert resumed.ended(start) == [f"{topic}-1"]  # the partition was empty when the job started
    assert resumed.ended(end) == [f"{topic}-0", f"{topic}-1"]


def test_stopping_at_a_time_or_at_offsets(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, numbers(0, 10), timestamps=range(1_000, 2_000, 100))
    by_time = builder(kafka, topic).set_bounded(KafkaOffsetsInitializer.timestamp(1_500)).build()
    assert read_all(by_time) == numbers(0, 5)
    stop = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 3})
    assert read_all(builder(kafka, topic).set_bounded(stop).build()) == numbers(0, 3)
    streaming = builder(kafka, topic).set_unbounded(stop).build()
    assert not streaming.bounded
    env = StreamExecutionEnvironment()
    harness = Harness(env)
    out = harness.collect(env.from_source(streaming))
    with harness:
        harness.run()
    assert (list(out), harness._ended) == (numbers(0, 3), True)


# -- transactions


def test_gaps_of_transactions_are_read_over(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    write_transaction(kafka, topic, numbers(0, 5))
    write_transaction(kafka, topic, ["never"] * 5, end="abort")
    write_transaction(kafka, topic, numbers(5, 7))
    committed = builder(kafka, topic).set_property("isolation.level", "read_committed").set_bounded(LATEST)
    committed.set_property("default.api.timeout.ms", "600000")
    began = time.monotonic()
    assert read_all(committed.build()) == numbers(0, 7)
    assert time.monotonic() - began < 60  # it does not wait for records until the timeout
    assert read_all(bounded(kafka, topic)) == numbers(0, 5) + ["never"] * 5 + numbers(5, 7)
    source = committed.build()
    start = source.initial()
    (task,) = source.plan(start, source.latest(start), 2)
    assert [p for chunk in source.read(task) for p in chunk.positions] == [0, 1, 2, 3, 4, 12, 13]
    assert source.latest(start)[topic]["0"] == 15


def test_range_may_end_inside_a_gap(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    for number in range(6):
        values = numbers(number * 3, number * 3 + 3)
        write_transaction(kafka, topic, values, end="commit" if number % 2 else "abort")
    source = builder(kafka, topic).set_property("isolation.level", "read_committed").set_bounded(LATEST).build()
    at: Offset = source.initial()
    result: list[str] = []
    for high in range(1, 25):
        end = {**at, topic: {"0": high}}
        result += [v for task in source.plan(at, end, 1) for chunk in source.read(task) for v in chunk.values]
        at = end
    assert result == [v for number in (1, 3, 5) for v in numbers(number * 3, number * 3 + 3)]


def test_read_committed_stops_before_an_open_transaction(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, ["before"])
    producer = write_transaction(kafka, topic, ["open"], end="open")
    kafka.produce(topic, ["behind"])
    source = builder(kafka, topic).set_property("isolation.level", "read_committed").build()
    start = source.initial()
    middle, values = batch(source, start)
    assert values == ["before"]
    assert read_all(bounded(kafka, topic)) == ["before", "open", "behind"]
    producer.commit_transaction(180)
    deadline = time.monotonic() + 180
    result: list[str] = []
    while len(result) < 2:
        assert time.monotonic() < deadline
        middle, more = batch(source, middle)
        result += more
    assert result == ["open", "behind"]


# -- partitions


def test_many_partitions_over_few_tasks_and_one_partition_over_many(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=17)
    for partition in range(17):
        kafka.produce(topic, numbers(partition * 1000, partition * 1000 + partition * 10), partition=partition)
    source = bounded(kafka, topic)
    start = source.initial()
    end = source.latest(start)
    assert len(source.plan(start, end, 3)) == 3
    expected = sorted(v for p in range(17) for v in numbers(p * 1000, p * 1000 + p * 10))
    assert sorted(read_all(source, 3)) == expected
    one = kafka.create_topic()
    kafka.produce(one, numbers(0, 30_000))
    source = bounded(kafka, one)
    start = source.initial()
    end = source.latest(start)
    tasks = source.plan(start, end, 3)
    assert [[r[2:] for r in task] for task in tasks] == [[(0, 10_000)], [(10_000, 20_000)], [(20_000, 30_000)]]
    assert [v for task in tasks for chunk in source.read(task) for v in chunk.values] == numbers(0, 30_000)


def test_new_partitions_are_read_from_the_start(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, ["old"])
    source = (
        builder(kafka, topic).set_property("partition.discovery.interval.ms", "1").set_starting_offsets(LATEST).build()
    )
    start = source.initial()
    assert batch(source, start) == (start, [])
    kafka.add_partitions(topic, 3)
    kafka.produce(topic, ["new"], partition=2)
    at: Offset = start
    result: list[str] = []
    deadline = time.monotonic() + 180
    while not result:
        assert time.monotonic() < deadline
        at, result = batch(source, at)
    assert (result, at[topic]) == (["new"], {"0": 1, "1": 0, "2": 1})
    assert source.splits(at) == [f"{topic}-{p}" for p in range(3)]


def test_repeated_batch_with_a_new_partition_reads_the_same(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    source = builder(kafka, topic).set_property("partition.discovery.interval.ms", "1").build()
    start = source.initial()
    kafka.produce(topic, ["a"], partition=0)
    kafka.add_partitions(topic, 2)
    kafka.produce(topic, ["b"], partition=1)
    deadline = time.monotonic() + 180
    while "1" not in (end := source.latest(start))[topic]:
        assert time.monotonic() < deadline
    again = builder(kafka, topic).build()  # after a restart, with what Spark's log has
    assert again.plan(start, end, 2) == source.plan(start, end, 2) == [[(topic, 0, 0, 1)]]


def test_pattern_finds_topics_created_later(kafka: Kafka) -> None:
    prefix = kafka.new_name("shop")
    first = kafka.create_topic(f"{prefix}.orders")
    kafka.create_topic(f"other-{prefix}.orders")
    kafka.produce(first, ["a"])
    source_builder = (
        builder(kafka).set_topic_pattern(f"{prefix}[.].*").set_property("partition.discovery.interval.ms", "1")
    )
    source = source_builder.build()
    at = source.initial()
    assert list(at) == [first]
    at, result = batch(source, at)
    second = kafka.create_topic(f"{prefix}.returns")
    kafka.produce(second, ["b"])
    deadline = time.monotonic() + 180
    while len(result) < 2:
        assert time.monotonic() < deadline
        at, more = batch(source, at)
        result += more
    assert result == ["a", "b"]
    assert list(at) == [first, second]
    nothing = builder(kafka).set_topic_pattern(kafka.new_name("nothing")).set_bounded(LATEST).build()
    assert read_all(nothing) == []


def test_given_partitions_only(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=3)
    for partition in range(3):
        kafka.produce(topic, [f"p{partition}"], partition=partition)
    chosen_partitions = {KafkaTopicPartition(topic, 0), KafkaTopicPartition(topic, 2)}
    assert sorted(read_all(builder(kafka).set_partitions(chosen_partitions).set_bounded(LATEST).build())) == [
        "p0",
        "p2",
    ]
    missing = builder(kafka).set_partitions({KafkaTopicPartition(topic, 7)}).build()
    with pytest.raises(ConfigError, match=f"no partition 7 of topic '{topic}'"):
        missing.initial()


# -- batch size


def test_the_limit_is_shared_in_proportion_and_may_change(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, numbers(0, 900), partition=0)
    kafka.produce(topic, numbers(900, 1000), partition=1)
    source = builder(kafka, topic).build()
    source.records_per_batch = 100
    start = source.initial()
    first, values = batch(source, start)
    assert (first[topic], len(values)) == ({"0": 90, "1": 10}, 100)
    assert source.waiting(first) == [f"{topic}-0", f"{topic}-1"]
    source.records_per_batch = 500
    second, values = batch(source, first)
    assert len(values) == 500
    source.records_per_batch = 10_000
    third, values = batch(source, second)
    assert (third[topic], source.waiting(third)) == ({"0": 900, "1": 100}, [])


def test_paused_split_is_not_advanced(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in range(2):
        kafka.produce(topic, numbers(0, 5), partition=partition)
    source = builder(kafka, topic).build()
    start = source.initial()
    source.paused = frozenset({f"{topic}-0"})
    end, _ = batch(source, start)
    assert end[topic] == {"0": 0, "1": 5}
    assert source.waiting(end) == [f"{topic}-0"]
    assert source.latest(end) == end
    source.paused = frozenset()
    time.sleep(0.05)
    assert batch(source, end)[0][topic] == {"0": 5, "1": 5}


@pytest.mark.parametrize("by", ["brokers", "client"])
def test_consumers_continue_at_their_position(kafka: Kafka, by: str) -> None:
    from penstock.connectors.kafka.source import consumers

    topic = kafka.create_topic()
    kafka.produce(topic, numbers(0, 1000))
    source_builder = builder(kafka, topic).set_client_id_prefix(kafka.new_name("client"))
    source = (source_builder if by == "brokers" else source_builder.set_property("check.crcs", "true")).build()
    source.records_per_batch = 100
    at, result = source.initial(), []
    used = set()
    for _ in range(10):
        at, values = batch(source, at, 1)
        result += values
        idle = [c for some in consumers._idle.values() for c in some]
        if by == "client":
            used |= {id(c) for c in idle if (topic, 0) in c.positions}
        else:
            used |= {id(c) for c in idle if c.direct is not None and (topic, 0) in c.direct._leaders}
    assert result == numbers(0, 1000)
    assert len(used) == 1
    # A batch that runs again is read again, from its start.
    assert batch(source, {topic: {"0": 100}}, 1)[1] == numbers(100, 200)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_direct_reader_and_client_read_the_same(kafka: Kafka, codec: str) -> None:
    topic = kafka.create_topic(config={"compression.type": codec if codec != "none" else "uncompressed"})
    kafka.produce(topic, [*numbers(0, 3000), ""], timestamps=range(1, 3002))
    write_transaction(kafka, topic, ["never"] * 5, end="abort")
    kafka.produce(topic, ["x" * 900_000, "last"], timestamps=[5, 6])
    wait_until_stable(kafka, topic)
    for isolation in ("read_committed", "read_uncommitted"):
        source_builder = builder(kafka, topic).set_property("isolation.level", isolation).set_bounded(LATEST)
        source_builder.set_property("client.id", topic)  # no other test has used a consumer with these options
        by_brokers, by_client = source_builder.build(), source_builder.set_property("check.crcs", "true").build()
        start = by_brokers.initial()
        end = by_brokers.latest(start)
        one, other = (
            [row for task in by_brokers.plan(start, end, 4) for chunk in s.read(task) for row in rows(chunk)]
            for s in (by_brokers, by_client)
        )
        assert one == other
        assert len(one) == 3003 + (5 if isolation == "read_uncommitted" else 0)
        assert one[0] == ("0", 0, 1)
        assert read_directly(by_brokers), "all of it came from the broker itself"


def rows(chunk: Chunk) -> list[tuple[Any, int, int]]:
    assert chunk.timestamps is not None
    return list(zip(chunk.values, map(int, chunk.positions), chunk.timestamps, strict=True))


# -- records


class Everything(KafkaRecordDeserializationSchema[Any]):
    def deserialize(self, record: KafkaRecord) -> Iterator[Any]:
        if record.value == b"twice":
            yield record.offset, "one"
            yield record.offset, "two"
        elif record.value == b"bad":
            raise ValueError("is bad")
        elif record.value is not None:
            yield record.topic, record.partition, record.offset, record.timestamp, record.key, record.headers


def test_record_schema_gets_all_fields_and_yields_any_number(kafka: Kafka) -> None:
    from confluent_kafka import Producer

    topic = kafka.create_topic()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    producer.produce(topic, b"v", b"k", headers=[("a", b"1"), ("b", None)], timestamp=1234)
    producer.produce(topic, None, b"k", timestamp=1)
    producer.produce(topic, b"twice", timestamp=5)
    producer.flush()
    source = KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap).set_topics(topic)
    assert read_all(source.set_deserializer(Everything()).set_bounded(LATEST).build()) == [
        (topic, 0, 0, 1234, b"k", [("a", b"1"), ("b", None)]),
        (2, "one"),
        (2, "two"),
    ]
    by_function = KafkaRecordDeserializationSchema.of(lambda r: (r.key, r.value))
    assert read_all(source.set_deserializer(by_function).build()) == [(b"k", b"v"), (b"k", None), (None, b"twice")]


def test_records_without_a_value_are_skipped(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, ["a", None, "b"], keys=["1", "2", "3"])
    source = bounded(kafka, topic)
    assert read_all(source) == ["a", "b"]


# -- bad input


def test_invalid_records(kafka: Kafka) -> None:
    from penstock.errors import UserFunctionError
    from penstock.functions import DEAD_LETTERS

    topic = kafka.create_topic()
    kafka.produce(topic, [b"a", b"\xff\xfe", b"b"], timestamps=[10, 20, 30])

    def read_with_dead_letters(source: KafkaSource) -> tuple[list[Any], list[Any]]:
        env = StreamExecutionEnvironment()
        stream = env.from_source(source, on_error="dead_letter")
        harness = Harness(env)
        out, dead = harness.collect(stream), harness.collect(stream.get_side_output(DEAD_LETTERS))
        with harness:
            harness.run()
        return list(out), list(dead)

    with pytest.raises(UserFunctionError, match=f"topic {topic}, partition 0, offset 1") as caught:
        read_all(bounded(kafka, topic))
    assert "on_error" in str(caught.value)
    good, (letter,) = read_with_dead_letters(bounded(kafka, topic))
    assert good == ["a", "b"]
    assert (letter.raw, letter.position, letter.timestamp) == (b"\xff\xfe", 1, 20)
    kafka.produce(topic, [b"bad"], keys=["k"])
    record_builder = (
        KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap).set_topics(topic).set_deserializer(Everything())
    )
    good, (letter,) = read_with_dead_letters(record_builder.set_bounded(LATEST).build())
    assert (len(good), letter.raw, letter.message) == (3, b"bad", "is bad")
    assert read_all(bounded(kafka, topic), on_error="skip") == ["a", "b", "bad"]


def test_missing_topic(kafka: Kafka) -> None:
    source = builder(kafka, kafka.new_name("nowhere")).build()
    with pytest.raises(ConfigError, match="has no topic 'nowhere") as caught:
        source.initial()
    assert caught.value.code == "KAFKA_UNKNOWN_TOPIC"


def test_broker_that_does_not_respond() -> None:
    source_builder = (
        KafkaSource.builder().set_bootstrap_servers("127.0.0.1:9").set_topics("a").set_deserializer(Everything())
    )
    source = source_builder.set_property("default.api.timeout.ms", "1000").build()
    for call in (source.initial, lambda: list(source.read([("a", 0, 0, 5)]))):
        began = time.monotonic()
        with pytest.raises(JobError, match=r"127\.0\.0\.1:9 does not respond.* default\.api\.timeout\.ms") as caught:
            call()
        assert caught.value.code == "KAFKA_UNREACHABLE"
        assert time.monotonic() - began < 25  # the default is 30 s


@pytest.mark.parametrize(
    ("reset", "expected"), [("earliest", numbers(60, 100)), ("latest", []), (None, "KAFKA_OFFSET_OUT_OF_RANGE")]
)
def test_records_that_were_deleted_before_they_were_read(kafka: Kafka, reset: str | None, expected: Any) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, numbers(0, 100))
    delete_before(kafka, topic, 0, 60)

    def source_builder() -> KafkaSource:
        options = {} if reset is None else {"auto.offset.reset": reset}
        return builder(kafka, topic).set_properties(options).build()

    saved = {topic: {"0": 50}}
    if reset is None:
        with pytest.raises(
            JobError, match=r"offset 50 of partition 0 .* offsets 60 to 100.*auto\.offset\.reset"
        ) as caught:
            source_builder().latest(saved)
        assert caught.value.code == expected
        with pytest.raises(JobError, match="offsets 60 to 100") as caught:  # planned before it was deleted
            list(source_builder().read([(topic, 0, 50, 70)]))
        return
    source = source_builder()
    end, values = batch(source, saved)
    assert (end[topic], values) == ({"0": 100}, expected)


def test_recreated_topic_is_detected(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, ["only"])
    saved = {topic: {"0": 1000}}
    with pytest.raises(JobError, match=r"offset 1000 .* offsets 0 to 1"):
        builder(kafka, topic).build().latest(saved)
    resumed_source = builder(kafka, topic).set_property("auto.offset.reset", "earliest").build()
    end, _ = batch(resumed_source, saved)
    assert end[topic] == {"0": 1}
    assert batch(resumed_source, {topic: {"0": 0}})[1] == ["only"]


def test_chunks_are_limited_by_bytes_and_records(kafka: Kafka) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "20000000"})
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.bootstrap, "message.max.bytes": 20_000_000, "log_level": 0})
    for size in (10, 5_000_000, 20, 12_000_000, 12_000_000, 12_000_000, 30):
        producer.produce(topic, b"x" * size)
        producer.flush()
    source = bounded(kafka, topic)
    start = source.initial()
    (task,) = source.plan(start, source.latest(start), 1)
    sizes = [[len(v) for v in chunk.values] for chunk in source.read(task)]
    assert list(itertools.chain(*sizes)) == [10, 5_000_000, 20, 12_000_000, 12_000_000, 12_000_000, 30]
    assert len(sizes) > 1


def test_source_waits_for_a_broker_restart(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, numbers(0, 10))
    source = builder(kafka, topic).build()
    at, values = batch(source, source.initial())
    kafka.stop()
    kafka.start()
    kafka.produce(topic, numbers(10, 20))
    time.sleep(0.1)
    assert Counter(values + batch(source, at)[1]) == Counter(numbers(0, 20))


def test_flink_kafka_consumer(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, numbers(0, 5), partition=1)
    with pytest.warns(DeprecationWarning, match="Use KafkaSource"):
        old = FlinkKafkaConsumer(
            [topic], SimpleStringSchema(), {"bootstrap.servers": kafka.bootstrap, "group.id": topic}
        )
    env = StreamExecutionEnvironment()
    stream = env.add_source(old.set_start_from_earliest())
    harness = Harness(env)
    out = harness.collect(stream)
    with harness:
        harness.run()
    assert list(out) == numbers(0, 5)
