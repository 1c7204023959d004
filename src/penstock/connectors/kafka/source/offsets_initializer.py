"""Where a Kafka source starts, and where it stops, under PyFlink's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple

from penstock.errors import ConfigError

Kind = Literal["earliest", "latest", "committed", "timestamp", "offsets"]


class KafkaTopicPartition(NamedTuple):
    """One partition of a topic.

    >>> KafkaTopicPartition("orders", 0) == KafkaTopicPartition("orders", 0)
    True
    """

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """Where to go when an offset is not there."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """An offset for each partition, found when the job starts for the first time.

    >>> KafkaOffsetsInitializer.timestamp(1700000000000).kind
    'timestamp'
    """

    kind: Kind
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE
    at: int = 0  # of "timestamp": milliseconds
    given: Mapping[KafkaTopicPartition, int] = field(default_factory=dict)  # of "offsets"

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """What the group has committed; of a partition that has nothing: by the strategy, NONE fails."""
        return KafkaOffsetsInitializer("committed", offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record of this time or later, in milliseconds; the end of a partition that has none."""
        given: object = timestamp
        if not isinstance(given, int) or given < 0:
            raise ConfigError(
                "KAFKA_OFFSETS",
                f"KafkaOffsetsInitializer.timestamp was given {timestamp!r}; a number of milliseconds since 1970 is expected.",
            )
        return KafkaOffsetsInitializer("timestamp", KafkaOffsetResetStrategy.LATEST, at=timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first record that there is."""
        return KafkaOffsetsInitializer("earliest", KafkaOffsetResetStrategy.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end, as it is when the job starts."""
        return KafkaOffsetsInitializer("latest", KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """These offsets; partitions that are not named start at what the group has committed, else by the strategy.

        >>> start = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("orders", 0): 20})
        >>> start.given[KafkaTopicPartition("orders", 0)]
        20
        """
        given: list[tuple[object, object]] = list(offsets.items())
        for partition, offset in given:
            if not isinstance(partition, KafkaTopicPartition) or not isinstance(offset, int) or offset < 0:
                raise ConfigError(
                    "KAFKA_OFFSETS",
                    f"KafkaOffsetsInitializer.offsets was given {partition!r}: {offset!r}; expected is a dict of "
                    "KafkaTopicPartition(topic, partition): offset, with offsets of 0 or more.",
                )
        return KafkaOffsetsInitializer("offsets", offset_reset_strategy, given=dict(offsets))
