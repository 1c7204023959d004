"""A producer of Kafka's client as sinks use it: whole batches in, one place for what fails, kept between batches."""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

from penstock.connectors.kafka.client import Heard, confluent_kafka
from penstock.connectors.kafka.record_serializer import Records
from penstock.connectors.kafka.refusals import UNREACHABLE, refusal, unknown_topic
from penstock.connectors.secret import revealed
from penstock.errors import PenstockError

Options = Mapping[str, Any]
SILENT = logging.Logger("penstock.kafka.client", logging.CRITICAL + 1)  # what goes wrong is raised, or mends itself

# What the client is told unless the sink's properties say otherwise.
DEFAULTS = {
    "acks": "all",
    "linger.ms": 5,
    "batch.size": 1_000_000,
    "partitioner": "murmur2_random",  # as Java's clients: records of a key share a partition whoever wrote them
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 256 * 1024,
    "message.timeout.ms": 120_000,
    "retry.backoff.ms": 10,  # a transaction that follows at once waits this long for the end of the one before
    "reconnect.backoff.max.ms": 1_000,  # a broker that was restarted is found soon
    "delivery.report.only.error": True,
}
_ANY = -1  # the client's own partitioner chooses
_PATIENCE = 30.0  # seconds for an answer of the broker
_STEP = 1.0  # seconds of one call that waits for it
_STARTING = {  # what a broker answers that has just begun
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "CONCURRENT_TRANSACTIONS",
    "_WAIT_COORD",
}
_NEW_TOPIC = 5.0  # seconds in which a topic that was just created becomes known
_TOPICS_KNOWN = 300.0  # seconds after which the partitions of a topic are asked for again
_IDLE = 60.0  # seconds after which a producer that nobody used is closed, when another one is opened


class Producer:
    """Sends records. Not for several threads: a Python worker runs one task at a time."""

    def __init__(self, options: Options) -> None:
        self._kafka: Any = confluent_kafka()
        self._heard = Heard()
        self.servers = str(options.get("bootstrap.servers", ""))
        self._failed: list[Any] = []
        self._topics: dict[str, tuple[float, list[int]]] = {}
        called = {"on_delivery": self._report, "error_cb": self._heard, "logger": SILENT}
        with self.telling("opening a producer"):
            self.client: Any = self._kafka.Producer({**DEFAULTS, **revealed(options), **called})

    def _report(self, error: Any, message: Any) -> None:
        """Called for records that could not be delivered."""
        if error is not None and len(self._failed) < 10:
            self._failed.append((error, message.topic()))

    def telling(self, doing: str) -> _Telling:
        """Around calls of the client: what it raises is told in our words."""
        return _Telling(self, self._kafka.KafkaException, doing)

    def refusal(self, error: Any, doing: str) -> PenstockError:
        """The error to raise for one of the client's. That the time is up is not all that the client knows."""
        away = error.name() in UNREACHABLE and self._heard.is_final()
        return refusal(self._heard.error if away else error, self.servers, doing)

    def patiently(self, ask: Callable[[float], Any], doing: str, patience: float) -> Any:
        """What the broker answers, asked in short steps: that it refuses us the client tells only between calls."""
        deadline = time.monotonic() + patience
        while True:
            try:
                return ask(min(_STEP, patience))
            except self._kafka.KafkaException as raised:
                error = raised.args[0]
            self.client.poll(0.05)  # between two answers that come at once, too
            passes = error.retriable() or error.name() in UNREACHABLE | _STARTING
            if not passes or self._heard.is_final() or time.monotonic() > deadline:
                raise self.refusal(error, doing)

    # -- topics

    def partitions_of(self, topic: str) -> list[int]:
        """The partitions of a topic; raises when there is no such topic."""
        now = time.monotonic()
        known = self._topics.get(topic)
        if known is None or now - known[0] > _TOPICS_KNOWN:
            known = self._topics[topic] = (now, self._asked(topic, now + _NEW_TOPIC))
        return known[1]

    def _asked(self, topic: str, deadline: float) -> list[int]:
        doing = f"writing to topic '{topic}'"
        while True:
            told = self.patiently(lambda step: self.client.list_topics(topic, timeout=step), doing, _PATIENCE).topics[
                topic
            ]
            if told.error is None and told.partitions:
                return sorted(told.partitions)
            missing = told.error is None or told.error.name() in ("UNKNOWN_TOPIC_OR_PART", "LEADER_NOT_AVAILABLE")
            if not missing:
                raise self.refusal(told.error, doing)
            if time.monotonic() > deadline:  # a broker that creates topics by itself needs a moment
                raise unknown_topic(doing, self.servers)
            time.sleep(0.1)

    # -- records

    def send(self, records: Records) -> None:
        """Hands records over; they are delivered by `flush`, or before."""
        for topic in records.all_topics():
            self.partitions_of(topic)
        produce = self.client.produce
        count = len(records.values)
        columns: list[Any] = [
            repeat(records.topics, count) if isinstance(records.topics, str) else records.topics,
            records.values,
            repeat(None, count) if records.keys is None else records.keys,
            repeat(_ANY, count) if records.partitions is None else records.partitions,
            repeat(None, count),  # no callbacks of their own
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
                    self._when_there_is_room(record)
        except self._kafka.KafkaException as error:
            raise self.refusal(error.args[0], f"writing to topic '{record[0]}'") from None
        self.client.poll(0)

    def _when_there_is_room(self, record: tuple[Any, ...]) -> None:
        """The client's own queue is full: waits until it has delivered some."""
        while True:
            self.client.poll(0.1)
            self.check()
            try:
                self.client.produce(*record)
            except BufferError:
                continue
            return

    def check(self) -> None:
        """Raises when a record could not be delivered."""
        if self._failed:
            error, topic = self._failed[0]
            self._failed = []
            raise self.refusal(error, f"writing to topic '{topic}'")

    def flush(self) -> None:
        """Waits until all records are delivered. The client gives a record up after message.timeout.ms."""
        while self.client.flush(_PATIENCE):
            self.check()
        self.check()

    def discard(self) -> None:
        """Ends the client without what it has not delivered yet. It is of no more use: it may drop what comes later, too."""
        self.client.purge()
        self.client = None

    def close(self) -> None:
        """Delivers what is left, and ends the client."""
        if self.client.flush(5):
            self.client.purge()
        self.client = None  # it knows us, too: only so does it end at once


class _Telling:
    """A context that tells the client's errors in our words."""

    __slots__ = ("_doing", "_kind", "_producer")

    def __init__(self, producer: Producer, kind: type[Exception], doing: str) -> None:
        self._producer, self._kind, self._doing = producer, kind, doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, self._kind):
            raise self._producer.refusal(error.args[0], self._doing) from None


class Kept:
    """What this process keeps open between batches, by a name. What was not used for a while is closed."""

    def __init__(self) -> None:
        self._kept: dict[Any, tuple[float, Any]] = {}
        self._process = 0

    def take(self, name: Any) -> Any:
        """What is kept under a name, or None; it is kept no longer."""
        if self._process != os.getpid():  # a forked process cannot use another's connections
            self._kept, self._process = {}, os.getpid()
        return self._kept.pop(name, (0, None))[1]

    def keep(self, name: Any, kept: Any) -> None:
        self._kept[name] = (time.monotonic(), kept)

    def close_idle(self, idle: float = _IDLE) -> None:
        now = time.monotonic()
        for name in [n for n, (used, _) in self._kept.items() if now - used >= idle]:
            self._kept.pop(name)[1].close()

    def close(self) -> None:
        if self._process == os.getpid():
            self.close_idle(0)


def names_of(options: Options) -> Any:
    """What tells producers of different options apart."""
    return tuple(sorted(options.items(), key=lambda option: option[0]))


PRODUCERS = Kept()
atexit.register(PRODUCERS.close)
