"""Kafka records with key, headers and position, and deserialization schemas for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from penstock.formats.schema import DeserializationSchema

T = TypeVar("T")


class KafkaRecord(msgspec.Struct, frozen=True):
    """A Kafka record with key and value as bytes.

    >>> KafkaRecord("orders", 0, 17, 1700000000000, None, b"{}").headers
    []
    """

    topic: str
    partition: int
    offset: int
    timestamp: int  # milliseconds since the epoch; -1 if the record has none
    key: bytes | None
    value: bytes | None  # None for a tombstone, which deletes the key from a compacted topic
    headers: list[tuple[str, bytes | None]] = []
    timestamp_type: int = (
        0  # 0: the record has no timestamp, 1: time of creation, 2: time at which the broker received it
    )
    leader_epoch: int | None = None

    @classmethod
    def of(cls, message: Any) -> KafkaRecord:
        """Converts a message of confluent-kafka."""
        timestamp_type, timestamp = message.timestamp()
        return cls(
            message.topic(),
            message.partition(),
            message.offset(),
            timestamp,
            message.key(),
            message.value(),
            message.headers() or [],
            timestamp_type,
            message.leader_epoch(),
        )


class KafkaRecordDeserializationSchema(Generic[T]):
    """Deserializes Kafka records, including key, headers and metadata, to elements.

    A subclass yields zero or more elements per record.

    >>> class Keyed(KafkaRecordDeserializationSchema[tuple[str, bytes]]):
    ...     def deserialize(self, record):
    ...         if record.key is not None:
    ...             yield record.key.decode(), record.value
    >>> list(Keyed().deserialize(KafkaRecord("orders", 0, 17, 0, b"a", b"1")))
    [('a', b'1')]
    """

    output_type: Any = None  # type of the elements, if all have the same type

    def deserialize(self, record: KafkaRecord) -> Iterable[T]:
        """Yields the elements of a record. If it raises, `on_error` of from_source decides what happens to the record."""
        raise NotImplementedError

    @staticmethod
    def of(function: Callable[[KafkaRecord], T], output_type: Any = None) -> KafkaRecordDeserializationSchema[T]:
        """Returns a schema that creates one element per record with a function.

        >>> schema = KafkaRecordDeserializationSchema.of(lambda record: (record.key, record.offset))
        """
        return _ByFunction(function, output_type)

    @staticmethod
    def value_only(schema: DeserializationSchema[T]) -> DeserializationSchema[T]:
        """Returns a schema that deserializes only the value, like set_value_only_deserializer."""
        return schema


class _ByFunction(KafkaRecordDeserializationSchema[T]):
    def __init__(self, function: Callable[[KafkaRecord], T], output_type: Any) -> None:
        self._function = function
        self.output_type = output_type

    def deserialize(self, record: KafkaRecord) -> Iterable[T]:
        return (self._function(record),)
