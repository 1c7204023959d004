"""Serializes elements to Kafka records: topic, key, value, headers and partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from penstock.errors import ConfigError, ElementError
from penstock.formats import SerializationSchema
from penstock.runtime.failure import short_repr
from penstock.types import TypeInformation

Headers = Iterable[tuple[str, bytes | None]]


class KafkaTopicSelector:
    """Selects the topic of each element.

    >>> class ByCountry(KafkaTopicSelector):
    ...     def apply(self, data):
    ...         return f"orders-{data['country']}"
    """

    def apply(self, data: Any) -> str:
        """Returns the topic of an element."""
        raise NotImplementedError


class KafkaHeaderProvider:
    """Provides the headers of each record."""

    def get_headers(self, element: Any) -> Headers:
        """Returns pairs of a name and bytes. A name may occur several times."""
        raise NotImplementedError


class KafkaPartitioner:
    """Selects the partition of each record.

    Without a partitioner, records with the same key go to the same partition, as with the Java client.
    """

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Called in each task before the first record."""

    def partition(self, record: Any, key: bytes | None, value: bytes, target_topic: str, partitions: list[int]) -> int:
        """Returns one of `partitions`, the partitions of the topic."""
        raise NotImplementedError


@dataclass(slots=True)
class RecordColumns:
    """Records in columns, so that no object per record is needed."""

    topics: str | list[str]  # one for all records, or one per record
    values: list[bytes]
    keys: list[bytes] | None = None
    headers: list[list[tuple[str, bytes | None]]] | None = None
    partitions: list[int] | None = None
    timestamps: list[int] | None = None  # 0 means the time of writing

    def first_topic(self) -> str:
        return self.topics if isinstance(self.topics, str) else self.topics[0]

    def all_topics(self) -> set[str]:
        return {self.topics} if isinstance(self.topics, str) else set(self.topics)


class KafkaRecordSerializationSchema:
    """Serializes elements to Kafka records. Create it with `KafkaRecordSerializationSchema.builder()`."""

    def __init__(
        self,
        topic: str | Callable[[Any], str],
        value: SerializationSchema[Any],
        key: SerializationSchema[Any] | None = None,
        headers: Callable[[Any], Headers] | None = None,
        partitioner: KafkaPartitioner | None = None,
    ) -> None:
        self._topic = topic
        self._value = value
        self._key = key
        self._headers = headers
        self._partitioner = partitioner

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Returns a builder."""
        return KafkaRecordSerializationSchemaBuilder()

    @property
    def topic(self) -> str | None:
        """The topic of all records, or None if there is a topic selector."""
        return self._topic if isinstance(self._topic, str) else None

    def of_type(self, kind: TypeInformation | None) -> KafkaRecordSerializationSchema:
        """Returns a copy of this schema for elements of a type."""

        def typed(schema: Any) -> Any:
            return schema.of_type(kind) if hasattr(schema, "of_type") else schema

        return KafkaRecordSerializationSchema(
            self._topic, typed(self._value), typed(self._key), self._headers, self._partitioner
        )

    def open(self, instance: int, instances: int) -> None:
        """Called in each task before the first record."""
        if self._partitioner is not None:
            self._partitioner.open(instance, instances)

    def encode(self, values: list[Any], partitions_of: Callable[[str], list[int]]) -> RecordColumns:
        """Serializes elements."""
        topic, headers = self._topic, self._headers
        topics: str | list[str] = topic if isinstance(topic, str) else [_check_topic(topic(value)) for value in values]
        records = RecordColumns(topics, self._value.encode(values))
        if self._key is not None:
            records.keys = self._key.encode(values)
        if headers is not None:
            records.headers = [list(headers(value)) for value in values]
        if self._partitioner is not None:
            records.partitions = self._select_partitions(values, records, partitions_of)
        return records

    def _select_partitions(
        self, values: list[Any], records: RecordColumns, partitions_of: Callable[[str], list[int]]
    ) -> list[int]:
        assert self._partitioner is not None
        select = self._partitioner.partition
        keys: Sequence[bytes | None] = records.keys or [None] * len(values)
        topics = [records.topics] * len(values) if isinstance(records.topics, str) else records.topics
        return [
            select(value, key, message, topic, partitions_of(topic))
            for value, key, message, topic in zip(values, keys, records.values, topics, strict=True)
        ]


def _check_topic(topic: Any) -> str:
    if isinstance(topic, str) and topic:
        return topic
    raise ElementError(
        "KAFKA_TOPIC",
        f"The topic selector returned {short_repr(topic)}, a {type(topic).__name__}. It must return a non-empty str.",
    )


class KafkaRecordSerializationSchemaBuilder:
    """Builds a KafkaRecordSerializationSchema. A topic and a value schema are required.

    >>> from penstock.formats import SimpleStringSchema
    >>> schema = (
    ...     KafkaRecordSerializationSchema.builder()
    ...     .set_topic("words")
    ...     .set_value_serialization_schema(SimpleStringSchema())
    ...     .build()
    ... )
    >>> schema.encode(["a", "b"], lambda topic: [0]).values
    [b'a', b'b']
    """

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._value: SerializationSchema[Any] | None = None
        self._key: SerializationSchema[Any] | None = None
        self._headers: Callable[[Any], Headers] | None = None
        self._partitioner: KafkaPartitioner | None = None

    def set_topic(self, topic: str) -> Self:
        """Sets the topic of all records."""
        self._topic = _check_unset("topic", self._topic, topic)
        return self

    def set_topic_selector(self, topic_selector: KafkaTopicSelector | Callable[[Any], str]) -> Self:
        """Sets the function that selects the topic of each element."""
        select = topic_selector.apply if isinstance(topic_selector, KafkaTopicSelector) else topic_selector
        _check_callable("set_topic_selector", "a KafkaTopicSelector or a function", select)
        self._topic = _check_unset("topic", self._topic, select)
        return self

    def set_key_serialization_schema(self, key_serialization_schema: SerializationSchema[Any]) -> Self:
        """Sets the schema that serializes the key of each element. By default, records have no key."""
        checked = _check_schema("set_key_serialization_schema", key_serialization_schema)
        self._key = _check_unset("key schema", self._key, checked)
        return self

    def set_value_serialization_schema(self, value_serialization_schema: SerializationSchema[Any]) -> Self:
        """Sets the schema that serializes the value of each element."""
        checked = _check_schema("set_value_serialization_schema", value_serialization_schema)
        self._value = _check_unset("value schema", self._value, checked)
        return self

    def set_header_provider(self, header_provider: KafkaHeaderProvider | Callable[[Any], Headers]) -> Self:
        """Sets the function that provides the headers of each record."""
        get_headers = (
            header_provider.get_headers if isinstance(header_provider, KafkaHeaderProvider) else header_provider
        )
        _check_callable("set_header_provider", "a KafkaHeaderProvider or a function", get_headers)
        self._headers = get_headers
        return self

    def set_partitioner(self, partitioner: KafkaPartitioner) -> Self:
        """Sets the partitioner, which selects the partition of each record."""
        argument: Any = partitioner
        if not isinstance(argument, KafkaPartitioner):
            raise _argument_error("set_partitioner", "a KafkaPartitioner", argument)
        self._partitioner = partitioner
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Builds the schema."""
        if self._topic is None:
            raise ConfigError(
                "KAFKA_SERIALIZER", "The record serializer has no topic. Call set_topic or set_topic_selector."
            )
        if self._value is None:
            raise ConfigError(
                "KAFKA_SERIALIZER",
                "The record serializer has no value schema. Call set_value_serialization_schema, for example with "
                "SimpleStringSchema().",
            )
        return KafkaRecordSerializationSchema(self._topic, self._value, self._key, self._headers, self._partitioner)


def _check_unset(setting: str, old: Any, new: Any) -> Any:
    if old is not None:
        raise ConfigError("KAFKA_SERIALIZER", f"The {setting} of the record serializer was set twice. Set it once.")
    return new


def _check_schema(method: str, schema: Any) -> Any:
    if isinstance(schema, SerializationSchema):
        return schema
    raise ConfigError(
        "KAFKA_SERIALIZER",
        f"{method}() got {short_repr(schema)}; expected a SerializationSchema, such as SimpleStringSchema().",
    )


def _check_callable(method: str, expected: str, argument: Any) -> None:
    if not callable(argument):
        raise _argument_error(method, expected, argument)


def _argument_error(method: str, expected: str, argument: Any) -> ConfigError:
    return ConfigError("KAFKA_SERIALIZER", f"{method}() got {short_repr(argument)}; expected {expected}.")
