"""The servers of these benchmarks: a broker and a Redis, on loopback, that end with the benchmark."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ads
from contenders import Input, say

from penstock.servers.kafka import KafkaServer
from penstock.servers.redis import RedisServer
from penstock.servers.server import start

FEW = 100_000  # events of the run that tells what a start costs
# Topics that peers make themselves carry event time, which is long past: nothing must expire.
_BROKER = {"log.retention.ms": "-1"}


@contextmanager
def serving(events: int) -> Iterator[tuple[Input, Input]]:
    """A topic of a few events, one of so many, and an empty Redis."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-servers-"))
    servers = []
    try:
        broker = KafkaServer(heap="1g", settings=_BROKER)
        servers.append(start(broker, folder / "kafka", None, say, guarded=True))
        servers.append(start(RedisServer(brief=True), folder / "redis", None, say, guarded=True))
        kafka, redis = servers
        say(f"writing {events:,} events")
        ads.write(kafka.address, "few", FEW)
        ads.write(kafka.address, "ads", events)
        yield Input(kafka.address, "few", FEW, redis.address), Input(kafka.address, "ads", events, redis.address)
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
