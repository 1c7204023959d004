"""A sink that writes to Kafka."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from penstock.connectors.delivery_guarantee import DeliveryGuarantee
from penstock.connectors.kafka.marks import LostMarks, Marks
from penstock.connectors.kafka.options import client_options
from penstock.connectors.kafka.producer import PRODUCERS, Producer, names_of
from penstock.connectors.kafka.record_serializer import KafkaRecordSerializationSchema, Records
from penstock.connectors.kafka.staged import Stage, Staged
from penstock.connectors.kafka.transaction import Transaction
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.errors import ConfigError
from penstock.runtime.failure import shortened
from penstock.runtime.records import Tags
from penstock.types import TypeInformation


class KafkaSink(Sink):
    """Writes elements to topics of Kafka. An element's timestamp becomes its record's, where it has one.

    With EXACTLY_ONCE each task writes in a transaction of its own and commits it when the task ends, together with a mark of
    the batch: a batch that runs again finds out what is written. Readers must read with isolation.level=read_committed.
    With AT_LEAST_ONCE a task ends when the broker has all its records. With NONE nobody waits.

    >>> from penstock.formats import SimpleStringSchema
    >>> words = KafkaRecordSerializationSchema.builder().set_topic("words")
    >>> sink = (
    ...     KafkaSink.builder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_record_serializer(words.set_value_serialization_schema(SimpleStringSchema()).build())
    ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    ...     .build()
    ... )
    """

    wants_timestamps = True

    def __init__(
        self,
        options: Mapping[str, Any],
        serializer: KafkaRecordSerializationSchema,
        guarantee: DeliveryGuarantee,
        prefix: str = "penstock",
        whole_batches: bool = False,
        lost_marks: LostMarks = "fail",
    ) -> None:
        self.options = options
        self.serializer = serializer
        self.guarantee = guarantee
        self.prefix = prefix
        self.whole_batches = whole_batches
        self._marks = Marks(lost_marks)

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Collects the settings of a sink."""
        return KafkaSinkBuilder()

    def of_type(self, kind: TypeInformation | None) -> KafkaSink:
        typed = copy.copy(self)
        typed.serializer = self.serializer.of_type(kind)
        return typed

    def attach(self, folder: str) -> None:
        self._marks = Marks(self._marks.policy, folder)

    def writer(self, task: WriteTask) -> SinkWriter:
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return _Writer(self, task, self.guarantee is DeliveryGuarantee.AT_LEAST_ONCE)
        if self.whole_batches or task.whole_job:
            return _StagingWriter(self, task)
        return _TransactionWriter(self, task)

    def identity(self, task: WriteTask, of: str) -> str:
        """The transactional id and the group of a mark: of this sink in this lineage, so that no other batch has its number."""
        return f"{self.prefix}-{task.lineage}-{task.sink}-{of}"

    def transaction(self, task: WriteTask, of: str) -> Transaction:
        """The transaction of a batch: a task's own, or that of all its tasks."""
        identity = self.identity(task, of)
        return Transaction(
            self.options,
            identity,
            task.batch,
            lambda producer, topic: self._marks.counts_as_done(producer, task, of, topic),
            task.repeated,
        )

    def commit(self, batch: int, prepared: list[Any]) -> None:
        if any(isinstance(part, Staged) for part in prepared):
            prepared = [("all", self._write_at_once(sorted(prepared, key=lambda staged: staged.task.partition)))]
        self._marks.confirm(prepared, batch)

    def _write_at_once(self, parts: list[Staged]) -> list[str]:
        """A batch in one transaction, on the driver; gives the topics that it is written to."""
        transaction = self.transaction(parts[0].task, "all")
        try:
            for part in parts:
                for records in part.records():
                    transaction.send(records)
                    if transaction.done_before:
                        break
            transaction.commit()
        except BaseException:
            transaction.abort()
            raise
        Stage(self._marks.folder).clear(parts[0].task.batch - 1)  # this one's are needed when it is committed again
        return sorted(transaction.topics)

    def abort(self, batch: int, prepared: list[Any]) -> None:
        if any(isinstance(part, Staged) for part in prepared):
            Stage(self._marks.folder).clear(batch)


class KafkaSinkBuilder:
    """Collects the settings of a sink: servers, what a record is made of, and what is promised."""

    def __init__(self) -> None:
        self._options: dict[str, Any] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.AT_LEAST_ONCE
        self._prefix = "penstock"
        self._whole_batches = False
        self._lost_marks: LostMarks = "fail"

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """One or more brokers to ask first, as `host:port,host:port`."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> Self:
        """What a record is made of."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise ConfigError(
                "KAFKA_SERIALIZER",
                f"set_record_serializer() got {shortened(record_serializer)}. Build one with "
                "KafkaRecordSerializationSchema.builder().",
            )
        self._serializer = record_serializer
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """What is promised when something fails; AT_LEAST_ONCE without it."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise ConfigError(
                "KAFKA_SINK", f"set_delivery_guarantee() got {delivery_guarantee!r}. It takes a DeliveryGuarantee."
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> Self:
        """What transactional ids and groups of marks begin with, for the broker's access rules; `penstock` without it."""
        if not transactional_id_prefix:
            raise ConfigError(
                "KAFKA_SINK", "set_transactional_id_prefix() got an empty text. Give a name of the job's."
            )
        self._prefix = transactional_id_prefix
        return self

    def set_property(self, key: str, value: Any) -> Self:
        """A property of Kafka's client. Passwords may be Secrets, and are treated as such."""
        self._options[key] = value
        return self

    def set_kafka_producer_config(self, properties: Mapping[str, Any]) -> Self:
        """Several properties of Kafka's client."""
        self._options.update(properties)
        return self

    def set_whole_batches(self, whole_batches: bool = True) -> Self:
        """With EXACTLY_ONCE: whether a batch becomes visible as a whole, and not task by task.

        Tasks then leave their records in the checkpoint, and the driver writes them in one transaction: each record is written
        twice, and one process writes them all.
        """
        self._whole_batches = whole_batches
        return self

    def set_lost_marks(self, lost_marks: LostMarks) -> Self:
        """With EXACTLY_ONCE: what to do with a batch when the broker no longer knows whether it was written.

        That can be when a job died in a batch and was down for longer than the broker's offsets.retention.minutes, seven days
        by default. "fail" fails the job, "write" writes the batch, perhaps again, "skip" takes it as written.
        """
        if lost_marks not in ("fail", "write", "skip"):
            raise ConfigError("KAFKA_SINK", f'set_lost_marks() got {lost_marks!r}. It takes "fail", "write" or "skip".')
        self._lost_marks = lost_marks
        return self

    def build(self) -> KafkaSink:
        """The sink."""
        if not self._options.get("bootstrap.servers"):
            raise ConfigError("KAFKA_SINK", "The Kafka sink has no servers. Call set_bootstrap_servers.")
        if self._serializer is None:
            raise ConfigError(
                "KAFKA_SINK",
                "The Kafka sink has no record serializer, so nothing says what a record is made of. Call set_record_serializer "
                "with what KafkaRecordSerializationSchema.builder() builds.",
            )
        return KafkaSink(
            client_options(self._options, "producer"),
            self._serializer,
            self._guarantee,
            self._prefix,
            self._whole_batches,
            self._lost_marks,
        )


class _EncodingWriter(SinkWriter):
    """Turns elements into records; subclasses send them."""

    def __init__(self, sink: KafkaSink, task: WriteTask) -> None:
        self._sink = sink
        self._task = task
        self._serializer = sink.serializer
        self._serializer.open(task.partition, task.partitions)

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if not values:
            return
        records = self._encoded(values)
        if timestamps is not None and len(timestamps):
            records.timestamps = np.maximum(
                timestamps, 0
            ).tolist()  # 0, and what has no timestamp, is the time of writing
        self._send(records)

    def _encoded(self, values: list[Any]) -> Records:
        try:
            return self._serializer.encode(values, self._partitions_of)
        except Exception:
            self.failed_on = self._first_that_fails(values)
            raise

    def _first_that_fails(self, values: list[Any]) -> tuple[Any, ...]:
        for value in values:
            try:
                self._serializer.encode([value], self._partitions_of)
            except Exception:
                return (value,)
        return ()

    def _partitions_of(self, topic: str) -> list[int]:
        """For a partitioner of the user's."""
        producer = _producer(self._sink)
        partitions = producer.partitions_of(topic)
        _keep(self._sink, producer)
        return partitions

    def _send(self, records: Records) -> None:
        raise NotImplementedError


class _Writer(_EncodingWriter):
    """At least once, or not even that."""

    def __init__(self, sink: KafkaSink, task: WriteTask, waits: bool) -> None:
        super().__init__(sink, task)
        self._waits = waits
        self._producer: Producer | None = None

    def _partitions_of(self, topic: str) -> list[int]:
        return self._open().partitions_of(topic)

    def _open(self) -> Producer:
        if self._producer is None:
            self._producer = _producer(self._sink)
        return self._producer

    def _send(self, records: Records) -> None:
        self._open().send(records)

    def prepare(self) -> Any:
        if self._producer is not None:
            if self._waits:
                self._producer.flush()
            else:
                self._producer.check()
            _keep(self._sink, self._producer)
            self._producer = None
        return None

    def abort(self) -> None:
        if self._producer is not None:
            self._producer.discard()
            self._producer = None


class _TransactionWriter(_EncodingWriter):
    """Exactly once, visible task by task."""

    def __init__(self, sink: KafkaSink, task: WriteTask) -> None:
        super().__init__(sink, task)
        self._of = str(task.partition)
        self._transaction = sink.transaction(task, self._of)

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if not self._transaction.done_before:
            super().write(values, timestamps, tags)

    def _send(self, records: Records) -> None:
        self._transaction.send(records)

    def prepare(self) -> Any:
        self._transaction.commit()
        return self._of, sorted(self._transaction.topics)

    def abort(self) -> None:
        self._transaction.abort()


class _StagingWriter(_EncodingWriter):
    """Exactly once, visible batch by batch: the driver writes what the tasks leave."""

    def __init__(self, sink: KafkaSink, task: WriteTask) -> None:
        super().__init__(sink, task)
        self._stage = Stage(sink._marks.folder).open(task)

    def _send(self, records: Records) -> None:
        self._stage.add(records)

    def prepare(self) -> Any:
        return self._stage.finish()

    def abort(self) -> None:
        self._stage.remove()


def _producer(sink: KafkaSink) -> Producer:
    """The producer without transactions that this process keeps."""
    kept: Producer | None = PRODUCERS.take(_name(sink))
    if kept is None:
        PRODUCERS.close_idle()
        kept = Producer(_plain_options(sink))
    return kept


def _keep(sink: KafkaSink, producer: Producer) -> None:
    PRODUCERS.keep(_name(sink), producer)


def _name(sink: KafkaSink) -> Any:
    return (sink.guarantee, names_of(sink.options))


def _plain_options(sink: KafkaSink) -> dict[str, Any]:
    """Retries of the client's own must not make records come twice or out of order where something is promised."""
    careful = {"enable.idempotence": True} if sink.guarantee is not DeliveryGuarantee.NONE else {"acks": "1"}
    return {**careful, **sink.options}
