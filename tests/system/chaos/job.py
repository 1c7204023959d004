"""The job of the chaos test: from Kafka through two stateful operators to Kafka (exactly once) and files.

Run as: python job.py SETTINGS, a file of JSON. Prints DONE at its end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.connectors.kafka import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.formats import SimpleStringSchema
from tests.system.chaos.events import EVERY, GROUPS, WINDOW, running_row, window_row

ROWS = ps.OutputTag("rows")


class Running(ps.KeyedProcessFunction):
    """Counts and sums per user. Emits a row for every ten events."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", ps.Types.LONG()))
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", ps.Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        user, amount, _ = value
        count, total = (self.count.value() or 0) + 1, (self.total.value() or 0) + amount
        self.count.update(count)
        self.total.update(total)
        if count % EVERY == 0:
            yield ROWS, running_row(user, count, total)
        yield user % GROUPS, amount


class Windows(ps.KeyedProcessFunction):
    """Counts and sums per group and window. Emits them when event time has passed the end of the window."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        kind = ps.Types.TUPLE([ps.Types.LONG(), ps.Types.LONG()])
        self.sums = runtime_context.get_map_state(ps.MapStateDescriptor("sums", ps.Types.LONG(), kind))

    def process_element(self, value: Any, ctx: Any) -> None:
        start = ctx.timestamp() // WINDOW * WINDOW
        count, total = self.sums.get(start) or (0, 0)
        self.sums.put(start, (count + 1, total + value[1]))
        if not count:
            ctx.timer_service().register_event_time_timer(start + WINDOW - 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        start = timestamp + 1 - WINDOW
        count, total = self.sums.get(start) or (0, 0)
        self.sums.remove(start)
        yield window_row(ctx.get_current_key(), start, count, total)


def sink(bootstrap: str, topic: str, whole_batches: bool) -> KafkaSink:
    rows = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder = KafkaSink.builder().set_bootstrap_servers(bootstrap).set_whole_batches(whole_batches)
    builder.set_record_serializer(rows.set_value_serialization_schema(SimpleStringSchema()).build())
    return builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()


def parse(line: str) -> tuple[int, int, int]:
    user, amount, time = line.split(",")
    return int(user), int(amount), int(time)


def main() -> None:
    arguments = json.loads(Path(sys.argv[1]).read_text())
    settings = {
        "execution.checkpointing.dir": arguments["checkpoints"],
        "spark.master": "local[2,2]",
        "source.batch.records": arguments["per_batch"],
        "state.log.least-bytes": 64 << 10,  # merge deltas from the start, so that recovery is tested with merged state
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 2,
        "restart-strategy.fixed-delay.delay": "1 s",
    }
    if arguments["resume"]:
        settings["execution.resume"] = arguments["resume"]
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings)).set_parallelism(2)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(arguments["bootstrap"])
        .set_topics(arguments["events"])
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(50).with_timestamp_assigner(
        lambda line, _: int(line.rpartition(",")[2])
    )
    events = env.from_source(source, strategy, "events").map(parse)
    running = events.key_by(lambda e: e[0]).process(Running()).uid("running")
    windows = running.key_by(lambda row: row[0]).process(Windows()).uid("windows")
    running.get_side_output(ROWS).sink_to(sink(arguments["bootstrap"], arguments["running"], False)).uid("running-rows")
    windows.sink_to(sink(arguments["bootstrap"], arguments["windows"], True)).uid("window-rows")
    windows.sink_to(JsonLinesSink(arguments["files"])).uid("window-files")
    env.execute("chaos")
    print("DONE", flush=True)


if __name__ == "__main__":
    main()
