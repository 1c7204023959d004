"""Kafka records to columns and back: key, value and metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.connectors.kafka import KafkaPartitioner, KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.kafka.sink.record_serializer import KafkaRecordSerializationSchema, RecordColumns
from penstock.errors import ElementError
from penstock.formats.columns.interface import Decoded, Decoder, Encoder
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.runtime.relational.changes import DELETE, UPDATE_BEFORE, Changes
from penstock.table.connectors.formats.metadata import cast_metadata
from penstock.types import TypeInformation
from penstock.types.logical.kinds import BYTES, STRING, Field, LogicalType, MapType, TimestampType
from penstock.types.logical.text import parse_type

METADATA = {
    "topic": "STRING NOT NULL",
    "partition": "INT NOT NULL",
    "headers": "MAP<STRING NOT NULL, BYTES NOT NULL> NOT NULL",
    "leader-epoch": "INT",
    "offset": "BIGINT NOT NULL",
    "timestamp": "TIMESTAMP_LTZ(3) NOT NULL",
    "timestamp-type": "STRING NOT NULL",
}
_TIMESTAMP_TYPES = {0: "NoTimestampType", 1: "CreateTime", 2: "LogAppendTime"}


class RawValues(DeserializationSchema[bytes]):
    """The values of records as they are. Records without a value are dropped."""

    output_type = bytes

    def deserialize(self, message: bytes) -> bytes:
        return message

    def decode(self, messages: Sequence[bytes]) -> list[bytes | None]:
        return list(messages)


class WholeRecords(KafkaRecordDeserializationSchema[KafkaRecord]):
    """Whole records, for tables that read the key or metadata."""

    output_type = KafkaRecord

    def deserialize(self, record: KafkaRecord) -> list[KafkaRecord]:
        return [record]


class RecordDecoder:
    """Decodes whole records: columns of the key and of the value, then metadata.

    `places` says for each physical column whether it is in the "key" or in the "value", and its position there.
    """

    def __init__(
        self,
        value: Decoder,
        key: Decoder | None,
        places: Sequence[tuple[str, int]],
        metadata: Sequence[tuple[str, Field]],
        value_metadata: int = 0,
        zone: str = "UTC",
    ) -> None:
        self.value = value
        self.key = key
        self.places = tuple(places)
        self.metadata = tuple(metadata)
        self.value_metadata = value_metadata  # columns of metadata at the end of the value's columns
        self.zone = zone

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes Kafka records."""
        return self.decode_values(elements, self.value.decode([record.value for record in elements]))

    def decode_values(self, elements: list[Any], value: Decoded) -> Decoded:
        """Adds key and metadata to the decoded values of some records."""
        origins = np.arange(value.changes.length) if value.origins is None else value.origins
        rows, bad = value.changes, list(value.bad)
        key_columns: list[pa.Array] = []
        if self.key is not None:
            key = self.key.decode([record.key for record in elements])
            bad += [entry for entry in key.bad if entry[0] not in {at for at, _ in bad}]
            where = np.full(len(elements), -1, np.int64)
            key_origins = np.arange(key.changes.length) if key.origins is None else key.origins
            where[key_origins] = np.arange(len(key_origins))
            if bad:
                broken = np.zeros(len(elements), np.bool_)
                broken[[at for at, _ in bad]] = True
                keep = np.flatnonzero(~broken[origins])
                rows, origins = rows.take(keep), origins[keep]
            at = where[origins]
            key_columns = [c.take(pa.array(at, mask=at < 0)) for c in key.changes.columns]
        columns = [(key_columns if place == "key" else rows.columns)[at] for place, at in self.places]
        first = len(rows.columns) - self.value_metadata
        for name, field in self.metadata:
            if name.startswith("value."):
                columns.append(rows.columns[first])
                first += 1
            else:
                columns.append(self.metadata_column(name, field, elements, origins))
        bad.sort(key=lambda entry: entry[0])
        same = len(origins) == len(elements) and value.origins is None
        return Decoded(Changes(columns, rows.length, rows.kinds), None if same else origins, bad)

    def metadata_column(self, name: str, field: Field, elements: list[Any], origins: NDArray[np.int64]) -> pa.Array:
        """Returns a metadata column of the rows that came from some records."""
        read, kind = _READERS[name]
        column = pa.array([read(record) for record in elements], kind)
        if len(origins) != len(elements) or (origins != np.arange(len(elements))).any():
            column = column.take(pa.array(origins))
        return cast_metadata(column, parse_type(METADATA[name]), field.type, self.zone)


_READERS: dict[str, tuple[Callable[[KafkaRecord], Any], pa.DataType]] = {
    "topic": (lambda record: record.topic, pa.string()),
    "partition": (lambda record: record.partition, pa.int32()),
    "headers": (lambda record: list(dict(record.headers).items()), pa.map_(pa.string(), pa.binary())),
    "leader-epoch": (lambda record: record.leader_epoch, pa.int32()),
    "offset": (lambda record: record.offset, pa.int64()),
    "timestamp": (lambda record: record.timestamp, pa.timestamp("ms", "UTC")),
    "timestamp-type": (lambda record: _TIMESTAMP_TYPES.get(record.timestamp_type, "NoTimestampType"), pa.string()),
}
WRITABLE: dict[str, LogicalType] = {
    "topic": STRING,
    "headers": MapType(STRING, BYTES),
    "timestamp": TimestampType(3, local=True),
}


class RecordEncoder:
    """Encodes rows as (key, value, headers, timestamp, topic).

    With `tombstones`, rows that are removed have no value, and rows that are replaced (-U) are not written.
    """

    def __init__(
        self,
        value: Encoder,
        value_columns: Sequence[int],
        key: Encoder | None,
        key_columns: Sequence[int],
        metadata: Sequence[tuple[str, Field]] = (),
        physical: int = 0,
        tombstones: bool = False,
        zone: str = "UTC",
    ) -> None:
        self.value, self.value_columns = value, tuple(value_columns)
        self.key, self.key_columns = key, tuple(key_columns)
        self.metadata, self.physical = tuple(metadata), physical
        self.tombstones = tombstones
        self.zone = zone

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one tuple per record."""
        rows: NDArray[np.int64] | None = None
        if self.tombstones and changes.kinds is not None:
            keep = np.flatnonzero(changes.kinds != UPDATE_BEFORE)
            if len(keep) < changes.length:
                changes, rows = changes.take(keep), keep
        values, at = self.value.encode(changes.select(self.value_columns))
        origins = np.arange(changes.length) if at is None else at
        keys: list[Any] = [None] * changes.length
        if self.key is not None:
            inserted = changes.select(self.key_columns).with_kinds(None)
            keys, _ = self.key.encode(inserted)
        if self.tombstones and changes.kinds is not None:
            removed = changes.kinds[origins] == DELETE
            values = [None if gone else value for value, gone in zip(values, removed.tolist(), strict=True)]
        headers, timestamps, topics = (
            self._metadata_values(changes, name) for name in ("headers", "timestamp", "topic")
        )
        elements = [
            (keys[i], value, headers[i], timestamps[i], topics[i])
            for value, i in zip(values, origins.tolist(), strict=True)
        ]
        if rows is None:
            return elements, at
        return elements, rows if at is None else rows[at]

    def _metadata_values(self, changes: Changes, name: str) -> list[Any]:
        for at, (key, field) in enumerate(self.metadata):
            if key == name:
                column = changes.columns[self.physical + at]
                column = cast_metadata(column, field.type, WRITABLE[name], self.zone)
                values: list[Any] = (column.cast(pa.int64()) if name == "timestamp" else column).to_pylist()
                return values
        return [None] * changes.length


class TableRecordSerializer(KafkaRecordSerializationSchema):
    """Passes the tuples of RecordEncoder on as records. Values alone are bytes."""

    def __init__(self, topics: Sequence[str], partitioner: KafkaPartitioner | None, whole: bool) -> None:
        super().__init__(topics[0] if len(topics) == 1 else _no_topic, _Unused(), partitioner=partitioner)
        self._topics = tuple(topics)
        self._whole = whole

    def of_type(self, kind: TypeInformation | None) -> KafkaRecordSerializationSchema:
        """Returns this schema, because the elements always have the same form."""
        return self

    def encode(self, values: list[Any], partitions_of: Callable[[str], list[int]]) -> RecordColumns:
        """Returns the records of some elements."""
        if not self._whole:
            records = RecordColumns(self._topics[0], values)
        else:
            keys, payloads, headers, timestamps, topics = map(list, zip(*values, strict=True))
            records = RecordColumns(
                self._choose(topics), payloads, keys=keys if any(k is not None for k in keys) else None
            )
            if any(h is not None for h in headers):
                records.headers = [list(h or ()) for h in headers]
            if any(t is not None for t in timestamps):
                records.timestamps = [max(t or 0, 0) for t in timestamps]
        if self._partitioner is not None:
            records.partitions = self._select_partitions(values, records, partitions_of)
        return records

    def _choose(self, topics: list[Any]) -> str | list[str]:
        if all(topic is None for topic in topics) and len(self._topics) == 1:
            return self._topics[0]
        for topic in topics:
            if topic not in self._topics:
                raise ElementError(
                    "KAFKA_TOPIC", f"The topic of a row is {topic!r}; expected one of {', '.join(self._topics)}."
                )
        return topics


def _no_topic(element: Any) -> str:
    raise AssertionError("the topic is chosen by the table")


class _Unused(SerializationSchema[Any]):
    """The value schema of a serializer that encodes by itself."""


class FixedPartitioner(KafkaPartitioner):
    """Writes all records of a task to one partition."""

    _instance = 0

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Remembers the task."""
        self._instance = parallel_instance_id

    def partition(self, record: Any, key: bytes | None, value: bytes, target_topic: str, partitions: list[int]) -> int:
        """Returns the partition of the task."""
        return partitions[self._instance % len(partitions)]
