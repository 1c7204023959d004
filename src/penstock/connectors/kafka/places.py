"""Turns what was asked for - the beginning, the end, a time, the group's offsets - into offsets."""

from __future__ import annotations

from collections.abc import Collection

from penstock.connectors.kafka.cluster import Cluster, Offsets
from penstock.connectors.kafka.offsets_initializer import KafkaOffsetResetStrategy as Reset
from penstock.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from penstock.connectors.kafka.offsets_initializer import KafkaTopicPartition as Partition
from penstock.errors import ConfigError


def resolved(
    asked: KafkaOffsetsInitializer, partitions: Collection[Partition], cluster: Cluster, committed_only: bool
) -> Offsets:
    """An offset for each partition."""
    if asked.kind == "earliest":
        return cluster.earliest(partitions)
    if asked.kind == "latest":
        return cluster.ends(partitions, committed_only)
    if asked.kind == "timestamp":
        return cluster.at_time(partitions, asked.at, committed_only)
    known = {p: asked.given[p] for p in partitions if p in asked.given}
    rest = [p for p in partitions if p not in known]
    known |= cluster.committed(rest) if rest and cluster.group else {}
    missing = [p for p in partitions if p not in known]
    if not missing:
        return known
    if asked.reset is Reset.NONE:
        partition = missing[0]
        raise ConfigError(
            "KAFKA_NO_OFFSET",
            f"The group {cluster.group!r} has committed no offset of partition {partition.partition} of topic '{partition.topic}', "
            "and the starting offsets say that there is one. Give KafkaOffsetsInitializer.committed_offsets or offsets a "
            "KafkaOffsetResetStrategy, EARLIEST or LATEST.",
        )
    if asked.reset is Reset.EARLIEST:
        return known | cluster.earliest(missing)
    return known | cluster.ends(missing, committed_only)
