"""The servers of these benchmarks, a Kafka broker and a Redis server on localhost. They are stopped at the end of the benchmark."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ads
from contenders import Input, log
from topic import write_topic

from penstock.devservers.kafka import KafkaServer
from penstock.devservers.redis import RedisServer
from penstock.devservers.server import start_server

FEW = 100_000  # events of the short run, which measures the cost of the start
# Topics that other systems create contain old event times as timestamps, so records must not expire.
_BROKER = {"log.retention.ms": "-1"}


@contextmanager
def start_servers(events: int) -> Iterator[tuple[Input, Input]]:
    """Starts the servers. Yields a topic with few events and a topic with `events` events, both with an empty Redis."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-servers-"))
    servers = []
    try:
        broker = KafkaServer(heap="1g", settings=_BROKER)
        servers.append(start_server(broker, folder / "kafka", None, log, guarded=True))
        servers.append(start_server(RedisServer(brief=True), folder / "redis", None, log, guarded=True))
        kafka, redis = servers
        log(f"writing {events:,} events")
        write_topic(kafka.address, "few", ads.PARTITIONS, ads.messages(FEW))
        write_topic(kafka.address, "ads", ads.PARTITIONS, ads.messages(events))
        yield Input(kafka.address, "few", FEW, redis.address), Input(kafka.address, "ads", events, redis.address)
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
