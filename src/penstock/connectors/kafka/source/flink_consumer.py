"""FlinkKafkaConsumer, which older PyFlink programs pass to `add_source`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.connectors.kafka.source.offsets_initializer import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.source.source import KafkaSource
from penstock.connectors.kafka.source.source_builder import KafkaSourceBuilder
from penstock.errors import warn_ignored
from penstock.formats.schema import DeserializationSchema
from penstock.types import TypeInformation

_DISCOVERY = "flink.partition-discovery.interval-millis"


class FlinkKafkaConsumer:
    """Kafka source with the API of Flink before 1.14. Use KafkaSource in new programs.

    It starts at the committed offsets of the consumer group. For partitions without a committed offset, the property
    `auto.offset.reset` decides.
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        deserialization_schema: DeserializationSchema[Any],
        properties: Mapping[str, Any],
    ) -> None:
        warnings.warn(
            "FlinkKafkaConsumer is deprecated since Flink 1.16. Use KafkaSource.", DeprecationWarning, stacklevel=2
        )
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        self._schema = deserialization_schema
        self._properties = dict(properties)
        self._start: KafkaOffsetsInitializer | None = None  # None: committed offsets of the group
        self._commits = True

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumer:
        """Sets whether the offsets of completed checkpoints are committed to the consumer group in Kafka."""
        self._commits = commit_on_checkpoints
        return self

    def set_start_from_earliest(self) -> FlinkKafkaConsumer:
        """Starts at the earliest available offsets."""
        self._start = KafkaOffsetsInitializer.earliest()
        return self

    def set_start_from_latest(self) -> FlinkKafkaConsumer:
        """Starts at the end of each partition."""
        self._start = KafkaOffsetsInitializer.latest()
        return self

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumer:
        """Starts at the first record with this timestamp, in milliseconds since the epoch, or a later one."""
        self._start = KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp)
        return self

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumer:
        """Starts at the committed offsets of the consumer group. This is the default."""
        self._start = None
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumer:
        """Has no effect. A resumed job reads the partitions in its checkpoint and those of its topics."""
        warn_ignored(
            "disable_filter_restored_partitions_with_subscribed_topics() has no effect. A resumed job reads the partitions in its "
            "checkpoint and those of its topics."
        )
        return self

    def get_produced_type(self) -> TypeInformation:
        """Returns the type of the elements."""
        return self._schema.get_produced_type()

    def to_source(self) -> KafkaSource:
        """Returns the equivalent KafkaSource."""
        properties = dict(self._properties)
        interval = properties.pop(_DISCOVERY, "-1")
        reset = str(properties.pop("auto.offset.reset", "latest")).upper()
        start = self._start or KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[reset])
        builder = KafkaSourceBuilder().set_topics(*self._topics).set_value_only_deserializer(self._schema)
        builder.set_starting_offsets(start).set_properties(properties)
        builder.set_property("partition.discovery.interval.ms", interval)
        if not self._commits:
            builder.set_property("commit.offsets.on.checkpoint", False)
        return builder.build()
