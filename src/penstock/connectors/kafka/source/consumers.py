"""Consumers that a worker process reuses between batches, with the position of each assigned partition."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.connectors.kafka.client.client import LastError, confluent_kafka, log, to_penstock_error
from penstock.connectors.kafka.protocol.connections import Address
from penstock.connectors.kafka.source.direct_reader import direct_reader
from penstock.connectors.kafka.source.planning import PartitionKey
from penstock.connectors.secret import reveal_secrets

_IDLE_TIMEOUT = 30.0  # seconds after which an unused consumer is closed

# Defaults for reading offset ranges; the user's properties override them.
_DEFAULTS: dict[str, Any] = {
    "group.id": "penstock",  # required by the client, which does not join the group
    "isolation.level": "read_uncommitted",  # as in the Java client; the default of librdkafka is read_committed
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 65_536,
    "fetch.queue.backoff.ms": 5,  # with the client's default of 1000 a reader that empties the queue would wait
    "fetch.message.max.bytes": 4 << 20,
    "fetch.wait.max.ms": 100,
    "receive.message.max.bytes": 1_000_000_000,  # the client's default is too small for a record of 100 MB
}
_FIXED = {"enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error"}

Options = Mapping[str, Any]
UNKNOWN_POSITION = -1  # the next range cannot continue from here without a seek


class CachedConsumer:
    """A consumer and its positions: the next offset that it returns of each partition, or UNKNOWN_POSITION."""

    def __init__(self, options: Options, timeout: float) -> None:
        self._kafka = confluent_kafka()
        self.last_error = LastError()
        all_options = {**_DEFAULTS, **reveal_secrets(options), **_FIXED, "error_cb": self.last_error}
        try:
            self.client = self._kafka.Consumer(all_options, logger=log)
        except self._kafka.KafkaException as error:
            raise to_penstock_error(error.args[0], options, "be connected to") from None
        self.positions: dict[PartitionKey, int] = {}
        self.used = 0.0
        self._paused: set[PartitionKey] = set()
        self._timeout = timeout
        self.direct = direct_reader(options, self._leaders)

    def _leaders(self, topic: str) -> dict[int, Address]:
        """Returns the address of the leader of each partition, as far as the client knows it."""
        try:
            metadata = self.client.list_topics(topic, timeout=self._timeout)
        except self._kafka.KafkaException:
            return {}  # reading with the client will raise the error
        brokers = {number: (broker.host, broker.port) for number, broker in metadata.brokers.items()}
        return {p.id: brokers[p.leader] for p in metadata.topics[topic].partitions.values() if p.leader in brokers}

    def close(self) -> None:
        if self.direct is not None:
            self.direct.close()
        self.client.close()

    def assign(self, offsets: dict[PartitionKey, int]) -> None:
        """Reads these partitions from these offsets on. Partitions that are already there keep their prefetched records."""
        if self._paused:  # before the unassignment, because a partition that is assigned again would still be paused
            self.client.resume([self._partition(key) for key in self._paused])
            self._paused.clear()
        old = [key for key, offset in self.positions.items() if offsets.get(key) != offset]
        new = [key for key, offset in offsets.items() if self.positions.get(key) != offset]
        if old:
            for key in old:
                del self.positions[key]
            self.client.incremental_unassign([self._partition(key) for key in old])
        if new:
            self.client.incremental_assign([self._partition(key, offsets[key]) for key in new])
            self.positions.update((key, offsets[key]) for key in new)
        self.last_error.error = None

    def pause(self, key: PartitionKey) -> None:
        """Pauses a partition until the next `assign`."""
        self._paused.add(key)
        self.client.pause([self._partition(key)])

    def seek(self, key: PartitionKey, offset: int) -> None:
        """Continues to read a partition at another offset."""
        self.client.incremental_unassign([self._partition(key)])
        self.client.incremental_assign([self._partition(key, offset)])
        self.positions[key] = offset

    def _partition(self, key: PartitionKey, offset: int | None = None) -> Any:
        return self._kafka.TopicPartition(*key) if offset is None else self._kafka.TopicPartition(*key, offset)


_idle: dict[Any, list[CachedConsumer]] = {}  # by options
_lock = threading.Lock()
_closer: threading.Thread | None = None


@contextmanager
def borrow_consumer(options: Options, timeout: float) -> Iterator[CachedConsumer]:
    """Yields a consumer with these options that nobody else uses. It is closed if the caller fails."""
    key = tuple(sorted(options.items(), key=lambda item: item[0]))
    with _lock:
        idle = _idle.get(key)
        consumer = idle.pop() if idle else None
    consumer = consumer or CachedConsumer(options, timeout)
    try:
        yield consumer
    except BaseException:
        consumer.close()
        raise
    consumer.used = time.monotonic()
    with _lock:
        _idle.setdefault(key, []).append(consumer)
        _start_closer()


def _start_closer() -> None:
    global _closer
    if _closer is None:
        _closer = threading.Thread(target=_close_idle, name="penstock-kafka-idle", daemon=True)
        _closer.start()


def _close_idle() -> None:
    """Closes idle consumers, because a worker process may outlive its job by far."""
    global _closer
    while True:
        time.sleep(_IDLE_TIMEOUT / 4)
        with _lock:
            before = time.monotonic() - _IDLE_TIMEOUT
            old = [c for consumers in _idle.values() for c in consumers if c.used < before]
            for key in list(_idle):
                _idle[key] = [c for c in _idle[key] if c.used >= before]
                if not _idle[key]:
                    del _idle[key]
            if not _idle:
                _closer = None
        for consumer in old:
            consumer.close()
        if _closer is None:
            return
