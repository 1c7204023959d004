"""Consumers that a worker keeps between batches, each with its place in every partition that it is assigned."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.connectors.kafka.client import Heard, confluent_kafka, log, told
from penstock.connectors.kafka.connections import Address
from penstock.connectors.kafka.direct import direct_reader
from penstock.connectors.kafka.ranges import Key
from penstock.connectors.secret import revealed

_IDLE = 30.0  # seconds after which a consumer that nobody uses is closed

# What a reader of ranges wants of the client; the user's own options win.
_DEFAULTS: dict[str, Any] = {
    "group.id": "penstock",  # the client wants one, and joins none
    "isolation.level": "read_uncommitted",  # as in Java's client; librdkafka reads committed records by default
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 65_536,
    "fetch.queue.backoff.ms": 5,  # the client's own 1000 makes a reader that is faster than its queue wait
    "fetch.message.max.bytes": 4 << 20,
    "fetch.wait.max.ms": 100,
    "receive.message.max.bytes": 1_000_000_000,  # a record of 100 MB is more than the client's own limit
}
_FIXED = {"enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error"}

Options = Mapping[str, Any]
LOST = -1  # a place that the next range cannot go on from


class KeptConsumer:
    """A consumer and its places: `at` is the next offset it gives of each partition, or LOST."""

    def __init__(self, options: Options, timeout: float) -> None:
        self._kafka = confluent_kafka()
        self.heard = Heard()
        given = {**_DEFAULTS, **revealed(options), **_FIXED, "error_cb": self.heard}
        try:
            self.client = self._kafka.Consumer(given, logger=log)
        except self._kafka.KafkaException as error:
            raise told(error.args[0], options, "be connected to") from None
        self.at: dict[Key, int] = {}
        self.used = 0.0
        self._resting: set[Key] = set()
        self._timeout = timeout
        self.direct = direct_reader(options, self._leaders)

    def _leaders(self, topic: str) -> dict[int, Address]:
        """The addresses of the brokers that lead a topic's partitions; nothing where the client cannot say."""
        try:
            told = self.client.list_topics(topic, timeout=self._timeout)
        except self._kafka.KafkaException:
            return {}  # reading will tell why
        known = {number: (broker.host, broker.port) for number, broker in told.brokers.items()}
        return {p.id: known[p.leader] for p in told.topics[topic].partitions.values() if p.leader in known}

    def close(self) -> None:
        if self.direct is not None:
            self.direct.close()
        self.client.close()

    def move(self, places: dict[Key, int]) -> None:
        """Reads these partitions from these offsets on. What was fetched ahead is used where it fits."""
        if self._resting:  # before they are given back: a partition that is assigned again would rest still
            self.client.resume([self._partition(key) for key in self._resting])
            self._resting.clear()
        old = [key for key, place in self.at.items() if places.get(key) != place]
        new = [key for key, place in places.items() if self.at.get(key) != place]
        if old:
            for key in old:
                del self.at[key]
            self.client.incremental_unassign([self._partition(key) for key in old])
        if new:
            self.client.incremental_assign([self._partition(key, places[key]) for key in new])
            self.at.update((key, places[key]) for key in new)
        self.heard.error = None

    def rest(self, key: Key) -> None:
        """Gives nothing more of a partition until it is moved."""
        self._resting.add(key)
        self.client.pause([self._partition(key)])

    def again(self, key: Key, offset: int) -> None:
        """Reads a partition from another offset on."""
        self.client.incremental_unassign([self._partition(key)])
        self.client.incremental_assign([self._partition(key, offset)])
        self.at[key] = offset

    def _partition(self, key: Key, offset: int | None = None) -> Any:
        return self._kafka.TopicPartition(*key) if offset is None else self._kafka.TopicPartition(*key, offset)


_waiting: dict[Any, list[KeptConsumer]] = {}  # by options
_lock = threading.Lock()
_closer: threading.Thread | None = None


@contextmanager
def lent(options: Options, timeout: float) -> Iterator[KeptConsumer]:
    """A consumer with these options, for this caller alone. One whose reading failed is not kept."""
    key = tuple(sorted(options.items(), key=lambda item: item[0]))
    with _lock:
        kept = _waiting.get(key)
        consumer = kept.pop() if kept else None
    consumer = consumer or KeptConsumer(options, timeout)
    try:
        yield consumer
    except BaseException:
        consumer.close()
        raise
    consumer.used = time.monotonic()
    with _lock:
        _waiting.setdefault(key, []).append(consumer)
        _start_closing()


def _start_closing() -> None:
    global _closer
    if _closer is None:
        _closer = threading.Thread(target=_close_idle, name="penstock-kafka-idle", daemon=True)
        _closer.start()


def _close_idle() -> None:
    """A worker may live long after its job: its consumers do not."""
    global _closer
    while True:
        time.sleep(_IDLE / 4)
        with _lock:
            before = time.monotonic() - _IDLE
            old = [c for kept in _waiting.values() for c in kept if c.used < before]
            for key in list(_waiting):
                _waiting[key] = [c for c in _waiting[key] if c.used >= before]
                if not _waiting[key]:
                    del _waiting[key]
            if not _waiting:
                _closer = None
        for consumer in old:
            consumer.close()
        if _closer is None:
            return
