"""The Kafka source."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.source.chunks import RecordChunkBuilder, ValueChunkBuilder, build_chunks, split_name
from penstock.connectors.kafka.source.cluster import Cluster, Offsets
from penstock.connectors.kafka.source.offsets_initializer import KafkaOffsetsInitializer
from penstock.connectors.kafka.source.offsets_initializer import KafkaTopicPartition as Partition
from penstock.connectors.kafka.source.planning import OffsetRange, admit_records, assign_to_tasks, resolve_offsets
from penstock.connectors.kafka.source.reader import RangeReader, log_gap, out_of_range_error
from penstock.connectors.kafka.source.record import KafkaRecordDeserializationSchema
from penstock.connectors.source import DEFAULT_RECORDS_PER_BATCH, Chunk, Offset, Source
from penstock.formats.schema import DeserializationSchema

if TYPE_CHECKING:
    from penstock.connectors.kafka.source.source_builder import KafkaSourceBuilder

_STOP = "#stop"  # not a valid topic name
_BEHIND = "#behind"
_MIN_QUERY_INTERVAL = 0.02  # seconds between two queries of the end offsets, if there were no new records

Schema = DeserializationSchema[Any] | KafkaRecordDeserializationSchema[Any]


@dataclass(frozen=True)
class Subscription:
    """The partitions to read: all of some topics, all of the topics that match a pattern, or a given set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: frozenset[Partition] = frozenset()

    def find_partitions(self, cluster: Cluster) -> list[Partition]:
        """Returns the partitions that exist now."""
        if self.pattern is not None:
            matches = re.compile(self.pattern).fullmatch
            topics = [name for name in cluster.topics() if matches(name)]
            return cluster.partitions_of(topics) if topics else []
        if self.topics:
            return cluster.partitions_of(self.topics)
        existing = set(cluster.partitions_of({p.topic for p in self.partitions}))
        for missing in sorted(self.partitions - existing):
            raise cluster.unknown_topic_error(f"partition {missing.partition} of topic '{missing.topic}'")
        return sorted(self.partitions)

    def includes(self, partition: Partition) -> bool:
        """Whether a partition is one of those to read, if it exists."""
        if self.pattern is not None:
            return re.fullmatch(self.pattern, partition.topic) is not None
        return partition.topic in self.topics or partition in self.partitions


class KafkaSource(Source):
    """Reads Kafka topics. Create it with `KafkaSource.builder()`.

    Each partition is a split. The offset of the source is {topic: {partition: next offset}}. It also contains the stop offsets
    and the splits with unread records, if there are any, so that a batch that runs again gets the same values.
    """

    def __init__(
        self,
        subscription: Subscription,
        schema: Schema,
        options: Mapping[str, Any],
        *,
        start: KafkaOffsetsInitializer,
        stop: KafkaOffsetsInitializer | None = None,
        bounded: bool = False,
        reset: str = "none",
        discover_every: float | None = None,
        commits: bool = True,
        timeout: float = 30.0,
    ) -> None:
        self.bounded = bounded
        self.stops = stop is not None
        self.records_per_batch: int = DEFAULT_RECORDS_PER_BATCH
        self.output_type = schema.output_type
        self.output_is_exact = bool(getattr(schema, "output_is_exact", False))
        self._subscription = subscription
        self._schema = schema
        self._options = dict(options)
        self._start, self._stop = start, stop
        self._reset = reset
        self._discover_every = discover_every  # seconds; None means never
        self._commits = commits and "group.id" in self._options
        self._timeout = timeout
        self._committed_only = self._options.get("isolation.level") == "read_committed"
        self._clear_connection()

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Returns a builder with the same methods as in PyFlink.

        >>> KafkaSource.builder().set_topics("orders").set_group_id("shop") is not None
        True
        """
        from penstock.connectors.kafka.source.source_builder import KafkaSourceBuilder

        return KafkaSourceBuilder()

    def _clear_connection(self) -> None:
        self._cluster: Cluster | None = None
        self._next_discovery = 0.0  # time of the next search for new partitions
        self._next_query = 0.0  # time of the next query of the end offsets
        self._lag: int | None = None
        self._checked = False  # whether Kafka still has the restored positions
        self._committed: Offset | None = None

    def __getstate__(self) -> dict[str, Any]:
        copy = KafkaSource.__new__(KafkaSource)
        copy.__dict__.update(self.__dict__)
        copy._clear_connection()
        return copy.__dict__

    # -- on the driver

    def _connect(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._options, self._timeout)
        return self._cluster

    def initial(self) -> Offset:
        cluster = self._connect()
        partitions = self._subscription.find_partitions(cluster)
        offset = _to_json(resolve_offsets(self._start, partitions, cluster, self._committed_only))
        if self._stop is not None:
            offset[_STOP] = _to_json(resolve_offsets(self._stop, partitions, cluster, self._committed_only))
        self._next_discovery = self._discovery_time()
        self._checked = True
        return offset

    def first_splits(self) -> list[str]:
        cluster = Cluster(self._options, self._timeout)
        try:
            return [split_name(*p) for p in self._subscription.find_partitions(cluster)]
        finally:
            cluster.close()

    def latest(self, start: Offset) -> Offset:
        at, stops = _from_json(start), _from_json(start.get(_STOP, {}))
        open_ = {p: o for p, o in at.items() if o < stops.get(p, o + 1)}
        now = time.monotonic()
        discovered = self._discover_partitions(at) if now >= self._next_discovery else {}
        if now < self._next_query and not discovered:
            return start
        cluster = self._connect()
        ends = cluster.end_offsets(open_, self._committed_only) if open_ else {}
        if not self._checked or any(end < open_[p] for p, end in ends.items()):
            open_ = self._check_positions(open_, ends)
        ends = {p: min(end, stops.get(p, end)) for p, end in ends.items()}
        lags = {p: ends[p] - o for p, o in open_.items() if ends[p] > o}
        active_lags = {p: lag for p, lag in lags.items() if split_name(*p) not in self.paused}
        admitted = admit_records(active_lags, self.records_per_batch)
        moved = {p: o + admitted.get(p, 0) for p, o in open_.items()}
        self._lag = sum(lags.values()) - sum(admitted.values())
        after = {**at, **moved, **discovered}
        if after == at:
            self._next_query = now + _MIN_QUERY_INTERVAL
            return start
        behind = sorted(split_name(*p) for p, lag in lags.items() if lag > admitted.get(p, 0))
        return {
            **_to_json(after),
            **({_STOP: start[_STOP]} if _STOP in start else {}),
            **({_BEHIND: behind} if behind else {}),
        }

    def _discovery_time(self) -> float:
        never = self._discover_every is None or self.stops
        return float("inf") if never else time.monotonic() + (self._discover_every or 0.0)

    def _discover_partitions(self, known: Offsets) -> Offsets:
        """Returns new partitions with their earliest offsets. They are read from the next batch on."""
        self._next_discovery = self._discovery_time()
        if self.stops:
            return {}
        fresh = [p for p in self._subscription.find_partitions(self._connect()) if p not in known]
        return self._connect().earliest_offsets(fresh)

    def _check_positions(self, at: Offsets, ends: Offsets) -> Offsets:
        """Returns the positions. Those that Kafka no longer has are corrected according to `auto.offset.reset`."""
        self._checked = True
        begins = self._connect().earliest_offsets(at)
        corrected = dict(at)
        for partition, offset in at.items():
            low, high = begins[partition], ends[partition]
            if low <= offset <= high:
                continue
            if self._reset == "none":
                raise out_of_range_error(*partition, offset, low, high)
            corrected[partition] = low if self._reset == "earliest" else high
            log_gap(*partition, offset, corrected[partition], self._reset)
        return corrected

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        before, after = _from_json(start), _from_json(end)
        ranges = [OffsetRange(*p, before[p], high) for p, high in after.items() if high > before.get(p, high)]
        return assign_to_tasks(ranges, parallelism)

    def foreign_parts(self, position: Offset) -> list[str]:
        foreign = [p for p in sorted(_from_json(position)) if not self._subscription.includes(p)]
        if self._subscription.partitions:
            return [f"partition {p.partition} of topic '{p.topic}'" for p in foreign]
        return [f"topic '{topic}'" for topic in dict.fromkeys(p.topic for p in foreign)]

    def splits(self, offset: Offset) -> list[str]:
        return [split_name(*p) for p in _from_json(offset)]

    def ended(self, offset: Offset) -> list[str]:
        stops = _from_json(offset.get(_STOP, {}))
        return [split_name(*p) for p, at in _from_json(offset).items() if p in stops and at >= stops[p]]

    def waiting(self, end: Offset) -> list[str]:
        behind: list[str] = end.get(_BEHIND, [])
        return behind

    def is_full(self, start: Offset, end: Offset) -> bool:
        before, after = _from_json(start), _from_json(end)
        records = sum(offset - before.get(partition, offset) for partition, offset in after.items())
        return records >= self.records_per_batch or bool(self.waiting(end))

    def lag(self, end: Offset) -> int | None:
        return self._lag

    def committed(self, offset: Offset) -> None:
        """Commits the offsets to the consumer group in Kafka, for monitoring."""
        if self._commits and offset != self._committed:
            self._committed = offset
            self._connect().commit(_from_json(offset))

    # -- in tasks

    def read(self, task: Any) -> Iterator[Chunk]:
        reader = RangeReader(self._options, self._timeout, self._reset)
        ranges, schema = [OffsetRange(*r) for r in task], self._schema
        if isinstance(schema, KafkaRecordDeserializationSchema):
            return build_chunks(reader.read(ranges), lambda of: RecordChunkBuilder(of, schema))
        return build_chunks(reader.read_values(ranges, self.stamps_wanted), lambda of: ValueChunkBuilder(of, schema))


def _to_json(offsets: Mapping[Partition, int]) -> dict[str, Any]:
    """Converts offsets to the JSON form that checkpoints store.

    >>> _to_json({Partition("orders", 0): 5})
    {'orders': {'0': 5}}
    """
    nested: dict[str, Any] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(partition)] = offset
    return nested


def _from_json(offset: Mapping[str, Any]) -> Offsets:
    """Returns the offset of each partition.

    >>> _from_json({"orders": {"0": 5}, "#behind": []})
    {KafkaTopicPartition(topic='orders', partition=0): 5}
    """
    return {
        Partition(topic, int(number)): at
        for topic, partitions in offset.items()
        if topic[0] != "#"
        for number, at in partitions.items()
    }
