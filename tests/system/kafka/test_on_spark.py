"""Kafka on Spark: resumed jobs, new partitions and limits at run time, alignment, transactions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.connectors.kafka import DeliveryGuarantee, KafkaOffsetsInitializer, KafkaSource
from penstock.errors import ConfigError
from penstock.jobs.registry import requests
from penstock.jobs.registry.registry import registry_of
from penstock.spark.report.run_folder import RunFolder
from penstock.state import ValueState
from penstock.windows import TumblingEventTimeWindows
from tests.servers import Kafka
from tests.system.kafka.jobs import LATEST, builder, write_transaction
from tests.system.kafka.writing import sink_to
from tests.system.spark.processes import checkpoint_in, lines_of
from tests.system.spark.test_jobs import environment
from tests.waiting import until

pytestmark = pytest.mark.spark


class Count(ps.KeyedProcessFunction):
    """Counts the elements per key."""

    def open(self, runtime_context: Any) -> None:
        self._count: ValueState[int] = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield [ctx.get_current_key(), count]


def offsets_of(checkpoint: str, topic: str) -> list[dict[str, int]]:
    """Returns the offsets of the topic after each batch, from Spark's offset log."""
    logged_offsets = []
    folder = Path(checkpoint, "spark", "offsets")
    for file in sorted((f for f in folder.iterdir() if f.name.isdigit()), key=lambda f: int(f.name)):
        lines = [json.loads(line) for line in file.read_text().splitlines() if line.startswith("{")]
        logged_offsets += [line[topic] for line in lines if topic in line]
    return logged_offsets


def test_cancelled_job_resumes(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic, group = kafka.create_topic(partitions=3), kafka.new_name("group")
    for partition in range(3):
        kafka.produce(topic, [f"{partition}-{n}" for n in range(1500)], partition=partition)

    def run(**options: Any) -> ps.JobClient:
        env = environment(tmp_path, **{"source.batch.records": 300, **options})
        stream = env.from_source(builder(kafka, topic).set_group_id(group).set_bounded(LATEST).build(), None, "numbers")
        stream.key_by(lambda v: v[-1]).process(Count()).uid("count").sink_to(JsonLinesSink(tmp_path / "out"))
        return env.execute_async("kafka")

    first = run()
    until(lambda: len(lines_of(tmp_path / "out")) > 600)
    first.cancel().result()
    assert len(lines_of(tmp_path / "out")) < 4_500
    kafka.produce(topic, ["0-late"], partition=0)  # after the stop offset that was resolved when the job started
    second = run(**{"execution.resume": checkpoint_in(tmp_path / "checkpoints"), "source.batch.records": 5000})
    second.get_job_execution_result().result()
    expected = [json.dumps([str(d), n]) for d in range(10) for n in range(1, 451)]
    assert [json.loads(line) for line in lines_of(tmp_path / "out")] == [json.loads(line) for line in sorted(expected)]
    group_offsets = (
        builder(kafka, topic).set_group_id(group).set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    )
    assert group_offsets.build().initial()[topic] == {"0": 1500, "1": 1500, "2": 1500}


def test_partitions_and_limits_change_while_a_job_runs(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [f"a{n}" for n in range(100)])
    env = environment(tmp_path)
    source = builder(kafka, topic).set_property("partition.discovery.interval.ms", "200").build()
    env.from_source(source, None, "numbers").map(lambda v: v).sink_to(JsonLinesSink(tmp_path / "out"))
    job = env.execute_async("grows")
    try:
        until(lambda: len(lines_of(tmp_path / "out")) >= 100)
        kafka.add_partitions(topic, 4)
        kafka.produce(topic, [f"b{n}" for n in range(50)], partition=3)
        until(lambda: len(lines_of(tmp_path / "out")) >= 150)
        registry = registry_of(env.configuration)
        entry = registry.entry(str(job.get_job_id()))
        assert entry is not None
        requests.request_limit(registry, entry, 40)
        folder: RunFolder = getattr(job._job, "folder")  # noqa: B009 - only jobs on Spark have one
        until(lambda: folder.record_limit() == 40)
        kafka.produce(topic, [f"c{n}" for n in range(200)], partition=1)
        until(lambda: len(lines_of(tmp_path / "out")) >= 350)
    finally:  # otherwise it would run during the next test
        job.cancel().result()
    places = [at["1"] for at in offsets_of(checkpoint_in(tmp_path / "checkpoints"), topic) if "1" in at]
    steps = [b - a for a, b in itertools.pairwise(places) if b > a]
    assert sum(steps) == 200
    assert max(steps) <= 40
    expected_values = [f"a{n}" for n in range(100)] + [f"b{n}" for n in range(50)] + [f"c{n}" for n in range(200)]
    assert sorted(json.loads(line) for line in lines_of(tmp_path / "out")) == sorted(expected_values)


def test_partition_ahead_is_paused_by_alignment(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, map(str, range(160)), partition=0, timestamps=range(1_000_000, 1_016_000, 100))
    kafka.produce(topic, map(str, range(160)), partition=1, timestamps=range(1_000_000, 1_160_000, 1_000))
    env = environment(tmp_path, **{"source.batch.records": 40})
    strategy = ps.WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment(
        "g", ps.Duration.of_seconds(30)
    )
    stream = env.from_source(builder(kafka, topic).set_bounded(LATEST).build(), strategy, "numbers")
    stream.key_by(lambda v: v[-1]).map(lambda v: v).sink_to(JsonLinesSink(tmp_path / "out"))
    env.execute("aligned")
    assert len(lines_of(tmp_path / "out")) == 320
    places = offsets_of(checkpoint_in(tmp_path / "checkpoints"), topic)
    ahead = [at["1"] * 1000 - at["0"] * 100 for at in places if at["0"] < 160]
    assert len(ahead) > 2
    assert max(ahead) <= 30_000 + 2 * 40 * 1000, "ahead by the drift and what the batches that were under way read"
    assert sum(a == b for a, b in zip([at["1"] for at in places], [at["1"] for at in places[1:]], strict=False)) > 1


def test_committed_transactions_only_in_event_time_windows(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic(partitions=5)
    for partition in range(5):
        write_transaction(kafka, topic, [f"{n}" for n in range(100)], partition)
        write_transaction(kafka, topic, ["never"] * 10, partition, end="abort")
    env = environment(tmp_path)
    source_builder = builder(kafka, topic).set_property("isolation.level", "read_committed").set_bounded(LATEST)
    stream = env.from_source(source_builder.build(), ps.WatermarkStrategy.for_monotonous_timestamps())
    windows = stream.key_by(len).window(TumblingEventTimeWindows.of(ps.Duration.of_days(400)))
    counted = windows.reduce(lambda a, b: str(int(a) + int(b)))
    assert sorted(int(v) for v in counted.execute_and_collect()) == [5 * 45, 5 * sum(range(10, 100))]


def test_missing_topic_error_names_the_source(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    env = environment(tmp_path)
    missing: KafkaSource = builder(kafka, kafka.new_name("nowhere")).build()
    env.from_source(missing, None, "clicks").print()
    with pytest.raises(ConfigError, match="KAFKA_UNKNOWN_TOPIC"):
        env.execute("missing")


def test_job_from_a_savepoint_writes_each_record_once(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic, out = kafka.create_topic(partitions=2), kafka.create_topic(partitions=2)
    for partition in range(2):
        kafka.produce(topic, [f"{partition}-{n}" for n in range(1000)], partition=partition)

    def run(parallelism: int, **options: Any) -> ps.JobClient:
        env = environment(tmp_path, **{"source.batch.records": 20, **options}).set_parallelism(parallelism)
        stream = env.from_source(builder(kafka, topic).set_bounded(LATEST).build(), None, "numbers").uid("numbers")
        counts = stream.key_by(lambda v: v[-1]).process(Count()).uid("count").map(json.dumps).uid("text")
        counts.sink_to(sink_to(kafka.bootstrap, out, DeliveryGuarantee.EXACTLY_ONCE)).uid("kafka")
        return env.execute_async("kafka")

    first = run(2)
    until(lambda: len(kafka.values(out)) > 200)
    path = first.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    assert len(kafka.values(out)) < 2000
    second = run(3, **{"execution.state-recovery.path": path, "source.batch.records": 5000})
    second.get_job_execution_result().result()
    expected_values = [json.dumps([str(d), n]).encode() for d in range(10) for n in range(1, 201)]
    assert sorted(v for v in kafka.values(out) if v is not None) == sorted(expected_values)
