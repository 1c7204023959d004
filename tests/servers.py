"""Real servers for tests on the loopback interface. Each ends with the test run, also if the run is killed."""

from __future__ import annotations

import itertools
import os
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.devservers.kafka import KafkaServer
from penstock.devservers.postgres import DATABASE, USER, PostgresServer
from penstock.devservers.redis import RedisServer
from penstock.devservers.server import RunningServer, ServerKind, start_server
from tests.other_user import make_reachable

if TYPE_CHECKING:
    from confluent_kafka import Message
    from confluent_kafka.admin import AdminClient

_WAIT = 180.0


class TestServer:
    """A server that can be stopped, killed and started again, on the same port and with the same data."""

    __test__ = False

    def __init__(self, kind: ServerKind, port: int | None = None) -> None:
        self._kind = kind
        self._folder = Path(tempfile.mkdtemp(prefix=f"penstock-test-{kind.name}-"))
        self._server: RunningServer | None = None
        self._port = port
        self.start()

    host = "127.0.0.1"

    @property
    def port(self) -> int:
        assert self._port is not None
        return self._port

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def folder(self) -> Path:
        return self._folder

    def start(self) -> None:
        if self._server is None:
            self._server = start_server(self._kind, self._folder, self._port, lambda step: None, guarded=True)
            self._port = self._server.port

    def stop(self) -> None:
        """Terminates the server, as `penstock dev down` does."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def kill(self) -> None:
        """Kills the server, like a crash."""
        if self._server is not None:
            self._server.kill()
            self._server = None

    def restart(self) -> None:
        self.stop()
        self.start()


class Kafka(TestServer):
    """A broker that tests share. `new_name` returns unique names for topics and groups."""

    def __init__(self, settings: Mapping[str, str] | None = None, port: int | None = None) -> None:
        self._admin: AdminClient | None = None
        super().__init__(KafkaServer(heap="384m", brief=True, settings=settings), port)

    @property
    def bootstrap(self) -> str:
        return self.address

    @property
    def admin(self) -> AdminClient:
        from confluent_kafka.admin import AdminClient

        if self._admin is None:
            # Tests restart the broker, and the client should reconnect quickly.
            self._admin = AdminClient(
                {"bootstrap.servers": self.bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 500}
            )
        return self._admin

    @staticmethod
    def new_name(prefix: str = "topic") -> str:
        return f"{prefix}-{uuid.uuid4().hex[:12]}"

    def create_topic(
        self, name: str | None = None, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> str:
        """Creates a topic and returns its name.

        The topic keeps its records forever: the timestamps of many tests are long ago, and the broker would delete such
        records half a minute after its start.
        """
        from confluent_kafka.cimpl import NewTopic

        topic = name or self.new_name()
        settings = {"retention.ms": "-1", **(config or {})}
        created = self.admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])
        created[topic].result(_WAIT)
        return topic

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Increases the number of partitions of a topic."""
        from confluent_kafka.cimpl import NewPartitions

        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(_WAIT)

    def produce(
        self,
        topic: str,
        values: Iterable[bytes | str | None],
        keys: Iterable[bytes | str | None] = itertools.repeat(None),
        partition: int = -1,
        timestamps: Iterable[int] = itertools.repeat(0),
    ) -> None:
        """Writes records and waits until the broker has acknowledged them. A timestamp of 0 means the current time."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 1, "log_level": 0})
        for value, key, timestamp in zip(values, keys, timestamps, strict=False):
            while True:
                try:
                    producer.produce(topic, value, key, partition=partition, timestamp=timestamp)
                    break
                except BufferError:
                    producer.poll(0.1)
        left = producer.flush(_WAIT)
        assert left == 0, f"{left} records were not acknowledged"

    def read(self, topic: str, committed: bool = True) -> list[Message]:
        """All records of a topic up to its current end, partition by partition, without those of open transactions."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": self.new_name("reader"),
                "enable.auto.commit": False,
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        try:
            partitions = sorted(consumer.list_topics(topic, timeout=_WAIT).topics[topic].partitions)
            return [m for p in partitions for m in _partition(consumer, TopicPartition(topic, p, 0))]
        finally:
            consumer.close()

    def values(self, topic: str, committed: bool = True) -> list[bytes | None]:
        """The values of all records of a topic."""
        return [message.value() for message in self.read(topic, committed)]


def _partition(consumer: object, partition: object) -> Iterable[Message]:
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    assert isinstance(consumer, Consumer)
    assert isinstance(partition, TopicPartition)
    consumer.assign([partition])
    while True:
        message = consumer.poll(_WAIT)
        assert message is not None, f"no record of {partition} arrived for {_WAIT} s"
        error = message.error()
        if error is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            return
        else:
            raise AssertionError(str(error))


class Redis(TestServer):
    """A Redis server that tests share. `new_name` returns unique prefixes for keys."""

    def __init__(self) -> None:
        super().__init__(RedisServer(brief=True))

    @property
    def url(self) -> str:
        return f"redis://{self.address}/0"

    @staticmethod
    def new_name(prefix: str = "key") -> str:
        return f"{prefix}-{uuid.uuid4().hex[:12]}"


class Postgres(TestServer):
    """A PostgreSQL server that tests share. `new_name` returns unique names of tables."""

    def __init__(self) -> None:
        super().__init__(PostgresServer(brief=True))

    def start(self) -> None:
        if os.getuid() == 0:  # the server runs as another user
            make_reachable(self.folder)
        super().start()

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://{self.address}/{DATABASE}"

    def execute(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Runs a statement and returns its rows."""
        import psycopg

        with psycopg.connect(host=self.host, port=self.port, user=USER, dbname=DATABASE, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return [] if cursor.description is None else cursor.fetchall()

    @staticmethod
    def new_name(prefix: str = "rows") -> str:
        return f"{prefix}_{uuid.uuid4().hex[:12]}"
