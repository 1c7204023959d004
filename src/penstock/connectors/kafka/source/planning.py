"""Plans what a batch reads: start offsets, the records admitted per partition, and the offset ranges of each task."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeVar

from penstock.connectors.kafka.source.cluster import Cluster, Offsets
from penstock.connectors.kafka.source.offsets_initializer import KafkaOffsetResetStrategy as Reset
from penstock.connectors.kafka.source.offsets_initializer import KafkaOffsetsInitializer
from penstock.connectors.kafka.source.offsets_initializer import KafkaTopicPartition as Partition
from penstock.connectors.source import even_ranges
from penstock.errors import ConfigError

_MIN_TASK_SIZE = 5_000  # records; fewer are not worth another task

P = TypeVar("P")
PartitionKey = tuple[str, int]  # topic and partition


class OffsetRange(NamedTuple):
    """The records of a partition with offsets from `low` (inclusive) to `high` (exclusive)."""

    topic: str
    partition: int
    low: int
    high: int

    @property
    def key(self) -> PartitionKey:
        return self.topic, self.partition


def group_into_rounds(ranges: list[OffsetRange]) -> list[list[OffsetRange]]:
    """Groups the ranges so that each group has at most one range per partition.

    >>> ranges = [OffsetRange("a", 0, 0, 5), OffsetRange("a", 1, 2, 3), OffsetRange("a", 0, 5, 9)]
    >>> [[r.low for r in group] for group in group_into_rounds(ranges)]
    [[0, 2], [5]]
    """
    rounds = []
    remaining = list(ranges)
    while remaining:
        group: dict[PartitionKey, OffsetRange] = {}
        for r in remaining:
            group.setdefault(r.key, r)
        remaining = [r for r in remaining if group[r.key] is not r]
        rounds.append(list(group.values()))
    return rounds


def resolve_offsets(
    initializer: KafkaOffsetsInitializer, partitions: Collection[Partition], cluster: Cluster, committed_only: bool
) -> Offsets:
    """Returns the offset of each partition that the initializer specifies."""
    if initializer.kind == "earliest":
        return cluster.earliest_offsets(partitions)
    if initializer.kind == "latest":
        return cluster.end_offsets(partitions, committed_only)
    if initializer.kind == "timestamp":
        return cluster.offsets_at_time(partitions, initializer.at, committed_only)
    known = {p: initializer.given[p] for p in partitions if p in initializer.given}
    rest = [p for p in partitions if p not in known]
    known |= cluster.committed_offsets(rest) if rest and cluster.group else {}
    missing = [p for p in partitions if p not in known]
    if not missing:
        return known
    if initializer.reset is Reset.NONE:
        partition = missing[0]
        raise ConfigError(
            "KAFKA_NO_OFFSET",
            f"The consumer group {cluster.group!r} has no committed offset for partition {partition.partition} of topic "
            f"'{partition.topic}', but the starting offsets require one. Pass KafkaOffsetResetStrategy.EARLIEST or LATEST to "
            "KafkaOffsetsInitializer.committed_offsets or offsets.",
        )
    if initializer.reset is Reset.EARLIEST:
        return known | cluster.earliest_offsets(missing)
    return known | cluster.end_offsets(missing, committed_only)


def admit_records(lags: Mapping[P, int], limit: int) -> dict[P, int]:
    """Limits the number of records per partition to `limit` in total, in proportion to the lag. No partition gets 0.

    >>> admit_records({"a": 900, "b": 100, "c": 1}, 100)
    {'a': 89, 'b': 9, 'c': 1}
    """
    total = sum(lags.values())
    if total <= limit:
        return dict(lags)
    return {p: max(1, lag * limit // total) for p, lag in lags.items()}


def assign_to_tasks(ranges: list[OffsetRange], parallelism: int) -> list[list[OffsetRange]]:
    """Distributes ranges over tasks of about the same size. A large range is split over several tasks.

    >>> assign_to_tasks([OffsetRange("a", 0, 0, 40_000)], 2)
    [[OffsetRange(topic='a', partition=0, low=0, high=20000)], [OffsetRange(topic='a', partition=0, low=20000, high=40000)]]
    """
    total = sum(r.high - r.low for r in ranges)
    share = max(1.0, total / max(1, parallelism))
    pieces = [
        OffsetRange(r.topic, r.partition, low, high)
        for r in ranges
        for low, high in even_ranges(r.low, r.high, round((r.high - r.low) / share), _MIN_TASK_SIZE)
    ]
    tasks: list[list[OffsetRange]] = [[] for _ in range(max(1, parallelism))]
    before = 0
    for piece in pieces:  # in order, so that the pieces of a partition are in task order
        size = piece.high - piece.low
        tasks[min(len(tasks) - 1, int((before + size / 2) / share))].append(piece)
        before += size
    return [task for task in tasks if task]
