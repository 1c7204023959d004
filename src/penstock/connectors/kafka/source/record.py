"""A record of Kafka's with all that belongs to it, and schemas that see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from penstock.formats.schema import DeserializationSchema

T = TypeVar("T")


class KafkaRecord(msgspec.Struct, frozen=True):
    """A record: its value and key as bytes, and where it stands.

    >>> KafkaRecord("orders", 0, 17, 1700000000000, None, b"{}").headers
    []
    """

    topic: str
    partition: int
    offset: int
    timestamp: int  # milliseconds; -1: it has none
    key: bytes | None
    value: bytes | None  # None: a tombstone, by which a compacted topic forgets a key
    headers: list[tuple[str, bytes | None]] = []

    @classmethod
    def of(cls, message: Any) -> KafkaRecord:
        """A message of the client's."""
        return cls(
            message.topic(),
            message.partition(),
            message.offset(),
            message.timestamp()[1],
            message.key(),
            message.value(),
            message.headers() or [],
        )


class KafkaRecordDeserializationSchema(Generic[T]):
    """Makes elements of whole records. A subclass yields any number of elements for each record.

    >>> class Keyed(KafkaRecordDeserializationSchema[tuple[str, bytes]]):
    ...     def deserialize(self, record):
    ...         if record.key is not None:
    ...             yield record.key.decode(), record.value
    >>> list(Keyed().deserialize(KafkaRecord("orders", 0, 17, 0, b"a", b"1")))
    [('a', b'1')]
    """

    output_type: Any = None  # a type or an annotation of the elements, where they are all of one

    def deserialize(self, record: KafkaRecord) -> Iterable[T]:
        """The elements of a record. One that raises is a record that does not decode: `on_error` of from_source decides."""
        raise NotImplementedError

    @staticmethod
    def of(function: Callable[[KafkaRecord], T], output_type: Any = None) -> KafkaRecordDeserializationSchema[T]:
        """One element of each record, by a function.

        >>> schema = KafkaRecordDeserializationSchema.of(lambda record: (record.key, record.offset))
        """
        return _ByFunction(function, output_type)

    @staticmethod
    def value_only(schema: DeserializationSchema[T]) -> DeserializationSchema[T]:
        """The element in a record's value: the same as set_value_only_deserializer."""
        return schema


class _ByFunction(KafkaRecordDeserializationSchema[T]):
    def __init__(self, function: Callable[[KafkaRecord], T], output_type: Any) -> None:
        self._function = function
        self.output_type = output_type

    def deserialize(self, record: KafkaRecord) -> Iterable[T]:
        return (self._function(record),)
