"""Jobs Y and P on Penstock, as ordinary DataStream programs. Job Y writes the current counts to Redis each second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from job import Run, arguments

import penstock as ps
from penstock.connectors import DiscardingSink
from penstock.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.connectors.redis import RedisMapper, RedisSink
from penstock.formats import JsonDeserializationSchema
from penstock.functions import KeyedProcessFunction, ProcessWindowFunction
from penstock.functions.named_aggregates import count
from penstock.spark.session.session import get_session
from penstock.state import ValueStateDescriptor
from penstock.windows import EarlyFiringTrigger, TumblingEventTimeWindows

PER_BATCH = {"Y": 1_250_000, "P": 500_000}  # about one second of work, so that there are results each second
CAMPAIGN_OF = {f"ad-{ad}": f"camp-{ad // 10}" for ad in range(1000)}


class View(msgspec.Struct, gc=False):
    """The fields of an event that job Y needs."""

    ad_id: str
    event_type: str
    event_time: int


class Visit(msgspec.Struct, gc=False):
    """The fields of an event that job P needs."""

    user_id: str
    event_time: int


class WithWindow(ProcessWindowFunction):
    """Emits a count with its campaign and the start of its window."""

    def process(self, key: str, context: Any, elements: Any) -> Iterator[tuple[str, int, int]]:
        for counted in elements:
            yield key, context.window().start, counted


class Process(KeyedProcessFunction):
    """Counts the events of a user, and computes the time since the last one."""

    def open(self, runtime_context: Any) -> None:
        kind = ps.Types.TUPLE([ps.Types.LONG(), ps.Types.LONG()])
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", kind))

    def process_element(self, value: Visit, ctx: Any) -> Iterator[tuple[str, int, int | None]]:
        seen, at = self._seen.value(), value.event_time
        times, gap = (1, None) if seen is None else (seen[0] + 1, at - seen[1])
        self._seen.update((times, at))
        yield value.user_id, times, gap


def events(env: Any, options: Any, kind: type) -> Any:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.bootstrap)
        .set_topics(options.topic)
        .set_group_id("penstock")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(JsonDeserializationSchema(kind))
        .build()
    )
    return env.from_source(source, ps.WatermarkStrategy.no_watermarks(), "ads")


def job_y(env: Any, options: Any) -> None:
    lag = ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_seconds(10))
    mapper = RedisMapper.hash(key=lambda c: c[0], field=lambda c: c[1], value=lambda c: c[2])
    host, port = options.redis.split(":")
    (
        events(env, options, View)
        .filter(lambda event: event.event_type == "view")
        .map(lambda event: (CAMPAIGN_OF[event.ad_id], event.event_time))
        .assign_timestamps_and_watermarks(lag.with_timestamp_assigner(lambda view, _: view[1]))
        .key_by(lambda view: view[0])
        .window(TumblingEventTimeWindows.of(ps.Duration.of_seconds(10)))
        # A firing waits for the start of the next batch. With half a second, no value in Redis is older than one second.
        .trigger(EarlyFiringTrigger.of(ps.Duration.of_millis(500)))
        .aggregate(count(), WithWindow())
        .sink_to(RedisSink.builder().set_host(host).set_port(int(port)).set_mapper(mapper).build())
    )


def job_p(env: Any, options: Any) -> None:
    events(env, options, Visit).key_by(lambda visit: visit.user_id).process(Process()).sink_to(DiscardingSink())


def main() -> None:
    options = arguments()
    configuration = ps.Configuration(
        {
            "spark.master": "local[2]",
            # The JVM only coordinates. Its second compiler and concurrent garbage collection would take CPU time from the
            # Python workers.
            "spark.jvm-options": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "source.batch.records": PER_BATCH[options.job],
            "execution.checkpointing.dir": str(Path(options.scratch, "checkpoint")),
            "state.local.dir": str(Path(options.scratch, "state")),
        }
    )
    get_session(configuration)
    env = ps.StreamExecutionEnvironment(configuration)
    run = Run()
    {"Y": job_y, "P": job_p}[options.job](env, options)
    result = env.execute()
    batches = [(sum(b["read"].values()), b["millis"]["triggerExecution"]) for b in result.batches if b["read"]]
    run.end(sum(read for read, _ in batches), batches=batches)


if __name__ == "__main__":
    main()
