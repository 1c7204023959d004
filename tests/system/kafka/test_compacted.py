"""A compacted topic, in which most offsets are missing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.servers import Kafka
from tests.system.kafka.jobs import bounded, builder, read_all

pytestmark = pytest.mark.long

MANY = 50_000
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "200",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "200",
    "delete.retention.ms": "100",
}


@pytest.fixture(scope="module")
def eager() -> Iterator[Kafka]:
    kafka = Kafka({"log.cleaner.backoff.ms": "200"})
    yield kafka
    kafka.stop()


def offsets(kafka: Kafka, topic: str) -> list[int]:
    return [offset for message in kafka.read(topic) if (offset := message.offset()) is not None]


def test_only_the_last_value_of_each_key_is_read(eager: Kafka) -> None:
    topic = eager.create_topic(config=COMPACTED)
    keys = [f"k{n % 10}" for n in range(MANY)]
    start = builder(eager, topic).build().initial()
    eager.produce(topic, [str(n) for n in range(MANY)], keys)
    deadline = time.monotonic() + 300
    while len(left := offsets(eager, topic)) > 30:
        assert time.monotonic() < deadline, f"{len(left)} records are left: the broker compacts nothing"
        time.sleep(0.5)
        eager.produce(topic, ["again"], ["rolled"])  # the segment that is written to is never compacted
    assert max(b - a for a, b in pairwise(left)) > 1 or left[0] > 0, "there is a gap"
    result = [v for v in read_all(bounded(eager, topic)) if v != "again"]
    assert sorted(map(int, result)) == list(range(MANY - 10, MANY))
    source = builder(eager, topic).build()
    end = source.latest(start)
    tasks = source.plan(start, end, 4)  # of a range in which almost no record is left
    assert len(tasks) > 1
    several = [v for task in tasks for chunk in source.read(task) for v in chunk.values if v != "again"]
    assert sorted(map(int, several)) == list(range(MANY - 10, MANY))
