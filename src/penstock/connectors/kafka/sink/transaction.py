"""Exactly once: a transaction per task and batch, with a mark inside it that says which batch it was.

The mark is an offset that the transaction commits for a consumer group of the task's own: the number of batches done. It
becomes visible with the records or not at all, so a batch that runs again finds itself done. The order of calls matters:
opening the producer fences whoever wrote under this id before, and only then is the mark read; nobody can move it afterwards
without fencing us.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from penstock.connectors.kafka.producer import PRODUCERS, SILENT, Options, Producer, names_of
from penstock.connectors.kafka.record_serializer import Records
from penstock.connectors.secret import revealed
from penstock.errors import JobError

DEFAULT_TIMEOUT = 300_000  # milliseconds; the longest that a dead job's open transaction can hold up its readers
_NOT_YET = {  # the broker has just started, or another transaction on the mark is ending
    "NOT_COORDINATOR",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "UNSTABLE_OFFSET_COMMIT",
    "_WAIT_COORD",
}
_PATIENCE = 60.0  # seconds for the broker to end what a fenced producer left
_CLIENT_ONLY = ("bootstrap.servers", "security.", "sasl.", "ssl.", "client.id", "broker.address.family", "socket.")


class MarkedProducer(Producer):
    """A transactional producer, and how many batches have been written under its id."""

    def __init__(self, options: Options, identity: str, topic: str) -> None:
        own = {"transaction.timeout.ms": DEFAULT_TIMEOUT, **options, "transactional.id": identity}
        own["message.timeout.ms"] = min(int(own.get("message.timeout.ms", 120_000)), int(own["transaction.timeout.ms"]))
        super().__init__(own)
        self.identity = identity
        self._options = {n: v for n, v in revealed(options).items() if n.startswith(_CLIENT_ONLY)}
        self.patiently(self.client.init_transactions, f"opening transactional id '{identity}'", _PATIENCE)
        self.partitions_of(topic)
        self._group: Any = None
        self.done = self._read_mark(topic)  # batches; none when there is no mark
        self._marked: set[str] = set()  # topics that hold the present batch's mark

    def _read_mark(self, topic: str) -> int | None:
        """Asked by a consumer that never reads; the broker answers when no other transaction on the mark is open."""
        settings = {"group.id": self.identity, "isolation.level": "read_committed", "enable.auto.commit": False}
        settings |= {"logger": SILENT, "retry.backoff.ms": 10, **self._options}
        consumer = self._kafka.Consumer(settings)
        try:
            self._group = consumer.consumer_group_metadata()
            offset = self._committed(consumer, self._kafka.TopicPartition(topic, 0))
        finally:
            consumer.close()
        return None if offset < 0 else offset

    def _committed(self, consumer: Any, place: Any) -> int:
        doing, deadline = f"reading the mark of '{self.identity}'", time.monotonic() + _PATIENCE
        while True:
            try:
                [found] = consumer.committed([place], _PATIENCE)
                if found.error is None:
                    return int(found.offset)
                failed = found.error
            except self._kafka.KafkaException as error:
                failed = error.args[0]
            if failed.name() not in _NOT_YET or time.monotonic() > deadline:
                raise self.refusal(failed, doing)
            time.sleep(0.05)

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        name = ("admin", *names_of(self._options))
        settings: dict[str, Any] = {**self._options, "logger": SILENT}
        admin = PRODUCERS.take(name) or _Admin(AdminClient(settings))
        PRODUCERS.keep(name, admin)
        return admin.client

    def mark_kept_for(self) -> float | None:
        """Seconds after which the broker forgets marks; None when it does not tell."""
        from confluent_kafka.admin._config import ConfigResource

        try:
            broker = next(iter(self.client.list_topics(timeout=_PATIENCE).brokers))
            resource = ConfigResource(ConfigResource.Type.BROKER, str(broker))
            told = self._admin().describe_configs([resource], request_timeout=_PATIENCE)[resource].result(_PATIENCE)
            return int(told["offsets.retention.minutes"].value) * 60.0
        except (self._kafka.KafkaException, KeyError, StopIteration, ValueError, TypeError):
            return None

    # -- one batch

    def check_connection(self) -> None:
        """Raises when the broker was away: a client that lost the coordinator of its transactions may wait for it in vain."""
        self.client.poll(0)
        if self._heard.error is not None:
            raise self._kafka.KafkaException(self._heard.error)

    def begin(self, batch: int, topic: str) -> None:
        """Opens the batch's transaction. The mark goes first: a producer that was fenced meanwhile learns it here."""
        self.partitions_of(topic)
        self.client.begin_transaction()
        self._marked = set()
        self._mark(batch, {topic})

    def _mark(self, batch: int, topics: set[str]) -> None:
        marks = [self._kafka.TopicPartition(topic, 0, batch + 1) for topic in sorted(topics)]
        self.client.send_offsets_to_transaction(marks, self._group, _PATIENCE)
        self._marked |= topics

    def mark_also(self, batch: int, topics: set[str]) -> None:
        """The mark stands on each topic that the batch is written to: who looks for it need know only one of them."""
        if new := topics - self._marked:
            with self.telling(f"marking batch {batch} of '{self.identity}'"):
                self._mark(batch, new)

    def commit(self, batch: int) -> None:
        """Makes the batch's records and its mark visible, together."""
        doing = f"committing batch {batch} of '{self.identity}'"
        while True:
            try:
                self.client.commit_transaction(_PATIENCE)
            except self._kafka.KafkaException as error:
                told = error.args[0]
                if told.retriable() and not told.fatal():
                    continue  # the client remembers that it commits, and gives up when the transaction's time is over
                self.check()  # a record that could not be delivered says more
                raise self.refusal(told, doing) from None
            break
        self.check()
        self.done = batch + 1

    def abandon(self) -> None:
        """Ends the transaction without its records, as far as that is possible."""
        with suppress(self._kafka.KafkaException):
            self.client.purge()
            self.client.abort_transaction(5)

    def close(self) -> None:
        """Ends the client; whatever it had not committed is not wanted."""
        with suppress(self._kafka.KafkaException):  # one that was fenced refuses everything
            self.client.purge()
        self.client = None


class _Admin:
    """A client of the broker's own affairs, kept like a producer."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def close(self) -> None:
        """It has nothing to deliver."""


class Transaction:
    """One batch of one task: written and marked, or found done."""

    def __init__(
        self,
        options: Options,
        identity: str,
        batch: int,
        judge: Callable[[MarkedProducer, str], bool] | None = None,
        repeated: bool = False,
    ) -> None:
        self._options = options
        self._identity = identity
        self._batch = batch
        self._repeated = repeated  # later batches may have been written before
        self._judge = judge or (lambda producer, topic: False)  # whether a batch without a mark counts as done
        self._producer: MarkedProducer | None = None
        self.done_before = False
        self.topics: set[str] = set()  # written to

    def send(self, records: Records) -> None:
        """Hands records over, unless the batch is done already."""
        if self.done_before:
            return
        if self._producer is None:
            self._producer = self._begun(records.topic_of_first())
            if self._producer is None:
                self.done_before = True
                return
        self.topics |= records.all_topics()
        self._producer.send(records)

    def _begun(self, topic: str) -> MarkedProducer | None:
        """A producer with the batch's transaction open; None when the batch is done."""
        kept: MarkedProducer | None = PRODUCERS.take(self._name())
        if kept is not None:
            if self._is_done(kept, topic):  # marks only rise
                PRODUCERS.keep(self._name(), kept)
                return None
            try:
                kept.check_connection()
                kept.begin(self._batch, topic)
            except kept._kafka.KafkaException:  # another worker wrote under this id since, or the broker was away
                kept.close()
            else:
                return kept
        PRODUCERS.close_idle()
        producer = MarkedProducer(self._options, self._identity, topic)
        if self._is_done(producer, topic):
            producer.close()
            return None
        with producer.telling(f"beginning batch {self._batch} of '{self._identity}'"):
            producer.begin(self._batch, topic)
        return producer

    def _is_done(self, producer: MarkedProducer, topic: str) -> bool:
        done = producer.done
        if done is None:
            return self._judge(producer, topic)
        if done > self._batch + 1 and not self._repeated:
            raise JobError(
                "KAFKA_BATCH_AHEAD",
                f"Batch {self._batch} is to be written, and Kafka at {producer.servers} has output up to batch {done - 1} under "
                f"the id '{self._identity}'. The checkpoint is older than the output: was it copied or put back? Resume from the "
                "newest one. To write all of it again, start a job of its own from a fresh checkpoint.",
            )
        return done > self._batch

    def commit(self) -> bool:
        """Makes the batch visible; whether there was something to do."""
        if self._producer is None:
            return False
        self._producer.mark_also(self._batch, self.topics)
        self._producer.commit(self._batch)
        PRODUCERS.keep(self._name(), self._producer)
        self._producer = None
        return True

    def abort(self) -> None:
        """Gives the batch up. The producer is not used again: what it could not do is ended by the next one under its id."""
        if self._producer is not None:
            self._producer.abandon()
            self._producer.close()
            self._producer = None

    def _name(self) -> Any:
        return (self._identity, names_of(self._options))
