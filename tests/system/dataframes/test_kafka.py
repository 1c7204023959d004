"""The Kafka source and sink of Spark in jobs, and the real-time mode of Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import SparkSink
from penstock.devservers.jars import get_jars
from penstock.errors import PlanError
from penstock.windows import TumblingEventTimeWindows
from tests.servers import Kafka
from tests.system.dataframes.test_from_dataframe import env_in
from tests.waiting import until

pytestmark = pytest.mark.spark
SCHEMA = "key string, ts long"


@pytest.fixture(scope="module")
def with_kafka(spark: SparkSession) -> SparkSession:
    """Adds jars to the session, which was started without them."""
    for jar in get_jars("spark-kafka").files:
        spark.sql(f"ADD JAR '{jar}'")
    return spark


def read(spark: SparkSession, kafka: Kafka, topic: str, **options: Any) -> Any:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").options(**options).load()


def test_each_partition_is_a_split_with_its_own_watermark(
    with_kafka: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    """One partition is far ahead of the other in every batch. No record of the other is late."""
    topic = kafka.create_topic(partitions=2)
    for partition, last in ((0, 9000), (1, 5000)):
        events = [json.dumps({"key": str(partition), "ts": t}) for t in range(0, last, 10)]
        kafka.produce(topic, events, partition=partition)
    frame = read(with_kafka, kafka, topic, maxOffsetsPerTrigger=300).selectExpr(
        "topic", "partition", "offset", f"from_json(cast(value as string), '{SCHEMA}') as event"
    )
    stream = env_in(tmp_path).from_dataframe(
        frame.selectExpr("topic", "partition", "offset", "event.key as key", "event.ts as ts", "1L as n"),
        ps.WatermarkStrategy.for_monotonous_timestamps(),
        timestamp_column="ts",
        split_by=["topic", "partition"],
        position_column="offset",
    )
    windows = stream.key_by(lambda r: r.key).window(TumblingEventTimeWindows.of(ps.Time.seconds(1)))
    counted = windows.aggregate(Count(), output_type=None)
    with counted.execute_and_collect() as found:
        rows = [next(found) for _ in range(8)]  # up to the watermark of the slower partition
    assert rows.count(100) == 8


class Count(ps.AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


def test_a_python_job_writes_with_the_kafka_sink_of_spark(
    with_kafka: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    message = ps.Types.ROW_NAMED(["key", "value"], [ps.Types.STRING(), ps.Types.STRING()])
    env = env_in(tmp_path)
    messages = env.from_sequence(0, 9).map(lambda n: ps.Row(key=str(n), value=f"v{n}"), output_type=message)
    messages.sink_to(SparkSink("kafka", {"kafka.bootstrap.servers": kafka.bootstrap, "topic": topic}))
    env.execute()
    assert sorted(v or b"" for v in kafka.values(topic)) == [f"v{n}".encode() for n in range(10)]


def test_real_time_mode_from_kafka_to_kafka(with_kafka: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    source, target = kafka.create_topic(), kafka.create_topic()
    kafka.produce(source, ["first"])
    env = env_in(tmp_path, **{"execution.real-time-mode": "10 min"})
    frame = read(with_kafka, kafka, source).selectExpr("key", "upper(cast(value as string)) as value")
    env.from_dataframe(frame).sink_to(SparkSink("kafka", {"kafka.bootstrap.servers": kafka.bootstrap, "topic": target}))
    job = env.execute_async()
    try:
        assert b"FIRST" in wait_for_values(kafka, target, 1)
        kafka.produce(source, ["second"])
        wait_for_values(kafka, target, 2)
        assert list(tmp_path.rglob("commits/[0-9]*")) == []  # records do not wait for the end of the batch
    finally:
        job.cancel().result()


def wait_for_values(kafka: Kafka, topic: str, count: int) -> list[bytes | None]:
    until(lambda: len(kafka.values(topic)) >= count)
    return kafka.values(topic)


def test_a_python_job_in_real_time_mode_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    env = env_in(tmp_path, **{"execution.real-time-mode": "5 s"})
    env.from_dataframe(spark.readStream.format("rate").load()).map(lambda r: r.value).print()
    with pytest.raises(
        PlanError, match=r"REAL_TIME.*'map' \(test_kafka.py:\d+\) runs Python; sink 'print'.* is not a SparkSink"
    ):
        env.execute()
