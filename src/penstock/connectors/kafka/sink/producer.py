"""A Kafka producer that sends records in bulk, converts errors and is reused between batches."""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

from penstock.connectors.kafka.client.client import LastError, confluent_kafka
from penstock.connectors.kafka.client.error_messages import UNREACHABLE, to_sink_error, unknown_topic
from penstock.connectors.kafka.sink.record_serializer import RecordColumns
from penstock.connectors.secret import reveal_secrets
from penstock.errors import PenstockError

Options = Mapping[str, Any]
SILENT = logging.Logger(
    "penstock.kafka.client", logging.CRITICAL + 1
)  # errors are raised, or the client recovers itself

# Defaults of the client; the properties of the sink override them.
DEFAULTS = {
    "acks": "all",
    "linger.ms": 5,
    "batch.size": 1_000_000,
    "partitioner": "murmur2_random",  # as in the Java client, so that a key has the same partition for all writers
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 256 * 1024,
    "message.timeout.ms": 120_000,
    "retry.backoff.ms": 10,  # a new transaction waits this long until the previous one has ended
    "reconnect.backoff.max.ms": 1_000,  # a restarted broker is found soon
    "delivery.report.only.error": True,
}
_ANY_PARTITION = -1  # the partitioner of the client chooses
_REQUEST_TIMEOUT = 30.0  # seconds
_CALL_TIMEOUT = 1.0  # seconds of one call; a request is repeated until its timeout
_BROKER_STARTING = {  # errors of a broker that has just started
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "CONCURRENT_TRANSACTIONS",
    "_WAIT_COORD",
}
_TOPIC_CREATION_TIMEOUT = 5.0  # seconds until brokers know a topic that was just created
_METADATA_MAX_AGE = 300.0  # seconds after which the partitions of a topic are requested again
_IDLE_TIMEOUT = 60.0  # seconds after which an unused client is closed, when another one is opened


class Producer:
    """Sends records. Not thread-safe, because a Python worker runs one task at a time."""

    def __init__(self, options: Options) -> None:
        self._kafka: Any = confluent_kafka()
        self._last_error = LastError()
        self.servers = str(options.get("bootstrap.servers", ""))
        self._failed: list[Any] = []
        self._topics: dict[str, tuple[float, list[int]]] = {}
        callbacks = {"on_delivery": self._on_delivery, "error_cb": self._last_error, "logger": SILENT}
        with self.wrap_errors("opening a producer"):
            self.client: Any = self._kafka.Producer({**DEFAULTS, **reveal_secrets(options), **callbacks})

    def _on_delivery(self, error: Any, message: Any) -> None:
        """Called by the client for records that could not be delivered."""
        if error is not None and len(self._failed) < 10:
            self._failed.append((error, message.topic()))

    def wrap_errors(self, action: str) -> _ErrorWrapper:
        """Returns a context manager that converts errors of the client."""
        return _ErrorWrapper(self, self._kafka.KafkaException, action)

    def to_sink_error(self, error: Any, action: str) -> PenstockError:
        """Converts an error of the client. For a timeout, uses the cause that the client reported in the background."""
        has_cause = error.name() in UNREACHABLE and self._last_error.is_permanent()
        return to_sink_error(self._last_error.error if has_cause else error, self.servers, action)

    def call_with_retries(self, call: Callable[[float], Any], action: str, timeout: float) -> Any:
        """Calls the broker repeatedly with short timeouts, because the client reports rejected logins only between calls."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                return call(min(_CALL_TIMEOUT, timeout))
            except self._kafka.KafkaException as raised:
                error = raised.args[0]
            self.client.poll(0.05)  # runs callbacks, and is a pause if calls fail immediately
            temporary = error.retriable() or error.name() in UNREACHABLE | _BROKER_STARTING
            if not temporary or self._last_error.is_permanent() or time.monotonic() > deadline:
                raise self.to_sink_error(error, action)

    # -- topics

    def partitions_of(self, topic: str) -> list[int]:
        """Returns the partitions of a topic. Raises if the topic does not exist."""
        now = time.monotonic()
        known = self._topics.get(topic)
        if known is None or now - known[0] > _METADATA_MAX_AGE:
            known = self._topics[topic] = (now, self._fetch_partitions(topic, now + _TOPIC_CREATION_TIMEOUT))
        return known[1]

    def _fetch_partitions(self, topic: str, deadline: float) -> list[int]:
        action = f"writing to topic '{topic}'"
        while True:
            metadata = self.call_with_retries(
                lambda step: self.client.list_topics(topic, timeout=step), action, _REQUEST_TIMEOUT
            ).topics[topic]
            if metadata.error is None and metadata.partitions:
                return sorted(metadata.partitions)
            missing = metadata.error is None or metadata.error.name() in (
                "UNKNOWN_TOPIC_OR_PART",
                "LEADER_NOT_AVAILABLE",
            )
            if not missing:
                raise self.to_sink_error(metadata.error, action)
            if time.monotonic() > deadline:  # automatic topic creation takes a moment
                raise unknown_topic(action, self.servers)
            time.sleep(0.1)

    # -- records

    def send(self, records: RecordColumns) -> None:
        """Queues records. They are delivered by `flush` at the latest."""
        for topic in records.all_topics():
            self.partitions_of(topic)
        produce = self.client.produce
        count = len(records.values)
        columns: list[Any] = [
            repeat(records.topics, count) if isinstance(records.topics, str) else records.topics,
            records.values,
            repeat(None, count) if records.keys is None else records.keys,
            repeat(_ANY_PARTITION, count) if records.partitions is None else records.partitions,
            repeat(None, count),  # no callback per record
            repeat(None, count),
            repeat(0, count) if records.timestamps is None else records.timestamps,
        ]
        if records.headers is not None:
            columns.append(records.headers)
        record: tuple[Any, ...] = ()
        try:
            for record in zip(*columns, strict=True):
                try:
                    produce(*record)
                except BufferError:
                    self._produce_when_room(record)
        except self._kafka.KafkaException as error:
            raise self.to_sink_error(error.args[0], f"writing to topic '{record[0]}'") from None
        self.client.poll(0)

    def _produce_when_room(self, record: tuple[Any, ...]) -> None:
        """Waits until the queue of the client is no longer full."""
        while True:
            self.client.poll(0.1)
            self.check()
            try:
                self.client.produce(*record)
            except BufferError:
                continue
            return

    def check(self) -> None:
        """Raises an error if a record could not be delivered."""
        if self._failed:
            error, topic = self._failed[0]
            self._failed = []
            raise self.to_sink_error(error, f"writing to topic '{topic}'")

    def flush(self) -> None:
        """Waits until all records are delivered. The delivery of a record fails after message.timeout.ms."""
        while self.client.flush(_REQUEST_TIMEOUT):
            self.check()
        self.check()

    def discard(self) -> None:
        """Closes the client and drops undelivered records. It cannot be reused, as it may also drop later records."""
        self.client.purge()
        self.client = None

    def close(self) -> None:
        """Delivers the remaining records and closes the client."""
        if self.client.flush(5):
            self.client.purge()
        self.client = None  # breaks the reference cycle, so that the client is closed immediately


class _ErrorWrapper:
    """A context manager that converts errors of the client."""

    __slots__ = ("_action", "_kind", "_producer")

    def __init__(self, producer: Producer, kind: type[Exception], action: str) -> None:
        self._producer, self._kind, self._action = producer, kind, action

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, self._kind):
            raise self._producer.to_sink_error(error.args[0], self._action) from None


class ClientCache:
    """Clients that this process reuses between batches, by key. Idle clients are closed."""

    def __init__(self) -> None:
        self._clients: dict[Any, tuple[float, Any]] = {}
        self._process = 0

    def take(self, key: Any) -> Any:
        """Removes and returns the client with this key, or returns None."""
        if self._process != os.getpid():  # connections do not work in a forked process
            self._clients, self._process = {}, os.getpid()
        return self._clients.pop(key, (0, None))[1]

    def put(self, key: Any, client: Any) -> None:
        self._clients[key] = (time.monotonic(), client)

    def close_idle(self, idle: float = _IDLE_TIMEOUT) -> None:
        now = time.monotonic()
        for key in [k for k, (used, _) in self._clients.items() if now - used >= idle]:
            self._clients.pop(key)[1].close()

    def close(self) -> None:
        if self._process == os.getpid():
            self.close_idle(0)


def options_key(options: Options) -> Any:
    """Returns a cache key for client options."""
    return tuple(sorted(options.items(), key=lambda option: option[0]))


CLIENT_CACHE = ClientCache()
atexit.register(CLIENT_CACHE.close)
