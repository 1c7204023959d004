"""The price of the Kafka sink's guarantees: NONE, AT_LEAST_ONCE, EXACTLY_ONCE, and EXACTLY_ONCE with whole batches.

Each job reads numbers that a source makes, turns them into rows of about 100 bytes behind a keyed function, and writes them to a
topic of four partitions, with batches as Penstock makes them unless told otherwise: one after the other. Jobs take turns; the
rate is that of all batches but the first. After each job the topic is counted as a reader of committed records sees it.
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
from penstock.formats import ByteArraySchema
from penstock.servers.kafka import KafkaServer
from penstock.servers.server import start
from penstock.spark.session import get_session

PARTITIONS = 4
WANTED = 0.7
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


class Passed(ps.KeyedProcessFunction):
    """Counts a key's elements and passes them on."""

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
    """Elements per second of one job."""
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    create(bootstrap, topic)
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    settings = {"execution.checkpointing.dir": str(scratch), "state.local.dir": str(scratch / "state")}
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings)).set_parallelism(2)
    rows = env.from_source(DataGeneratorSource(row, events, records_per_batch=per_batch))
    written = rows.key_by(lambda r: r[0]).process(Passed()) if keyed else rows.map(lambda r: r[1])
    written.sink_to(sink(bootstrap, topic, kind))
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
    """Records that a reader of committed records finds."""
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
        "--per-batch", type=int, default=0, help="elements per batch; as Penstock makes them without it"
    )
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--stateless", action="store_true", help="without the keyed function")
    options = arguments.parse_args()
    per_batch = options.per_batch or DataGeneratorSource(row, 1).records_per_batch
    get_session(ps.Configuration({"spark.master": "local[2]"}))
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-kafka-"))
    server = start(KafkaServer(heap="512m"), folder, None, lambda step: None, guarded=True)
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
    middle = measure.medians(found)
    base = middle["at least once"]
    measure.table(
        "exactly_once",
        ("guarantee", "events/s, median", "of at least once", "runs"),
        [(k, middle[k], f"{middle[k] / base:.2f}", [round(v) for v in found[k]]) for k in KINDS],
    )
    measure.bars("exactly_once", "One keyed job into Kafka, by what its sink promises", middle, "events per second")
    figures = {"events": options.events, "per_batch": per_batch, **{k.replace(" ", "_"): v for k, v in middle.items()}}
    return measure.finish(
        "exactly_once", figures, {"exactly_once_of_at_least_once": (middle["exactly once"] / base, WANTED)}
    )


if __name__ == "__main__":
    sys.exit(main())
