"""The servers of the tests: they answer, keep their data over a restart, and end with the test run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from penstock.jobs.registry.process import process_start_time
from tests.servers import Kafka, Redis
from tests.waiting import until


def test_a_broker_stores_records(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, ["a", "b"], keys=["k", "k"], partition=1, timestamps=[1_000, 2_000])
    kafka.produce(topic, ["c"], partition=0)
    assert kafka.values(topic) == [b"c", b"a", b"b"]
    assert [m.timestamp()[1] for m in kafka.read(topic)][1:] == [1_000, 2_000]
    kafka.add_partitions(topic, 3)
    until(lambda: len(kafka.admin.list_topics(topic, timeout=120).topics[topic].partitions) == 3)


def test_a_restarted_broker_has_its_records(kafka: Kafka) -> None:
    """A test of the Kafka sink kills it."""
    topic = kafka.create_topic()
    kafka.produce(topic, ["a"])
    port = kafka.port
    kafka.stop()
    kafka.start()
    assert (kafka.port, kafka.values(topic)) == (port, [b"a"])


def test_redis_answers(redis: Redis) -> None:
    from redis import Redis as Client

    client = Client.from_url(redis.url)
    key = redis.new_name()
    client.set(key, 1)
    assert client.get(key) == b"1"
    client.close()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_a_server_ends_with_its_parent_process(signal_number: signal.Signals) -> None:
    program = (
        "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
        "from tests.servers import Redis; print(Redis()._server.process.pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert process_start_time(pid)
    os.kill(parent.pid, signal_number)
    parent.wait()
    parent.stdout.close()
    until(lambda: not process_start_time(pid))
