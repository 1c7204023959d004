"""The servers of the tests: they answer, restart with what they had, and end with the test run, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from penstock.jobs.process import start_of
from tests.servers import Kafka, Redis


def test_a_broker_takes_and_gives_records(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, ["a", "b"], keys=["k", "k"], partition=1, timestamps=[1_000, 2_000])
    kafka.produce(topic, ["c"], partition=0)
    assert kafka.values(topic) == [b"c", b"a", b"b"]
    assert [m.timestamp()[1] for m in kafka.read(topic)][1:] == [1_000, 2_000]
    kafka.add_partitions(topic, 3)
    assert len(kafka.admin.list_topics(topic, timeout=30).topics[topic].partitions) == 3


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_broker_comes_back_with_its_records(kafka: Kafka, how: str) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, ["a"])
    port = kafka.port
    getattr(kafka, how)()
    kafka.start()
    assert (kafka.port, kafka.values(topic)) == (port, [b"a"])


def test_redis_answers(redis: Redis) -> None:
    from redis import Redis as Client

    client = Client.from_url(redis.url)
    key = redis.new_name()
    client.set(key, 1)
    assert client.get(key) == b"1"
    client.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_server_ends_with_the_process_that_asked_for_it(how: signal.Signals) -> None:
    program = (
        "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
        "from tests.servers import Redis; print(Redis()._server.process.pid, flush=True); time.sleep(60)"
    )
    asking = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert asking.stdout is not None
    pid = int(asking.stdout.readline())
    assert start_of(pid)
    os.kill(asking.pid, how)
    asking.wait()
    asking.stdout.close()
    deadline = time.monotonic() + 15
    while start_of(pid):
        assert time.monotonic() < deadline, "the server lives on"
        time.sleep(0.05)
