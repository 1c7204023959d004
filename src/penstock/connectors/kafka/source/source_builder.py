"""The builder of the Kafka source."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from penstock.connectors.kafka.client.options import client_options
from penstock.connectors.kafka.source.offsets_initializer import KafkaOffsetsInitializer, KafkaTopicPartition
from penstock.connectors.kafka.source.record import KafkaRecordDeserializationSchema
from penstock.connectors.kafka.source.source import KafkaSource, Schema, Subscription
from penstock.errors import ConfigError, warn_ignored
from penstock.formats.schema import DeserializationSchema

_DISCOVERY = "partition.discovery.interval.ms"
_COMMIT_OFFSETS = "commit.offsets.on.checkpoint"
_CLIENT_PREFIX = "client.id.prefix"
_TIMEOUT = "default.api.timeout.ms"
_RESET = "auto.offset.reset"
_SOURCE_DEFAULTS = {
    _DISCOVERY: "300000",
    _COMMIT_OFFSETS: "true",
    _CLIENT_PREFIX: "",
    _TIMEOUT: "30000",
    _RESET: "none",
}
_RESETS = ("none", "earliest", "latest")


class KafkaSourceBuilder:
    """Builds a KafkaSource. Bootstrap servers, topics and a deserializer are required.

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
        """Sets the initial brokers as `host:port`, separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Sets the consumer group whose offsets are committed to Kafka, for monitoring.

        A restarted job continues from its checkpoint, not from these offsets.
        """
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Reads all partitions of these topics. The topics must exist."""
        if not topics or not all(topics):
            raise ConfigError(
                "KAFKA_TOPICS", f"set_topics got {topics!r}; expected topic names, as in set_topics('a', 'b')."
            )
        return self._subscribe(Subscription(topics=tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Reads all topics whose full name matches a regular expression, including topics that are created later."""
        try:
            re.compile(topic_pattern)
        except re.error as error:
            raise ConfigError(
                "KAFKA_TOPICS",
                f"set_topic_pattern got {topic_pattern!r}, which is not a valid regular expression: {error}.",
            ) from None
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: Collection[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Reads only these partitions."""
        if not partitions or not all(isinstance(p, KafkaTopicPartition) for p in partitions):
            raise ConfigError(
                "KAFKA_TOPICS",
                f"set_partitions got {partitions!r}; expected a set such as {{KafkaTopicPartition('orders', 0)}}.",
            )
        return self._subscribe(Subscription(partitions=frozenset(partitions)))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise ConfigError(
                "KAFKA_TOPICS",
                "The topics of the source were set twice. Call only one of set_topics, set_topic_pattern and set_partitions.",
            )
        self._subscription = subscription
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Sets where to start when the job runs for the first time. The default is the earliest offsets."""
        self._start = _checked(starting_offsets_initializer, "set_starting_offsets")
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stops at these offsets, which are resolved when the job starts. The source remains unbounded (streaming mode)."""
        self._stop, self._bounded = _checked(stopping_offsets_initializer, "set_unbounded"), False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Stops at these offsets, which are resolved when the job starts. The source is bounded and supports batch mode."""
        self._stop, self._bounded = _checked(stopping_offsets_initializer, "set_bounded"), True
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema[Any]) -> KafkaSourceBuilder:
        """Deserializes the value of each record to an element. Records without a value (tombstones) are skipped."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ConfigError(
                "KAFKA_DESERIALIZER",
                f"set_value_only_deserializer got {deserialization_schema!r}; expected a DeserializationSchema such as "
                "SimpleStringSchema(). To deserialize records with key and metadata, use set_deserializer.",
            )
        self._schema = deserialization_schema
        return self

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema[Any] | DeserializationSchema[Any]
    ) -> KafkaSourceBuilder:
        """Deserializes records with key, value, headers, topic, partition, offset and timestamp to elements."""
        if not isinstance(record_deserializer, (KafkaRecordDeserializationSchema, DeserializationSchema)):
            raise ConfigError(
                "KAFKA_DESERIALIZER",
                f"set_deserializer got {record_deserializer!r}; expected a KafkaRecordDeserializationSchema, for example "
                "KafkaRecordDeserializationSchema.of(lambda record: (record.key, record.value)).",
            )
        self._schema = record_deserializer
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Sets the prefix of the client ids that brokers log."""
        return self.set_property(_CLIENT_PREFIX, prefix)

    def set_property(self, key: str, value: Any) -> KafkaSourceBuilder:
        """Sets a property of the source or of the Kafka client, by its name in the Java client or in librdkafka."""
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, Any]) -> KafkaSourceBuilder:
        """Sets several properties."""
        self._properties.update(props)
        return self

    def build(self) -> KafkaSource:
        """Builds the source."""
        properties = {**_SOURCE_DEFAULTS, **self._properties}
        own = {name: properties.pop(name) for name in _SOURCE_DEFAULTS}
        options = client_options(properties, "consumer")
        if "bootstrap.servers" not in options:
            raise _missing("bootstrap servers", "set_bootstrap_servers('localhost:9092')")
        if self._subscription is None:
            raise _missing("topics", "set_topics, set_topic_pattern or set_partitions")
        if self._schema is None:
            raise _missing("deserializer", "set_value_only_deserializer(SimpleStringSchema())")
        if self._start.kind == "committed" and "group.id" not in options:
            raise _missing("consumer group, whose committed offsets it should start from", "set_group_id")
        prefix = own[_CLIENT_PREFIX] or options.get("group.id")
        if prefix:
            options.setdefault("client.id", prefix)
        if own[_RESET] not in _RESETS:
            raise ConfigError("KAFKA_OPTION", f"{_RESET} is {own[_RESET]!r}; expected one of {', '.join(_RESETS)}.")
        interval = _number(_DISCOVERY, own[_DISCOVERY])
        commits = _boolean(_COMMIT_OFFSETS, own[_COMMIT_OFFSETS])
        self._check_given_offsets(self._subscription)
        self._warn_unused(options, commits, interval)
        return KafkaSource(
            self._subscription,
            self._schema,
            options,
            start=self._start,
            stop=self._stop,
            bounded=self._bounded,
            reset=own[_RESET],
            discover_every=interval / 1000 if interval > 0 else None,
            commits=commits,
            timeout=_number(_TIMEOUT, own[_TIMEOUT]) / 1000,
        )

    def _check_given_offsets(self, subscription: Subscription) -> None:
        """Raises an error for offsets of partitions that the source does not read."""
        for method, initializer in (("set_starting_offsets", self._start), ("a stopping offset", self._stop)):
            for partition in () if initializer is None else initializer.given:
                if not subscription.includes(partition):
                    raise ConfigError(
                        "KAFKA_OFFSETS",
                        f"{method} got an offset for partition {partition.partition} of topic '{partition.topic}', which the "
                        "source does not read. Correct the partition, or subscribe to it.",
                    )

    def _warn_unused(self, options: Mapping[str, Any], commits: bool, interval: int) -> None:
        """Warns about properties that were set and have no effect because of others."""
        if commits and _COMMIT_OFFSETS in self._properties and "group.id" not in options:
            warn_ignored(f"Kafka source: {_COMMIT_OFFSETS} has no effect without a consumer group. Call set_group_id.")
        if interval > 0 and _DISCOVERY in self._properties:
            reason = "it has stopping offsets" if self._stop is not None else "set_partitions names its partitions"
            if self._stop is not None or (self._subscription is not None and self._subscription.partitions):
                warn_ignored(
                    f"Kafka source: {_DISCOVERY} has no effect. The source finds no new partitions, because {reason}."
                )
        if self._properties.get(_CLIENT_PREFIX) and "client.id" in self._properties:
            warn_ignored("Kafka source: set_client_id_prefix() has no effect, because the property client.id is set.")


def _checked(initializer: KafkaOffsetsInitializer, method: str) -> KafkaOffsetsInitializer:
    if not isinstance(initializer, KafkaOffsetsInitializer):
        raise ConfigError(
            "KAFKA_OFFSETS",
            f"{method} got {initializer!r}; expected a KafkaOffsetsInitializer, such as KafkaOffsetsInitializer.latest().",
        )
    return initializer


def _missing(what: str, how: str) -> ConfigError:
    return ConfigError("KAFKA_INCOMPLETE", f"The Kafka source has no {what}. Call {how} before build().")


def _boolean(name: str, value: Any) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ConfigError("KAFKA_OPTION", f"{name} is {value!r}; expected true or false.")
    return text == "true"


def _number(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ConfigError("KAFKA_OPTION", f"{name} is {value!r}; expected a number of milliseconds.") from None
