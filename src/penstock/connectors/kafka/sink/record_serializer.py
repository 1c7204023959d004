"""How elements become records of Kafka: topic, key, value, headers, partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from penstock.errors import ConfigError, ElementError
from penstock.formats import SerializationSchema
from penstock.runtime.failure import shortened
from penstock.types import TypeInformation

Headers = Iterable[tuple[str, bytes | None]]


class KafkaTopicSelector:
    """Chooses the topic of each element.

    >>> class ByCountry(KafkaTopicSelector):
    ...     def apply(self, data):
    ...         return f"orders-{data['country']}"
    """

    def apply(self, data: Any) -> str:
        """The topic of an element."""
        raise NotImplementedError


class KafkaHeaderProvider:
    """Gives each element's record its headers."""

    def get_headers(self, element: Any) -> Headers:
        """Pairs of a name and bytes; a name may come several times."""
        raise NotImplementedError


class KafkaPartitioner:
    """Chooses the partition of each record. Without one, records of a key share a partition, as Kafka's own clients do it."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Called in each task before its first record."""

    def partition(self, record: Any, key: bytes | None, value: bytes, target_topic: str, partitions: list[int]) -> int:
        """One of the topic's partitions."""
        raise NotImplementedError


@dataclass(slots=True)
class Records:
    """Elements as Kafka's client takes them: one list per part, so that nothing is made per element."""

    topics: str | list[str]  # one for all of them, or one each
    values: list[bytes]
    keys: list[bytes] | None = None
    headers: list[list[tuple[str, bytes | None]]] | None = None
    partitions: list[int] | None = None
    timestamps: list[int] | None = None  # 0: the time of writing

    def topic_of_first(self) -> str:
        return self.topics if isinstance(self.topics, str) else self.topics[0]

    def all_topics(self) -> set[str]:
        return {self.topics} if isinstance(self.topics, str) else set(self.topics)


class KafkaRecordSerializationSchema:
    """How elements become records. Made by its builder."""

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
        """Collects what a record is made of."""
        return KafkaRecordSerializationSchemaBuilder()

    @property
    def topic(self) -> str | None:
        """The one topic of all records; none when it is chosen for each."""
        return self._topic if isinstance(self._topic, str) else None

    def of_type(self, kind: TypeInformation | None) -> KafkaRecordSerializationSchema:
        """The same for elements of this type."""

        def typed(schema: Any) -> Any:
            return schema.of_type(kind) if hasattr(schema, "of_type") else schema

        return KafkaRecordSerializationSchema(
            self._topic, typed(self._value), typed(self._key), self._headers, self._partitioner
        )

    def open(self, instance: int, instances: int) -> None:
        """Called in each task before its first record."""
        if self._partitioner is not None:
            self._partitioner.open(instance, instances)

    def encode(self, values: list[Any], partitions_of: Callable[[str], list[int]]) -> Records:
        """The records of some elements."""
        choose, headers = self._topic, self._headers
        topics: str | list[str] = choose if isinstance(choose, str) else [_topic(choose(value)) for value in values]
        records = Records(topics, self._value.encode(values))
        if self._key is not None:
            records.keys = self._key.encode(values)
        if headers is not None:
            records.headers = [list(headers(value)) for value in values]
        if self._partitioner is not None:
            records.partitions = self._chosen_partitions(values, records, partitions_of)
        return records

    def _chosen_partitions(
        self, values: list[Any], records: Records, partitions_of: Callable[[str], list[int]]
    ) -> list[int]:
        assert self._partitioner is not None
        choose = self._partitioner.partition
        keys: Sequence[bytes | None] = records.keys or [None] * len(values)
        topics = [records.topics] * len(values) if isinstance(records.topics, str) else records.topics
        return [
            choose(value, key, message, topic, partitions_of(topic))
            for value, key, message, topic in zip(values, keys, records.values, topics, strict=True)
        ]


def _topic(chosen: Any) -> str:
    if isinstance(chosen, str) and chosen:
        return chosen
    raise ElementError(
        "KAFKA_TOPIC",
        f"The topic selector gave {shortened(chosen)}, a {type(chosen).__name__}. A topic is a text that is not empty.",
    )


class KafkaRecordSerializationSchemaBuilder:
    """Collects what a record is made of: a topic and a value, and where wanted a key, headers and a partitioner.

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
        """The one topic that all records go to."""
        self._topic = _unset("topic", self._topic, topic)
        return self

    def set_topic_selector(self, topic_selector: KafkaTopicSelector | Callable[[Any], str]) -> Self:
        """What chooses the topic of each element."""
        chosen = topic_selector.apply if isinstance(topic_selector, KafkaTopicSelector) else topic_selector
        _check_callable("set_topic_selector", "a KafkaTopicSelector or a function", chosen)
        self._topic = _unset("topic", self._topic, chosen)
        return self

    def set_key_serialization_schema(self, key_serialization_schema: SerializationSchema[Any]) -> Self:
        """What makes the key of each record from its element; without it records have no key."""
        self._key = _unset("key's schema", self._key, _schema("set_key_serialization_schema", key_serialization_schema))
        return self

    def set_value_serialization_schema(self, value_serialization_schema: SerializationSchema[Any]) -> Self:
        """What makes the value of each record from its element."""
        checked = _schema("set_value_serialization_schema", value_serialization_schema)
        self._value = _unset("value's schema", self._value, checked)
        return self

    def set_header_provider(self, header_provider: KafkaHeaderProvider | Callable[[Any], Headers]) -> Self:
        """What gives each record its headers."""
        given = header_provider.get_headers if isinstance(header_provider, KafkaHeaderProvider) else header_provider
        _check_callable("set_header_provider", "a KafkaHeaderProvider or a function", given)
        self._headers = given
        return self

    def set_partitioner(self, partitioner: KafkaPartitioner) -> Self:
        """What chooses the partition of each record."""
        given: Any = partitioner
        if not isinstance(given, KafkaPartitioner):
            raise _wrong("set_partitioner", "a KafkaPartitioner", given)
        self._partitioner = partitioner
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema."""
        if self._topic is None:
            raise ConfigError(
                "KAFKA_SERIALIZER", "The record serializer has no topic. Call set_topic or set_topic_selector."
            )
        if self._value is None:
            raise ConfigError(
                "KAFKA_SERIALIZER",
                "The record serializer has no schema of values. Call set_value_serialization_schema, for example with "
                "SimpleStringSchema().",
            )
        return KafkaRecordSerializationSchema(self._topic, self._value, self._key, self._headers, self._partitioner)


def _unset(what: str, before: Any, now: Any) -> Any:
    if before is not None:
        raise ConfigError("KAFKA_SERIALIZER", f"The {what} of the record serializer was set twice. Set it once.")
    return now


def _schema(method: str, schema: Any) -> Any:
    if isinstance(schema, SerializationSchema):
        return schema
    raise ConfigError(
        "KAFKA_SERIALIZER",
        f"{method}() got {shortened(schema)}. It takes a SerializationSchema, such as SimpleStringSchema().",
    )


def _check_callable(method: str, wanted: str, given: Any) -> None:
    if not callable(given):
        raise _wrong(method, wanted, given)


def _wrong(method: str, wanted: str, given: Any) -> ConfigError:
    return ConfigError("KAFKA_SERIALIZER", f"{method}() got {shortened(given)}. It takes {wanted}.")
