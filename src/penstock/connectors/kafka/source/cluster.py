"""What the driver asks a Kafka cluster: partitions, offsets, and what a group has committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, wait
from typing import Any

from penstock.connectors.kafka.client import Heard, confluent_kafka, final_codes, log, told
from penstock.connectors.kafka.offsets_initializer import KafkaTopicPartition as Partition
from penstock.connectors.kafka.option_names import CONSUMER_ONLY
from penstock.connectors.secret import revealed
from penstock.errors import ConfigError

_LOOK = 0.05
_RETRY = 0.2
_UNKNOWN = 2.0  # seconds; a topic that was made just now may be unknown for a moment

Offsets = dict[Partition, int]


class Cluster:
    """A connection of the driver's. Every question asks about all partitions at once, and waits no longer than `timeout`."""

    def __init__(self, options: Mapping[str, Any], timeout: float) -> None:
        self._options = options
        self._timeout = timeout
        self._heard = Heard()
        self._kafka = confluent_kafka()
        self._admin: Any = self._connected()
        self._group: Any = None  # a consumer that joins no group: it only keeps the group's offsets

    def _connected(self) -> Any:
        from confluent_kafka import admin

        self._spec: Any = vars(admin)["OffsetSpec"]
        own: Any = {name: value for name, value in self._options.items() if name not in CONSUMER_ONLY}
        own = {**revealed(own), "error_cb": self._heard}
        try:
            return admin.AdminClient(own, logger=log)
        except self._kafka.KafkaException as error:
            raise told(error.args[0], self._options, "be connected to") from None

    @property
    def group(self) -> str | None:
        """The consumer group whose offsets are kept in Kafka."""
        return self._options.get("group.id")

    # -- partitions

    def partitions_of(self, topics: Iterable[str]) -> list[Partition]:
        """All partitions of topics that must exist."""
        names = list(topics)
        asked = lambda: self._admin.describe_topics(  # noqa: E731
            self._kafka.TopicCollection(names), request_timeout=self._timeout
        )
        found = self._answers(asked, "describe topics", lambda name: f"topic '{name}'", _UNKNOWN)
        return sorted(Partition(name, p.id) for name, topic in found.items() for p in topic.partitions)

    def topics(self) -> list[str]:
        """The names of all topics, without Kafka's own."""
        try:
            listed = self._admin.list_topics(timeout=self._timeout)
        except self._kafka.KafkaException as error:
            raise self._told(error.args[0], "list its topics") from None
        return sorted(name for name in listed.topics if not name.startswith("__"))

    # -- offsets

    def earliest(self, partitions: Collection[Partition]) -> Offsets:
        """Where each partition begins."""
        return self._offsets(dict.fromkeys(partitions, self._spec.earliest()), committed=False)

    def ends(self, partitions: Collection[Partition], committed: bool) -> Offsets:
        """Where each partition ends: for readers of committed transactions that is before the first open one."""
        return self._offsets(dict.fromkeys(partitions, self._spec.latest()), committed)

    def at_time(self, partitions: Collection[Partition], timestamp: int, committed: bool) -> Offsets:
        """The first offset of this time or later in each partition, or its end."""
        found = self._offsets(dict.fromkeys(partitions, self._spec.for_timestamp(timestamp)), committed)
        ends = self.ends([p for p, offset in found.items() if offset < 0], committed)
        return {**found, **ends}

    def _offsets(self, specs: Mapping[Partition, Any], committed: bool) -> Offsets:
        if not specs:
            return {}
        level = self._kafka.IsolationLevel
        asked = {self._kafka.TopicPartition(p.topic, p.partition): spec for p, spec in specs.items()}
        isolation = level.READ_COMMITTED if committed else level.READ_UNCOMMITTED
        call = lambda: self._admin.list_offsets(  # noqa: E731
            asked, isolation_level=isolation, request_timeout=self._timeout
        )
        found = self._answers(call, "list offsets", lambda p: f"partition {p.partition} of topic '{p.topic}'")
        return {Partition(p.topic, p.partition): info.offset for p, info in found.items()}

    # -- the group's offsets, for monitors

    def committed(self, partitions: Collection[Partition]) -> Offsets:
        """What the group has committed of each partition; nothing of those that it never read."""
        if not partitions:
            return {}
        asked = [self._kafka.TopicPartition(p.topic, p.partition) for p in partitions]
        try:
            found = self._consumer().committed(asked, timeout=self._timeout)
        except self._kafka.KafkaException as error:
            raise self._told(error.args[0], "read the offsets of the group") from None
        return {Partition(p.topic, p.partition): p.offset for p in found if p.offset >= 0}

    def commit(self, offsets: Offsets) -> None:
        """Begins to commit; gives at once. What fails is logged: nothing depends on it."""
        made = [self._kafka.TopicPartition(p.topic, p.partition, offset) for p, offset in offsets.items()]
        consumer = self._consumer()
        try:
            consumer.poll(0)  # serves what became of the last one
            consumer.commit(offsets=made, asynchronous=True)
        except self._kafka.KafkaException as error:
            self._not_committed(error.args[0])

    def _consumer(self) -> Any:
        if self._group is None:
            options = {
                **revealed(self._options),
                "enable.auto.commit": False,
                "error_cb": self._heard,
                "on_commit": self._committed,
            }
            self._group = self._kafka.Consumer(options, logger=log)
        return self._group

    def _committed(self, error: Any, partitions: Any) -> None:
        if error is not None:
            self._not_committed(error)

    def _not_committed(self, error: Any) -> None:
        log.warning("The group's offsets could not be committed to Kafka, for monitors only: %s", error)

    def close(self) -> None:
        """Ends the connection; a commit that is under way is waited for."""
        if self._group is not None:
            self._group.close()
            self._group = None

    # -- answers

    def _answers(
        self,
        ask: Callable[[], dict[Any, Future[Any]]],
        doing: str,
        named: Callable[[Any], str],
        unknown_for: float | None = None,
    ) -> dict[Any, Any]:
        """All answers. Errors that may pass, such as a leader that is being elected, are asked again until the time is up."""
        began = time.monotonic()
        deadline = began + self._timeout
        while True:
            futures = ask()
            while wait(futures.values(), timeout=_LOOK).not_done:
                self._admin.poll(0)  # for what it says in between
                if self._heard.is_final():
                    raise told(self._heard.error, self._options, doing)
                if time.monotonic() > deadline + 1:
                    break
            failed = [(key, _failure(future)) for key, future in futures.items()]
            failed = [(key, error) for key, error in failed if error is not None]
            if not failed:
                self._heard.error = None
                return {key: future.result() for key, future in futures.items()}
            key, error = failed[0]
            until = began + unknown_for if unknown_for and error.code() in self._unknown() else deadline
            if time.monotonic() > until or error.code() in final_codes():
                raise self._refused(error, doing, named(key))
            time.sleep(_RETRY)
            self._admin = self._connected()  # the old one may ask with the epoch of a leader from before

    def _unknown(self) -> tuple[int, ...]:
        kafka = self._kafka.KafkaError
        return kafka.UNKNOWN_TOPIC_OR_PART, kafka._UNKNOWN_TOPIC, kafka._UNKNOWN_PARTITION

    def _refused(self, error: Any, doing: str, named: str) -> Exception:
        return self.unknown(named) if error.code() in self._unknown() else self._told(error, doing)

    def unknown(self, named: str) -> ConfigError:
        """The error for a topic or a partition that is not there."""
        return ConfigError(
            "KAFKA_UNKNOWN_TOPIC",
            f"Kafka at {self._options.get('bootstrap.servers', '')} has no {named}. Create it, or correct what the source reads; "
            "set_topic_pattern also finds topics that are created later.",
        )

    def _told(self, error: Any, doing: str) -> Exception:
        return told(error, self._options, doing, self._heard.error)


def _failure(future: Future[Any]) -> Any:
    """The client's error; None: there is an answer."""
    if not future.done():
        kafka = confluent_kafka().KafkaError
        return kafka(kafka._TIMED_OUT)
    error = future.exception()
    return None if error is None else error.args[0]
