"""Builds a Kafka source with PyFlink's setters."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from penstock.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer, KafkaTopicPartition
from penstock.connectors.kafka.options import client_options
from penstock.connectors.kafka.record import KafkaRecordDeserializationSchema
from penstock.connectors.kafka.source import KafkaSource, Schema, Subscription
from penstock.errors import ConfigError
from penstock.formats.schema import DeserializationSchema

_DISCOVERY = "partition.discovery.interval.ms"
_COMMITS = "commit.offsets.on.checkpoint"
_CLIENT_PREFIX = "client.id.prefix"
_TIMEOUT = "default.api.timeout.ms"
_RESET = "auto.offset.reset"
_OWN = {_DISCOVERY: "300000", _COMMITS: "true", _CLIENT_PREFIX: "", _TIMEOUT: "30000", _RESET: "none"}
_RESETS = ("none", "earliest", "latest")


class KafkaSourceBuilder:
    """Collects what a Kafka source needs: servers, topics and a deserializer at least.

    >>> from penstock.formats.strings import SimpleStringSchema
    >>> source = (
    ...     KafkaSourceBuilder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_topics("orders", "returns")
    ...     .set_value_only_deserializer(SimpleStringSchema())
    ...     .set_bounded(KafkaOffsetsInitializer.latest())
    ...     .build()
    ... )
    >>> source.bounded
    True
    """

    def __init__(self) -> None:
        self._subscription: Subscription | None = None
        self._schema: Schema | None = None
        self._properties: dict[str, Any] = {}
        self._start = KafkaOffsetsInitializer.earliest()
        self._stop: KafkaOffsetsInitializer | None = None
        self._bounded = False

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """The brokers to ask first: host:port, several with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The group whose offsets in Kafka follow the job, for monitors. The job itself goes on by its checkpoint."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Reads all partitions of these topics, which must exist."""
        if not topics or not all(topics):
            raise ConfigError(
                "KAFKA_TOPICS", f"set_topics was given {topics!r}; expected are names, as set_topics('a', 'b')."
            )
        return self._subscribe(Subscription(topics=tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Reads all topics whose whole names match a regular expression, also those that are created later."""
        try:
            re.compile(topic_pattern)
        except re.error as error:
            raise ConfigError(
                "KAFKA_TOPICS",
                f"set_topic_pattern was given {topic_pattern!r}, which is no regular expression: {error}.",
            ) from None
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: Collection[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Reads these partitions and no others."""
        if not partitions or not all(isinstance(p, KafkaTopicPartition) for p in partitions):
            raise ConfigError(
                "KAFKA_TOPICS",
                f"set_partitions was given {partitions!r}; expected is a set such as {{KafkaTopicPartition('orders', 0)}}.",
            )
        return self._subscribe(Subscription(partitions=frozenset(partitions)))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise ConfigError(
                "KAFKA_TOPICS",
                "The source was told twice what to read. Call one of set_topics, set_topic_pattern and set_partitions, once.",
            )
        self._subscription = subscription
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Where to start when the job runs for the first time; by default at the earliest offsets."""
        self._start = _checked(starting_offsets_initializer, "set_starting_offsets")
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """The source stops at these offsets, found when the job starts, and counts as a stream all the same."""
        self._stop, self._bounded = _checked(stopping_offsets_initializer, "set_unbounded"), False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """The source stops at these offsets, found when the job starts, and may be read in batch mode."""
        self._stop, self._bounded = _checked(stopping_offsets_initializer, "set_bounded"), True
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema[Any]) -> KafkaSourceBuilder:
        """Makes an element of each record's value. Records without one, as compacted topics have, are left out."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ConfigError(
                "KAFKA_DESERIALIZER",
                f"set_value_only_deserializer was given {deserialization_schema!r}; expected is a DeserializationSchema such as "
                "SimpleStringSchema(). set_deserializer takes one of whole records.",
            )
        self._schema = deserialization_schema
        return self

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema[Any] | DeserializationSchema[Any]
    ) -> KafkaSourceBuilder:
        """Makes elements of whole records: key, value, headers, topic, partition, offset and timestamp."""
        if not isinstance(record_deserializer, (KafkaRecordDeserializationSchema, DeserializationSchema)):
            raise ConfigError(
                "KAFKA_DESERIALIZER",
                f"set_deserializer was given {record_deserializer!r}; expected is a KafkaRecordDeserializationSchema, for example "
                "KafkaRecordDeserializationSchema.of(lambda record: (record.key, record.value)).",
            )
        self._schema = record_deserializer
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """What the names of the clients begin with, as brokers log them."""
        return self.set_property(_CLIENT_PREFIX, prefix)

    def set_property(self, key: str, value: Any) -> KafkaSourceBuilder:
        """An option of the client, under the name that Java's or librdkafka has for it, or of the source."""
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, Any]) -> KafkaSourceBuilder:
        """Several options."""
        self._properties.update(props)
        return self

    def build(self) -> KafkaSource:
        """The source."""
        given = {**_OWN, **self._properties}
        own = {name: given.pop(name) for name in _OWN}
        options = client_options(given, "consumer")
        if "bootstrap.servers" not in options:
            raise _missing("bootstrap servers", "set_bootstrap_servers('localhost:9092')")
        if self._subscription is None:
            raise _missing("topics", "set_topics, set_topic_pattern or set_partitions")
        if self._schema is None:
            raise _missing("deserializer", "set_value_only_deserializer(SimpleStringSchema())")
        if self._start.kind == "committed" and "group.id" not in options:
            raise _missing("group", "set_group_id, whose committed offsets the source is to start from")
        prefix = own[_CLIENT_PREFIX] or options.get("group.id")
        if prefix:
            options.setdefault("client.id", prefix)
        if own[_RESET] not in _RESETS:
            raise ConfigError("KAFKA_OPTION", f"{_RESET} is {own[_RESET]!r}; it is one of {', '.join(_RESETS)}.")
        interval = _number(_DISCOVERY, own[_DISCOVERY])
        return KafkaSource(
            self._subscription,
            self._schema,
            options,
            start=self._start,
            stop=self._stop,
            bounded=self._bounded,
            reset=own[_RESET],
            discover_every=interval / 1000 if interval > 0 else None,
            commits=str(own[_COMMITS]).lower() == "true",
            timeout=_number(_TIMEOUT, own[_TIMEOUT]) / 1000,
        )


def _checked(initializer: KafkaOffsetsInitializer, method: str) -> KafkaOffsetsInitializer:
    if not isinstance(initializer, KafkaOffsetsInitializer):
        raise ConfigError(
            "KAFKA_OFFSETS",
            f"{method} was given {initializer!r}; expected is a KafkaOffsetsInitializer, such as KafkaOffsetsInitializer.latest().",
        )
    return initializer


def _missing(what: str, how: str) -> ConfigError:
    return ConfigError("KAFKA_INCOMPLETE", f"The Kafka source has no {what}. Call {how} before build().")


def _number(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ConfigError("KAFKA_OPTION", f"{name} is {value!r}; it is a number of milliseconds.") from None
