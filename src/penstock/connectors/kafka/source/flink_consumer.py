"""The consumer that older programs of PyFlink's give to `add_source`, as far as it means the same here."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.connectors.kafka.offsets_initializer import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.source import KafkaSource
from penstock.connectors.kafka.source_builder import KafkaSourceBuilder
from penstock.formats.schema import DeserializationSchema
from penstock.types import TypeInformation

_DISCOVERY = "flink.partition-discovery.interval-millis"


class FlinkKafkaConsumer:
    """Settings of a Kafka source under the old names. Flink itself says: use KafkaSource.

    It starts at the offsets of its group, and where there are none by `auto.offset.reset`.
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
        self._start: KafkaOffsetsInitializer | None = None  # None: the group's
        self._commits = True

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumer:
        """Whether the group's offsets in Kafka follow the job."""
        self._commits = commit_on_checkpoints
        return self

    def set_start_from_earliest(self) -> FlinkKafkaConsumer:
        """Starts at the first records there are."""
        self._start = KafkaOffsetsInitializer.earliest()
        return self

    def set_start_from_latest(self) -> FlinkKafkaConsumer:
        """Starts at the end."""
        self._start = KafkaOffsetsInitializer.latest()
        return self

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumer:
        """Starts at the first record of this time or later."""
        self._start = KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp)
        return self

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumer:
        """Starts at what the group has committed; this is the default."""
        self._start = None
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumer:
        """Has no effect: a resumed job reads the partitions that its checkpoint has and those of its topics."""
        return self

    def get_produced_type(self) -> TypeInformation:
        """The type of the elements."""
        return self._schema.get_produced_type()

    def to_source(self) -> KafkaSource:
        """The source that means the same."""
        properties = dict(self._properties)
        interval = properties.pop(_DISCOVERY, "-1")
        reset = str(properties.pop("auto.offset.reset", "latest")).upper()
        start = self._start or KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[reset])
        builder = KafkaSourceBuilder().set_topics(*self._topics).set_value_only_deserializer(self._schema)
        builder.set_starting_offsets(start).set_properties(properties)
        builder.set_property("partition.discovery.interval.ms", interval)
        return builder.set_property("commit.offsets.on.checkpoint", self._commits).build()
