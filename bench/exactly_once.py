"""The cost of the guarantees of the Kafka sink: NONE, AT_LEAST_ONCE, EXACTLY_ONCE, and EXACTLY_ONCE with whole batches.

Each job generates rows of about 100 bytes, passes them through a keyed function, and writes them to a topic with four
partitions. Batches have the default size, and follow each other without pause. The kinds alternate. The rate is that of all
batches except the first. After each job the records of the topic are counted with isolation level read_committed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

import measure

import penstock as ps
from penstock.connectors import DataGeneratorSource
from penstock.connectors.kafka import DeliveryGuarantee, KafkaRecordSerializationSchema, KafkaSink
from penstock.devservers.kafka import KafkaServer
from penstock.devservers.server import start_server
from penstock.formats import ByteArraySchema
from penstock.spark.session.session import get_session

PARTITIONS = 4
TARGET = 0.7
KINDS = {
    "none": (DeliveryGuarantee.NONE, False),
    "at least once": (DeliveryGuarantee.AT_LEAST_ONCE, False),
    "exactly once": (DeliveryGuarantee.EXACTLY_ONCE, False),
    "exactly once, whole batches": (DeliveryGuarantee.EXACTLY_ONCE, True),
}


def row(number: int) -> tuple[int, bytes]:
    return number % 10_000, b'{"user": "user-%d", "page": "page-%d", "kind": "view", "number": %d, "text": "%s"}' % (
        number % 10_000,
        number % 97,
        number,
        b"abcdefghijklmnopqrstuvwxyz",
    )


class CountingFunction(ps.KeyedProcessFunction):
    """Counts the elements of each key and emits them."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", ps.Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value[1]


def sink(bootstrap: str, topic: str, kind: str) -> KafkaSink:
    guarantee, whole = KINDS[kind]
    serializer = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder = KafkaSink.builder().set_bootstrap_servers(bootstrap).set_delivery_guarantee(guarantee)
    builder.set_record_serializer(serializer.set_value_serialization_schema(ByteArraySchema()).build())
    return builder.set_whole_batches(whole).build()


def rate(bootstrap: str, kind: str, events: int, per_batch: int, keyed: bool) -> float:
    """Runs one job. Returns its elements per second."""
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    create(bootstrap, topic)
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    settings = {"execution.checkpointing.dir": str(scratch), "state.local.dir": str(scratch / "state")}
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings)).set_parallelism(2)
    rows = env.from_source(DataGeneratorSource(row, events, records_per_batch=per_batch))
    records = rows.key_by(lambda r: r[0]).process(CountingFunction()) if keyed else rows.map(lambda r: r[1])
    records.sink_to(sink(bootstrap, topic, kind))
    result = env.execute()
    shutil.rmtree(scratch, ignore_errors=True)
    found = count(bootstrap, topic)
    if found != events and not (kind == "none" and found <= events):
        raise SystemExit(f"{kind}: {found} of {events} records are in the topic")
    remove(bootstrap, topic)
    return measure.steady_rate(result.batches)


def admin(bootstrap: str) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def create(bootstrap: str, topic: str) -> None:
    from confluent_kafka.cimpl import NewTopic

    client = admin(bootstrap)
    client.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)


def remove(bootstrap: str, topic: str) -> None:
    client = admin(bootstrap)
    client.delete_topics([topic])[topic].result(30)


def count(bootstrap: str, topic: str) -> int:
    """Returns the number of committed records."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": "read_committed", "log_level": 0}
    reader = Consumer({**settings, "enable.partition.eof": True, "auto.offset.reset": "earliest"})
    reader.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    found, ended = 0, set[int]()
    while len(ended) < PARTITIONS:
        for message in reader.consume(20_000, 5.0):
            if message.error() is None:
                found += 1
            else:
                ended.add(message.partition())
    reader.close()
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=1_000_000)
    arguments.add_argument(
        "--per-batch", type=int, default=0, help="elements per batch; the default of the source if 0"
    )
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--stateless", action="store_true", help="without the keyed function")
    options = arguments.parse_args()
    per_batch = options.per_batch or DataGeneratorSource(row, 1).records_per_batch
    get_session(ps.Configuration({"spark.master": "local[2]"}))
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-kafka-"))
    server = start_server(KafkaServer(heap="512m"), folder, None, lambda step: None, guarded=True)
    bootstrap = f"127.0.0.1:{server.port}"
    try:
        found = measure.alternate(
            {k: lambda k=k: rate(bootstrap, k, options.events, per_batch, not options.stateless) for k in KINDS},  # type: ignore[misc]
            options.repeats,
            warm_up=1,
        )
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    medians = measure.medians(found)
    base = medians["at least once"]
    measure.table(
        "exactly_once",
        ("guarantee", "events/s, median", "relative to at least once", "runs"),
        [(k, medians[k], f"{medians[k] / base:.2f}", [round(v) for v in found[k]]) for k in KINDS],
    )
    measure.bars("exactly_once", "One keyed job into Kafka, by guarantee of its sink", medians, "events per second")
    figures = {"events": options.events, "per_batch": per_batch, **{k.replace(" ", "_"): v for k, v in medians.items()}}
    return measure.finish(
        "exactly_once", figures, {"exactly_once_of_at_least_once": (medians["exactly once"] / base, TARGET)}
    )


if __name__ == "__main__":
    sys.exit(main())
