"""Queries of the driver to a Kafka cluster: partitions, offsets, and committed offsets of a group."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, wait
from typing import Any

from penstock.connectors.kafka.client.client import (
    LastError,
    confluent_kafka,
    log,
    permanent_error_codes,
    to_penstock_error,
)
from penstock.connectors.kafka.client.option_names import CONSUMER_ONLY
from penstock.connectors.kafka.source.offsets_initializer import KafkaTopicPartition as Partition
from penstock.connectors.secret import reveal_secrets
from penstock.errors import ConfigError

_POLL_INTERVAL = 0.05  # seconds
_RETRY_DELAY = 0.2  # seconds
_UNKNOWN_TOPIC_TIMEOUT = 2.0  # seconds; brokers may not know a new topic immediately

Offsets = dict[Partition, int]


class Cluster:
    """A connection from the driver to the cluster.

    Each query covers all partitions in one request and takes at most `timeout` seconds.
    """

    def __init__(self, options: Mapping[str, Any], timeout: float) -> None:
        self._options = options
        self._timeout = timeout
        self._last_error = LastError()
        self._kafka = confluent_kafka()
        self._admin: Any = self._connect()
        self._group_consumer: Any = None  # reads and commits the group's offsets without joining the group

    def _connect(self) -> Any:
        from confluent_kafka import admin

        self._offset_spec: Any = vars(admin)["OffsetSpec"]
        options: Any = {name: value for name, value in self._options.items() if name not in CONSUMER_ONLY}
        options = {**reveal_secrets(options), "error_cb": self._last_error}
        try:
            return admin.AdminClient(options, logger=log)
        except self._kafka.KafkaException as error:
            raise to_penstock_error(error.args[0], self._options, "be connected to") from None

    @property
    def group(self) -> str | None:
        """The consumer group whose committed offsets are read and written."""
        return self._options.get("group.id")

    # -- partitions

    def partitions_of(self, topics: Iterable[str]) -> list[Partition]:
        """Returns all partitions of these topics. Raises ConfigError if a topic does not exist."""
        names = list(topics)
        request = lambda: self._admin.describe_topics(  # noqa: E731
            self._kafka.TopicCollection(names), request_timeout=self._timeout
        )
        described = self._query(request, "describe topics", lambda name: f"topic '{name}'", _UNKNOWN_TOPIC_TIMEOUT)
        return sorted(Partition(name, p.id) for name, topic in described.items() for p in topic.partitions)

    def topics(self) -> list[str]:
        """Returns the names of all topics except internal ones."""
        try:
            listed = self._admin.list_topics(timeout=self._timeout)
        except self._kafka.KafkaException as error:
            raise self._to_penstock_error(error.args[0], "list its topics") from None
        return sorted(name for name in listed.topics if not name.startswith("__"))

    # -- offsets

    def earliest_offsets(self, partitions: Collection[Partition]) -> Offsets:
        """Returns the first available offset of each partition."""
        return self._offsets(dict.fromkeys(partitions, self._offset_spec.earliest()), committed=False)

    def end_offsets(self, partitions: Collection[Partition], committed: bool) -> Offsets:
        """Returns the end offset of each partition.

        For readers of committed records it is the last stable offset, which is before the first open transaction.
        """
        return self._offsets(dict.fromkeys(partitions, self._offset_spec.latest()), committed)

    def offsets_at_time(self, partitions: Collection[Partition], timestamp: int, committed: bool) -> Offsets:
        """Returns the offset of the first record with this timestamp or a later one, or the end offset if there is none."""
        offsets = self._offsets(dict.fromkeys(partitions, self._offset_spec.for_timestamp(timestamp)), committed)
        ends = self.end_offsets([p for p, offset in offsets.items() if offset < 0], committed)
        return {**offsets, **ends}

    def _offsets(self, specs: Mapping[Partition, Any], committed: bool) -> Offsets:
        if not specs:
            return {}
        level = self._kafka.IsolationLevel
        requested = {self._kafka.TopicPartition(p.topic, p.partition): spec for p, spec in specs.items()}
        isolation = level.READ_COMMITTED if committed else level.READ_UNCOMMITTED
        request = lambda: self._admin.list_offsets(  # noqa: E731
            requested, isolation_level=isolation, request_timeout=self._timeout
        )
        infos = self._query(request, "list offsets", lambda p: f"partition {p.partition} of topic '{p.topic}'")
        return {Partition(p.topic, p.partition): info.offset for p, info in infos.items()}

    # -- committed offsets of the group, for monitoring

    def committed_offsets(self, partitions: Collection[Partition]) -> Offsets:
        """Returns the committed offset of each partition. Partitions without a committed offset are left out."""
        if not partitions:
            return {}
        requested = [self._kafka.TopicPartition(p.topic, p.partition) for p in partitions]
        try:
            committed = self._consumer().committed(requested, timeout=self._timeout)
        except self._kafka.KafkaException as error:
            raise self._to_penstock_error(error.args[0], "read the offsets of the group") from None
        return {Partition(p.topic, p.partition): p.offset for p in committed if p.offset >= 0}

    def commit(self, offsets: Offsets) -> None:
        """Starts to commit offsets and returns immediately. Failures are only logged, because nothing depends on it."""
        positions = [self._kafka.TopicPartition(p.topic, p.partition, offset) for p, offset in offsets.items()]
        consumer = self._consumer()
        try:
            consumer.poll(0)  # runs the callback of the previous commit
            consumer.commit(offsets=positions, asynchronous=True)
        except self._kafka.KafkaException as error:
            self._log_failed_commit(error.args[0])

    def _consumer(self) -> Any:
        if self._group_consumer is None:
            options = {
                **reveal_secrets(self._options),
                "enable.auto.commit": False,
                "error_cb": self._last_error,
                "on_commit": self._on_commit,
            }
            self._group_consumer = self._kafka.Consumer(options, logger=log)
        return self._group_consumer

    def _on_commit(self, error: Any, partitions: Any) -> None:
        if error is not None:
            self._log_failed_commit(error)

    def _log_failed_commit(self, error: Any) -> None:
        log.warning("Could not commit the offsets of the consumer group to Kafka (used for monitoring only): %s", error)

    def close(self) -> None:
        """Closes the connection after a running commit has finished."""
        if self._group_consumer is not None:
            self._group_consumer.close()
            self._group_consumer = None

    # -- responses

    def _query(
        self,
        request: Callable[[], dict[Any, Future[Any]]],
        action: str,
        describe: Callable[[Any], str],
        unknown_topic_timeout: float | None = None,
    ) -> dict[Any, Any]:
        """Returns all results. Temporary errors, such as a leader election, are retried until the timeout."""
        began = time.monotonic()
        deadline = began + self._timeout
        while True:
            futures = request()
            while wait(futures.values(), timeout=_POLL_INTERVAL).not_done:
                self._admin.poll(0)  # runs error_cb
                if self._last_error.is_permanent():
                    raise to_penstock_error(self._last_error.error, self._options, action)
                if time.monotonic() > deadline + 1:
                    break
            failed = [(key, _failure(future)) for key, future in futures.items()]
            failed = [(key, error) for key, error in failed if error is not None]
            if not failed:
                self._last_error.error = None
                return {key: future.result() for key, future in futures.items()}
            key, error = failed[0]
            retry_until = deadline
            if unknown_topic_timeout and error.code() in self._unknown_topic_codes():
                retry_until = began + unknown_topic_timeout
            if time.monotonic() > retry_until or error.code() in permanent_error_codes():
                raise self._query_error(error, action, describe(key))
            time.sleep(_RETRY_DELAY)
            self._admin = self._connect()  # the old client may use an outdated leader epoch

    def _unknown_topic_codes(self) -> tuple[int, ...]:
        kafka = self._kafka.KafkaError
        return kafka.UNKNOWN_TOPIC_OR_PART, kafka._UNKNOWN_TOPIC, kafka._UNKNOWN_PARTITION

    def _query_error(self, error: Any, action: str, subject: str) -> Exception:
        if error.code() in self._unknown_topic_codes():
            return self.unknown_topic_error(subject)
        return self._to_penstock_error(error, action)

    def unknown_topic_error(self, subject: str) -> ConfigError:
        """Returns the error for a topic or partition that does not exist."""
        return ConfigError(
            "KAFKA_UNKNOWN_TOPIC",
            f"Kafka at {self._options.get('bootstrap.servers', '')} has no {subject}. Create it, or correct the topics of the "
            "source. set_topic_pattern also finds topics that are created later.",
        )

    def _to_penstock_error(self, error: Any, action: str) -> Exception:
        return to_penstock_error(error, self._options, action, self._last_error.error)


def _failure(future: Future[Any]) -> Any:
    """Returns the error of the client, or None if there is a result."""
    if not future.done():
        kafka = confluent_kafka().KafkaError
        return kafka(kafka._TIMED_OUT)
    error = future.exception()
    return None if error is None else error.args[0]
