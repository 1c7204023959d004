"""Start and stop offsets of a Kafka source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple

from penstock.errors import ConfigError, check_enum

Kind = Literal["earliest", "latest", "committed", "timestamp", "offsets"]


class KafkaTopicPartition(NamedTuple):
    """One partition of a topic.

    >>> KafkaTopicPartition("orders", 0) == KafkaTopicPartition("orders", 0)
    True
    """

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """Where to start in a partition that has no committed offset."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """Specifies the start or stop offset of each partition. Offsets are resolved when the job starts for the first time.

    >>> KafkaOffsetsInitializer.timestamp(1700000000000).kind
    'timestamp'
    """

    kind: Kind
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE
    at: int = 0  # milliseconds; for kind "timestamp"
    given: Mapping[KafkaTopicPartition, int] = field(default_factory=dict)  # for kind "offsets"

    def __post_init__(self) -> None:
        check_enum("KafkaOffsetsInitializer", self.reset, KafkaOffsetResetStrategy)

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Committed offsets of the consumer group.

        The strategy applies to partitions without a committed offset; with NONE, such a partition fails the job.
        """
        return KafkaOffsetsInitializer("committed", offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record with this timestamp or a later one, or the end of a partition without such a record.

        The timestamp is in milliseconds since the epoch.
        """
        value: object = timestamp
        if not isinstance(value, int) or value < 0:
            raise ConfigError(
                "KAFKA_OFFSETS",
                f"KafkaOffsetsInitializer.timestamp got {timestamp!r}; expected a number of milliseconds since 1970.",
            )
        return KafkaOffsetsInitializer("timestamp", KafkaOffsetResetStrategy.LATEST, at=timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The earliest available offset of each partition."""
        return KafkaOffsetsInitializer("earliest", KafkaOffsetResetStrategy.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end of each partition at the time when the job starts."""
        return KafkaOffsetsInitializer("latest", KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """The given offsets.

        Other partitions start at the committed offset of the consumer group, or by the strategy if there is none.

        >>> start = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("orders", 0): 20})
        >>> start.given[KafkaTopicPartition("orders", 0)]
        20
        """
        items: list[tuple[object, object]] = list(offsets.items())
        for partition, offset in items:
            if not isinstance(partition, KafkaTopicPartition) or not isinstance(offset, int) or offset < 0:
                raise ConfigError(
                    "KAFKA_OFFSETS",
                    f"KafkaOffsetsInitializer.offsets got {partition!r}: {offset!r}; expected a dict from "
                    "KafkaTopicPartition(topic, partition) to an offset of 0 or more.",
                )
        return KafkaOffsetsInitializer("offsets", offset_reset_strategy, given=dict(offsets))
