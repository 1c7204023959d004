"""Job Y on Flink SQL (Java operators only) and on PyFlink, job P on PyFlink, on Flink's mini cluster.

PyFlink uses thread mode, its faster mode. State is on the heap, with a checkpoint every ten seconds for job P, which is the fastest
configuration with fault-tolerant state.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from datetime import UTC
from pathlib import Path

from job import Run, arguments

OPTIONS = arguments()
SCRATCH = Path(OPTIONS.scratch).absolute()
tempfile.tempdir = os.environ["TMPDIR"] = str(SCRATCH)
os.environ["JVM_ARGS"] = f"-Xmx4g -Djava.io.tmpdir={SCRATCH}"
os.environ["FLINK_LOG_DIR"] = str(SCRATCH)
# The interpreter inside the JVM does not find the packages of this environment by default.
os.environ["PYTHONPATH"] = os.pathsep.join([sysconfig.get_paths()["purelib"], str(Path(__file__).parent)])

from pyflink.common import Configuration, Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import Sink
from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource, KafkaTopicPartition
from pyflink.datastream.formats.json import JsonRowDeserializationSchema
from pyflink.datastream.functions import AggregateFunction, KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment

FIELDS = ["user_id", "page_id", "ad_id", "ad_type", "event_type", "event_time", "ip_address"]
PYTHON_EVENTS = 400_000  # only a part of the topic, because PyFlink is slow
CAMPAIGN_OF = {f"ad-{ad}": f"camp-{ad // 10}" for ad in range(1000)}


def environment():
    settings = {
        "pipeline.jars": ";".join(f"file://{jar}" for jar in OPTIONS.jars.split(",")),
        "parallelism.default": "2",
        "taskmanager.numberOfTaskSlots": "2",
        "execution.runtime-mode": "STREAMING",
        "state.backend.type": "hashmap",
        "taskmanager.memory.managed.size": "512m",
        "python.execution-mode": "thread",
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "rest.bind-address": "127.0.0.1",
        "rest.bind-port": "28081-28199",
        "execution.checkpointing.dir": f"file://{SCRATCH}/checkpoints",
        "io.tmp.dirs": str(SCRATCH),
    }
    if OPTIONS.job == "P":
        settings["execution.checkpointing.interval"] = "10 s"
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def job_y(env, run):
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("table.local-time-zone", "UTC")
    tables.execute_sql(
        f"""CREATE TABLE ads (user_id STRING, page_id STRING, ad_id STRING, ad_type STRING, event_type STRING,
        event_time BIGINT, ip_address STRING, ts AS TO_TIMESTAMP_LTZ(event_time, 3),
        WATERMARK FOR ts AS ts - INTERVAL '10' SECOND) WITH ('connector' = 'kafka', 'topic' = '{OPTIONS.topic}',
        'properties.bootstrap.servers' = '{OPTIONS.bootstrap}', 'properties.group.id' = 'flink',
        'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json')"""
    )
    # Computes the campaign by arithmetic, which is cheaper for Flink than a map of 1,000 ads.
    campaign = "CONCAT('camp-', CAST(CAST(SUBSTRING(ad_id FROM 4) AS INT) / 10 AS STRING))"
    tables.execute_sql(
        f"CREATE TEMPORARY VIEW ad_views AS SELECT {campaign} AS campaign, ts FROM ads WHERE event_type = 'view'"
    )
    query = """SELECT campaign, window_start, COUNT(*) FROM TABLE(
        TUMBLE(TABLE ad_views, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY campaign, window_start, window_end"""
    with tables.execute_sql(query).collect() as rows:
        counts = [(row[0], int(row[1].replace(tzinfo=UTC).timestamp() * 1000), row[2]) for row in rows]
    run.end(OPTIONS.events, counts=counts, emitted=len(counts))


class Process(KeyedProcessFunction):
    def open(self, runtime_context):
        kind = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", kind))

    def process_element(self, value, ctx):
        at, seen = value[5], self.seen.value()
        count, gap = (1, -1) if seen is None else (seen[0] + 1, at - seen[1])
        self.seen.update((count, at))
        yield value[0], count, gap


def first_events():
    """Returns a source of the first events of the topic, and their number."""
    events = min(OPTIONS.events, PYTHON_EVENTS) // 2 * 2
    kind = Types.ROW_NAMED(FIELDS, [Types.STRING()] * 5 + [Types.LONG(), Types.STRING()])
    ends = {KafkaTopicPartition(OPTIONS.topic, partition): events // 2 for partition in (0, 1)}
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(OPTIONS.bootstrap)
        .set_topics(OPTIONS.topic)
        .set_group_id("flink")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.offsets(ends))
        .set_value_only_deserializer(JsonRowDeserializationSchema.builder().type_info(kind).build())
        .build()
    )
    return source, events


def discard(stream):
    stream.sink_to(Sink(get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()))


def job_p(env, run):
    source, events = first_events()
    users = env.from_source(source, WatermarkStrategy.no_watermarks(), "ads").key_by(
        lambda event: event[0], key_type=Types.STRING()
    )
    discard(users.process(Process(), output_type=Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])))
    env.execute("P")
    run.end(events)


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


def job_y_python(env, run):
    source, events = first_events()
    lag = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    counts = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "ads")
        .filter(lambda event: event[4] == "view")
        .map(lambda event: (CAMPAIGN_OF[event[2]], event[5]), Types.TUPLE([Types.STRING(), Types.LONG()]))
        .assign_timestamps_and_watermarks(lag.with_timestamp_assigner(EventTime()))
        .key_by(lambda view: view[0], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .aggregate(Count(), accumulator_type=Types.LONG(), output_type=Types.LONG())
    )
    discard(counts)
    env.execute("Y")
    run.end(events)


def main():
    env = environment()
    run = Run()
    sql_or_python = job_y_python if OPTIONS.mode == "python" else job_y
    {"Y": sql_or_python, "P": job_p}[OPTIONS.job](env, run)


if __name__ == "__main__":
    main()
