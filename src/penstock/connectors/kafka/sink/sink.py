"""The Kafka sink and its builder."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from penstock.connectors.delivery_guarantee import DeliveryGuarantee
from penstock.connectors.kafka.client.options import client_options
from penstock.connectors.kafka.sink.producer import CLIENT_CACHE, Producer, options_key
from penstock.connectors.kafka.sink.record_serializer import KafkaRecordSerializationSchema, RecordColumns
from penstock.connectors.kafka.sink.staged_records import StagedRecords, StagingFolder
from penstock.connectors.kafka.sink.transaction import Transaction
from penstock.connectors.kafka.sink.transaction_markers import LostMarkerPolicy, TransactionMarkers
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.errors import ConfigError, warn_ignored
from penstock.runtime.failure import short_repr
from penstock.runtime.loop.records import Tags
from penstock.types import TypeInformation

_DEFAULT_PREFIX = "penstock"  # of transactional ids


class KafkaSink(Sink):
    """Writes elements to Kafka topics. Records get the timestamp of the element, if it has one.

    With EXACTLY_ONCE, each task writes in its own transaction, which also stores a marker of the batch. A batch that runs again
    reads the marker to detect what was already written. Consumers must use isolation.level=read_committed. With AT_LEAST_ONCE, a
    task ends when the broker has acknowledged all its records. With NONE, the sink does not wait for acknowledgements.

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
        lost_marks: LostMarkerPolicy = "fail",
    ) -> None:
        self.options = options
        self.serializer = serializer
        self.guarantee = guarantee
        self.prefix = prefix
        self.whole_batches = whole_batches
        self._markers = TransactionMarkers(lost_marks)

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Returns a builder."""
        return KafkaSinkBuilder()

    def of_type(self, kind: TypeInformation | None) -> KafkaSink:
        typed = copy.copy(self)
        typed.serializer = self.serializer.of_type(kind)
        return typed

    def attach(self, folder: str) -> None:
        self._markers = TransactionMarkers(self._markers.policy, folder)

    def writer(self, task: WriteTask) -> SinkWriter:
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return _Writer(self, task, self.guarantee is DeliveryGuarantee.AT_LEAST_ONCE)
        if self.whole_batches or task.whole_job:
            return _StagingWriter(self, task)
        return _TransactionWriter(self, task)

    def transactional_id(self, task: WriteTask, writer: str) -> str:
        """Returns the transactional id, which is also the consumer group of the marker.

        It contains the lineage and the sink, because batch numbers are unique only within them.
        """
        return f"{self.prefix}-{task.lineage}-{task.sink}-{writer}"

    def transaction(self, task: WriteTask, writer: str) -> Transaction:
        """Returns the transaction of a batch. `writer` is the partition of a task, or "all" for all tasks together."""
        return Transaction(
            self.options,
            self.transactional_id(task, writer),
            task.batch,
            lambda producer, topic: self._markers.counts_as_written(producer, task, writer, topic),
            task.repeated,
        )

    def commit(self, batch: int, prepared: list[Any]) -> None:
        if any(isinstance(part, StagedRecords) for part in prepared):
            prepared = [("all", self._write_batch(sorted(prepared, key=lambda staged: staged.task.partition)))]
        self._markers.record(prepared, batch)

    def _write_batch(self, parts: list[StagedRecords]) -> list[str]:
        """Writes a batch in one transaction on the driver. Returns the topics."""
        transaction = self.transaction(parts[0].task, "all")
        try:
            for part in parts:
                for records in part.records():
                    transaction.send(records)
                    if transaction.already_written:
                        break
            transaction.commit()
        except BaseException:
            transaction.abort()
            raise
        StagingFolder(self._markers.folder).clear(parts[0].task.batch - 1)  # this batch may have to be committed again
        return sorted(transaction.topics)

    def abort(self, batch: int, prepared: list[Any]) -> None:
        if any(isinstance(part, StagedRecords) for part in prepared):
            StagingFolder(self._markers.folder).clear(batch)


class KafkaSinkBuilder:
    """Builds a KafkaSink. Bootstrap servers and a record serializer are required."""

    def __init__(self) -> None:
        self._options: dict[str, Any] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.AT_LEAST_ONCE
        self._prefix: str | None = None
        self._whole_batches = False
        self._lost_markers: LostMarkerPolicy | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Sets the initial brokers as `host:port`, separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> Self:
        """Sets the schema that serializes elements to records."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise ConfigError(
                "KAFKA_SERIALIZER",
                f"set_record_serializer() got {short_repr(record_serializer)}; expected a KafkaRecordSerializationSchema. Build "
                "one with KafkaRecordSerializationSchema.builder().",
            )
        self._serializer = record_serializer
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Sets the delivery guarantee. The default is AT_LEAST_ONCE."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise ConfigError(
                "KAFKA_SINK", f"set_delivery_guarantee() got {delivery_guarantee!r}; expected a DeliveryGuarantee."
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> Self:
        """Sets the prefix of the transactional ids and of the consumer groups of markers, for ACLs of the broker.

        The default is `penstock`.
        """
        if not transactional_id_prefix:
            raise ConfigError(
                "KAFKA_SINK", "set_transactional_id_prefix() got an empty string. Pass a name that identifies the job."
            )
        self._prefix = transactional_id_prefix
        return self

    def set_property(self, key: str, value: Any) -> Self:
        """Sets a property of the Kafka client. Passwords are redacted in logs; they may be passed as a `Secret`."""
        self._options[key] = value
        return self

    def set_kafka_producer_config(self, properties: Mapping[str, Any]) -> Self:
        """Sets several properties of the Kafka client."""
        self._options.update(properties)
        return self

    def set_whole_batches(self, whole_batches: bool = True) -> Self:
        """Sets whether a batch becomes visible in one transaction instead of one transaction per task. For EXACTLY_ONCE.

        Tasks then store their records in the checkpoint, and the driver writes them in one transaction. Each record is written
        twice, and a single process writes all of them.
        """
        self._whole_batches = whole_batches
        return self

    def set_lost_marker_policy(self, policy: LostMarkerPolicy) -> Self:
        """Sets what to do if it is unknown whether a batch was written. For EXACTLY_ONCE.

        This can happen if a job failed within a batch and was down for longer than offsets.retention.minutes of the broker
        (default seven days). "fail" fails the job, "write" writes the batch, possibly a second time, "skip" treats it as written.
        """
        if policy not in ("fail", "write", "skip"):
            raise ConfigError(
                "KAFKA_SINK", f'set_lost_marker_policy() got {policy!r}; expected "fail", "write" or "skip".'
            )
        self._lost_markers = policy
        return self

    def set_lost_marks(self, lost_marks: LostMarkerPolicy) -> Self:
        """Calls `set_lost_marker_policy`.

        .. deprecated:: 0.2 Use `set_lost_marker_policy`.
        """
        warnings.warn("set_lost_marks() is now set_lost_marker_policy().", DeprecationWarning, stacklevel=2)
        return self.set_lost_marker_policy(lost_marks)

    def build(self) -> KafkaSink:
        """Builds the sink."""
        if not self._options.get("bootstrap.servers"):
            raise ConfigError("KAFKA_SINK", "The Kafka sink has no bootstrap servers. Call set_bootstrap_servers.")
        if self._serializer is None:
            raise ConfigError(
                "KAFKA_SINK",
                "The Kafka sink has no record serializer. Call set_record_serializer with a schema built by "
                "KafkaRecordSerializationSchema.builder().",
            )
        self._warn_unused()
        return KafkaSink(
            client_options(self._options, "producer"),
            self._serializer,
            self._guarantee,
            self._prefix or _DEFAULT_PREFIX,
            self._whole_batches,
            self._lost_markers or "fail",
        )

    def _warn_unused(self) -> None:
        """Warns about settings of transactions if there are none."""
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return
        unused = {
            "set_transactional_id_prefix()": self._prefix is not None,
            "set_whole_batches()": self._whole_batches,
            "set_lost_marker_policy()": self._lost_markers is not None,
            "transaction.timeout.ms": "transaction.timeout.ms" in self._options,
        }
        for setting in (name for name, is_set in unused.items() if is_set):
            warn_ignored(
                f"Kafka sink: {setting} has no effect, because the delivery guarantee is {self._guarantee.name}. Transactions "
                "are used with DeliveryGuarantee.EXACTLY_ONCE."
            )


class _EncodingWriter(SinkWriter):
    """Serializes elements to records. Subclasses send them."""

    def __init__(self, sink: KafkaSink, task: WriteTask) -> None:
        self._sink = sink
        self._task = task
        self._serializer = sink.serializer
        self._serializer.open(task.partition, task.partitions)

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if not values:
            return
        records = self._encode(values)
        if timestamps is not None and len(timestamps):
            # Elements without a timestamp have a negative one; 0 means the time of writing.
            records.timestamps = np.maximum(timestamps, 0).tolist()
        self._send(records)

    def _encode(self, values: list[Any]) -> RecordColumns:
        try:
            return self._serializer.encode(values, self._partitions_of)
        except Exception:
            self.failed_on = self._find_failing_element(values)
            raise

    def _find_failing_element(self, values: list[Any]) -> tuple[Any, ...]:
        for value in values:
            try:
                self._serializer.encode([value], self._partitions_of)
            except Exception:
                return (value,)
        return ()

    def _partitions_of(self, topic: str) -> list[int]:
        """Returns the partitions of a topic, for the partitioner."""
        producer = _acquire_producer(self._sink)
        partitions = producer.partitions_of(topic)
        _release_producer(self._sink, producer)
        return partitions

    def _send(self, records: RecordColumns) -> None:
        raise NotImplementedError


class _Writer(_EncodingWriter):
    """Writes with AT_LEAST_ONCE or NONE."""

    def __init__(self, sink: KafkaSink, task: WriteTask, waits: bool) -> None:
        super().__init__(sink, task)
        self._waits = waits  # for acknowledgements
        self._producer: Producer | None = None

    def _partitions_of(self, topic: str) -> list[int]:
        return self._open().partitions_of(topic)

    def _open(self) -> Producer:
        if self._producer is None:
            self._producer = _acquire_producer(self._sink)
        return self._producer

    def _send(self, records: RecordColumns) -> None:
        self._open().send(records)

    def prepare(self) -> Any:
        if self._producer is not None:
            if self._waits:
                self._producer.flush()
            else:
                self._producer.check()
            _release_producer(self._sink, self._producer)
            self._producer = None
        return None

    def abort(self) -> None:
        if self._producer is not None:
            self._producer.discard()
            self._producer = None


class _TransactionWriter(_EncodingWriter):
    """Writes with EXACTLY_ONCE in one transaction per task."""

    def __init__(self, sink: KafkaSink, task: WriteTask) -> None:
        super().__init__(sink, task)
        self._writer = str(task.partition)
        self._transaction = sink.transaction(task, self._writer)

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if not self._transaction.already_written:
            super().write(values, timestamps, tags)

    def _send(self, records: RecordColumns) -> None:
        self._transaction.send(records)

    def prepare(self) -> Any:
        self._transaction.commit()
        return self._writer, sorted(self._transaction.topics)

    def abort(self) -> None:
        self._transaction.abort()


class _StagingWriter(_EncodingWriter):
    """Writes with EXACTLY_ONCE in one transaction per batch. The driver writes the records that tasks stage."""

    def __init__(self, sink: KafkaSink, task: WriteTask) -> None:
        super().__init__(sink, task)
        self._stage = StagingFolder(sink._markers.folder).open(task)

    def _send(self, records: RecordColumns) -> None:
        self._stage.add(records)

    def prepare(self) -> Any:
        return self._stage.finish()

    def abort(self) -> None:
        self._stage.remove()


def _acquire_producer(sink: KafkaSink) -> Producer:
    """Returns the cached producer without transactions, or a new one."""
    producer: Producer | None = CLIENT_CACHE.take(_cache_key(sink))
    if producer is None:
        CLIENT_CACHE.close_idle()
        producer = Producer(_producer_options(sink))
    return producer


def _release_producer(sink: KafkaSink, producer: Producer) -> None:
    CLIENT_CACHE.put(_cache_key(sink), producer)


def _cache_key(sink: KafkaSink) -> Any:
    return (sink.guarantee, options_key(sink.options))


def _producer_options(sink: KafkaSink) -> dict[str, Any]:
    """Enables idempotence except for NONE, so that retries of the client neither duplicate nor reorder records."""
    defaults = {"enable.idempotence": True} if sink.guarantee is not DeliveryGuarantee.NONE else {"acks": "1"}
    return {**defaults, **sink.options}
