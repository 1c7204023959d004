"""Exactly-once writes: one transaction per task and batch, with a marker that identifies the batch.

The marker is an offset that the transaction commits for a consumer group used only by this task: the number of written batches.
It becomes visible together with the records, so a batch that runs again detects that it was written. The order of calls
matters. Opening the producer fences earlier producers with the same transactional id. Only then is the marker read, so that
nobody can change it afterwards without fencing this producer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from penstock.connectors.kafka.sink.producer import CLIENT_CACHE, SILENT, Options, Producer, options_key
from penstock.connectors.kafka.sink.record_serializer import RecordColumns
from penstock.connectors.secret import reveal_secrets
from penstock.errors import JobError

DEFAULT_TIMEOUT = 300_000  # milliseconds; how long the open transaction of a crashed job can block readers
_RETRIABLE = {  # the broker has just started, or another transaction with this marker is ending
    "NOT_COORDINATOR",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "UNSTABLE_OFFSET_COMMIT",
    "_WAIT_COORD",
}
_REQUEST_TIMEOUT = 60.0  # seconds; the broker may have to end the transaction of a fenced producer
_COMMON_OPTIONS = ("bootstrap.servers", "security.", "sasl.", "ssl.", "client.id", "broker.address.family", "socket.")


class TransactionalProducer(Producer):
    """A transactional producer and the number of batches written with its transactional id."""

    def __init__(self, options: Options, transactional_id: str, topic: str) -> None:
        own = {"transaction.timeout.ms": DEFAULT_TIMEOUT, **options, "transactional.id": transactional_id}
        own["message.timeout.ms"] = min(int(own.get("message.timeout.ms", 120_000)), int(own["transaction.timeout.ms"]))
        super().__init__(own)
        self.transactional_id = transactional_id
        self._options = {n: v for n, v in reveal_secrets(options).items() if n.startswith(_COMMON_OPTIONS)}
        self.call_with_retries(
            self.client.init_transactions, f"opening transactional id '{transactional_id}'", _REQUEST_TIMEOUT
        )
        self.partitions_of(topic)
        self._group: Any = None
        self.completed_batches = self._read_marker(topic)  # None if there is no marker
        self._marked_topics: set[str] = set()  # topics with the marker of the current batch

    def _read_marker(self, topic: str) -> int | None:
        """Reads the marker. The broker responds only when no other transaction with this marker is open."""
        settings = {"group.id": self.transactional_id, "isolation.level": "read_committed", "enable.auto.commit": False}
        settings |= {"logger": SILENT, "retry.backoff.ms": 10, **self._options}
        consumer = self._kafka.Consumer(settings)  # only for its group; it does not read records
        try:
            self._group = consumer.consumer_group_metadata()
            offset = self._read_committed_offset(consumer, self._kafka.TopicPartition(topic, 0))
        finally:
            consumer.close()
        return None if offset < 0 else offset

    def _read_committed_offset(self, consumer: Any, partition: Any) -> int:
        action, deadline = f"reading the marker of '{self.transactional_id}'", time.monotonic() + _REQUEST_TIMEOUT
        while True:
            try:
                [committed] = consumer.committed([partition], _REQUEST_TIMEOUT)
                if committed.error is None:
                    return int(committed.offset)
                failure = committed.error
            except self._kafka.KafkaException as error:
                failure = error.args[0]
            if failure.name() not in _RETRIABLE or time.monotonic() > deadline:
                raise self.to_sink_error(failure, action)
            time.sleep(0.05)

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        key = ("admin", *options_key(self._options))
        settings: dict[str, Any] = {**self._options, "logger": SILENT}
        admin = CLIENT_CACHE.take(key) or _Admin(AdminClient(settings))
        CLIENT_CACHE.put(key, admin)
        return admin.client

    def marker_retention(self) -> float | None:
        """Returns after how many seconds the broker deletes markers, or None if its setting cannot be read."""
        from confluent_kafka.admin._config import ConfigResource

        try:
            broker = next(iter(self.client.list_topics(timeout=_REQUEST_TIMEOUT).brokers))
            resource = ConfigResource(ConfigResource.Type.BROKER, str(broker))
            config = (
                self._admin()
                .describe_configs([resource], request_timeout=_REQUEST_TIMEOUT)[resource]
                .result(_REQUEST_TIMEOUT)
            )
            return int(config["offsets.retention.minutes"].value) * 60.0
        except (self._kafka.KafkaException, KeyError, StopIteration, ValueError, TypeError):
            return None

    # -- one batch

    def check_connection(self) -> None:
        """Raises if the connection was lost. A client that lost its transaction coordinator may not find it again."""
        self.client.poll(0)
        if self._last_error.error is not None:
            raise self._kafka.KafkaException(self._last_error.error)

    def begin(self, batch: int, topic: str) -> None:
        """Begins the transaction of a batch. Writes the marker first, which fails if the producer was fenced meanwhile."""
        self.partitions_of(topic)
        self.client.begin_transaction()
        self._marked_topics = set()
        self._write_marker(batch, {topic})

    def _write_marker(self, batch: int, topics: set[str]) -> None:
        markers = [self._kafka.TopicPartition(topic, 0, batch + 1) for topic in sorted(topics)]
        self.client.send_offsets_to_transaction(markers, self._group, _REQUEST_TIMEOUT)
        self._marked_topics |= topics

    def mark_topics(self, batch: int, topics: set[str]) -> None:
        """Writes the marker for each topic of the batch, so that it can be found by any of them."""
        if new := topics - self._marked_topics:
            with self.wrap_errors(f"marking batch {batch} of '{self.transactional_id}'"):
                self._write_marker(batch, new)

    def commit(self, batch: int) -> None:
        """Commits the records of the batch together with its marker."""
        action = f"committing batch {batch} of '{self.transactional_id}'"
        while True:
            try:
                self.client.commit_transaction(_REQUEST_TIMEOUT)
            except self._kafka.KafkaException as error:
                failure = error.args[0]
                if failure.retriable() and not failure.fatal():
                    continue  # the client continues the commit, and fails after the transaction timeout
                self.check()  # the error of an undelivered record is more specific
                raise self.to_sink_error(failure, action) from None
            break
        self.check()
        self.completed_batches = batch + 1

    def abort(self) -> None:
        """Aborts the transaction if the broker can be reached."""
        with suppress(self._kafka.KafkaException):
            self.client.purge()
            self.client.abort_transaction(5)

    def close(self) -> None:
        """Closes the client. Uncommitted records are dropped."""
        with suppress(self._kafka.KafkaException):  # a fenced client raises on every call
            self.client.purge()
        self.client = None


class _Admin:
    """An admin client that is cached like a producer."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def close(self) -> None:
        """Does nothing. The client ends when it is garbage collected."""


class Transaction:
    """The transaction of one batch and one task. It does nothing if the batch was written before."""

    def __init__(
        self,
        options: Options,
        transactional_id: str,
        batch: int,
        counts_as_written: Callable[[TransactionalProducer, str], bool] | None = None,
        repeated: bool = False,
    ) -> None:
        self._options = options
        self._transactional_id = transactional_id
        self._batch = batch
        self._repeated = repeated  # later batches may have been written before
        # Whether a batch without a marker counts as written.
        self._counts_as_written = counts_as_written or (lambda producer, topic: False)
        self._producer: TransactionalProducer | None = None
        self.already_written = False
        self.topics: set[str] = set()  # topics with records of this batch

    def send(self, records: RecordColumns) -> None:
        """Queues records, unless the batch was written before."""
        if self.already_written:
            return
        if self._producer is None:
            self._producer = self._begin(records.first_topic())
            if self._producer is None:
                self.already_written = True
                return
        self.topics |= records.all_topics()
        self._producer.send(records)

    def _begin(self, topic: str) -> TransactionalProducer | None:
        """Returns a producer with the transaction of the batch open, or None if the batch was written before."""
        cached: TransactionalProducer | None = CLIENT_CACHE.take(self._cache_key())
        if cached is not None:
            if self._is_written(cached, topic):  # markers only increase, so an older value is still valid here
                CLIENT_CACHE.put(self._cache_key(), cached)
                return None
            try:
                cached.check_connection()
                cached.begin(self._batch, topic)
            except cached._kafka.KafkaException:  # fenced by another worker with this id, or the connection was lost
                cached.close()
            else:
                return cached
        CLIENT_CACHE.close_idle()
        producer = TransactionalProducer(self._options, self._transactional_id, topic)
        if self._is_written(producer, topic):
            producer.close()
            return None
        with producer.wrap_errors(f"beginning batch {self._batch} of '{self._transactional_id}'"):
            producer.begin(self._batch, topic)
        return producer

    def _is_written(self, producer: TransactionalProducer, topic: str) -> bool:
        completed = producer.completed_batches
        if completed is None:
            return self._counts_as_written(producer, topic)
        if completed > self._batch + 1 and not self._repeated:
            raise JobError(
                "KAFKA_BATCH_AHEAD",
                f"The job is about to write batch {self._batch}, but Kafka at {producer.servers} already has output up to batch "
                f"{completed - 1} with the transactional id '{self._transactional_id}'. The checkpoint is older than the output; "
                "it may have been copied or restored from a backup. Resume from the newest checkpoint. To write the output "
                "again, start a new job with a new checkpoint.",
            )
        return completed > self._batch

    def commit(self) -> bool:
        """Commits the batch. Returns whether there was something to commit."""
        if self._producer is None:
            return False
        self._producer.mark_topics(self._batch, self.topics)
        self._producer.commit(self._batch)
        CLIENT_CACHE.put(self._cache_key(), self._producer)
        self._producer = None
        return True

    def abort(self) -> None:
        """Aborts the batch and closes the producer. If the abort fails, the next producer with this id completes it."""
        if self._producer is not None:
            self._producer.abort()
            self._producer.close()
            self._producer = None

    def _cache_key(self) -> Any:
        return (self._transactional_id, options_key(self._options))
