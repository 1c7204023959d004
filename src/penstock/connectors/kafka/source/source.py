"""The Kafka source: what the driver plans, and what tasks read."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.admission import shared_out, spread
from penstock.connectors.kafka.chunks import RecordChunks, ValueChunks, gathered, split_name
from penstock.connectors.kafka.cluster import Cluster, Offsets
from penstock.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer
from penstock.connectors.kafka.offsets_initializer import KafkaTopicPartition as Partition
from penstock.connectors.kafka.places import resolved
from penstock.connectors.kafka.ranges import Range
from penstock.connectors.kafka.reader import RangeReader, out_of_range, tell_gap
from penstock.connectors.kafka.record import KafkaRecordDeserializationSchema
from penstock.connectors.source import DEFAULT_RECORDS_PER_BATCH, Chunk, Offset, Source
from penstock.formats.schema import DeserializationSchema

if TYPE_CHECKING:
    from penstock.connectors.kafka.source_builder import KafkaSourceBuilder

_STOP = "#stop"  # no topic is called so
_BEHIND = "#behind"
_LEAST_PAUSE = 0.02  # seconds between two questions for the ends, when there was nothing new

Schema = DeserializationSchema[Any] | KafkaRecordDeserializationSchema[Any]


@dataclass(frozen=True)
class Subscription:
    """Which partitions are read: all of some topics, all of topics whose names match a pattern, or these."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: frozenset[Partition] = frozenset()

    def found(self, cluster: Cluster) -> list[Partition]:
        """The partitions that there are now."""
        if self.pattern is not None:
            matches = re.compile(self.pattern).fullmatch
            topics = [name for name in cluster.topics() if matches(name)]
            return cluster.partitions_of(topics) if topics else []
        if self.topics:
            return cluster.partitions_of(self.topics)
        there = set(cluster.partitions_of({p.topic for p in self.partitions}))
        for missing in sorted(self.partitions - there):
            raise cluster.unknown(f"partition {missing.partition} of topic '{missing.topic}'")
        return sorted(self.partitions)


class KafkaSource(Source):
    """Reads topics of Kafka. Its splits are partitions, its positions their offsets.

    An offset of the source is {topic: {partition: next offset}}. Beside it stand, where they matter, the offsets at which it
    stops and the splits that had more than was read; so a batch that runs again hears the same.
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
        self._discover_every = discover_every  # seconds; None: never
        self._commits = commits and "group.id" in self._options
        self._timeout = timeout
        self._committed_only = self._options.get("isolation.level") == "read_committed"
        self._forget()

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """A builder with PyFlink's setters.

        >>> KafkaSource.builder().set_topics("orders").set_group_id("shop") is not None
        True
        """
        from penstock.connectors.kafka.source_builder import KafkaSourceBuilder

        return KafkaSourceBuilder()

    def _forget(self) -> None:
        self._cluster: Cluster | None = None
        self._next_look = 0.0  # for new partitions
        self._next_question = 0.0  # for the ends
        self._lag: int | None = None
        self._checked = False  # that the saved positions are still there
        self._committed: Offset | None = None

    def __getstate__(self) -> dict[str, Any]:
        copy = KafkaSource.__new__(KafkaSource)
        copy.__dict__.update(self.__dict__)
        copy._forget()
        return copy.__dict__

    # -- on the driver

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._options, self._timeout)
        return self._cluster

    def initial(self) -> Offset:
        cluster = self._connected()
        partitions = self._subscription.found(cluster)
        offset = _nested(resolved(self._start, partitions, cluster, self._committed_only))
        if self._stop is not None:
            offset[_STOP] = _nested(resolved(self._stop, partitions, cluster, self._committed_only))
        self._next_look = self._look_after()
        self._checked = True
        return offset

    def first_splits(self) -> list[str]:
        cluster = Cluster(self._options, self._timeout)
        try:
            return [split_name(*p) for p in self._subscription.found(cluster)]
        finally:
            cluster.close()

    def latest(self, start: Offset) -> Offset:
        at, stops = _flat(start), _flat(start.get(_STOP, {}))
        open_ = {p: o for p, o in at.items() if o < stops.get(p, o + 1)}
        now = time.monotonic()
        found = self._new_partitions(at) if now >= self._next_look else {}
        if now < self._next_question and not found:
            return start
        cluster = self._connected()
        ends = cluster.ends(open_, self._committed_only) if open_ else {}
        if not self._checked or any(end < open_[p] for p, end in ends.items()):
            open_ = self._still_there(open_, ends)
        ends = {p: min(end, stops.get(p, end)) for p, end in ends.items()}
        lags = {p: ends[p] - o for p, o in open_.items() if ends[p] > o}
        admitted = {p: lag for p, lag in lags.items() if split_name(*p) not in self.paused}
        taken = shared_out(admitted, self.records_per_batch)
        moved = {p: o + taken.get(p, 0) for p, o in open_.items()}
        self._lag = sum(lags.values()) - sum(taken.values())
        after = {**at, **moved, **found}
        if after == at:
            self._next_question = now + _LEAST_PAUSE
            return start
        behind = sorted(split_name(*p) for p, lag in lags.items() if lag > taken.get(p, 0))
        return {
            **_nested(after),
            **({_STOP: start[_STOP]} if _STOP in start else {}),
            **({_BEHIND: behind} if behind else {}),
        }

    def _look_after(self) -> float:
        never = self._discover_every is None or self.stops
        return float("inf") if never else time.monotonic() + (self._discover_every or 0.0)

    def _new_partitions(self, known: Offsets) -> Offsets:
        """Partitions that were not there before, at their beginnings: they are read from the next batch on."""
        self._next_look = self._look_after()
        if self.stops:
            return {}
        fresh = [p for p in self._subscription.found(self._connected()) if p not in known]
        return self._connected().earliest(fresh)

    def _still_there(self, at: Offsets, ends: Offsets) -> Offsets:
        """Positions that Kafka still has; of the others, what the policy says."""
        self._checked = True
        begins = self._connected().earliest(at)
        mended = dict(at)
        for partition, offset in at.items():
            low, high = begins[partition], ends[partition]
            if low <= offset <= high:
                continue
            if self._reset == "none":
                raise out_of_range(*partition, offset, low, high)
            mended[partition] = low if self._reset == "earliest" else high
            tell_gap(*partition, offset, mended[partition], self._reset)
        return mended

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        before, after = _flat(start), _flat(end)
        ranges = [Range(*p, before[p], high) for p, high in after.items() if high > before.get(p, high)]
        return spread(ranges, parallelism)

    def splits(self, offset: Offset) -> list[str]:
        return [split_name(*p) for p in _flat(offset)]

    def ended(self, offset: Offset) -> list[str]:
        stops = _flat(offset.get(_STOP, {}))
        return [split_name(*p) for p, at in _flat(offset).items() if p in stops and at >= stops[p]]

    def waiting(self, end: Offset) -> list[str]:
        behind: list[str] = end.get(_BEHIND, [])
        return behind

    def lag(self, end: Offset) -> int | None:
        return self._lag

    def committed(self, offset: Offset) -> None:
        """For monitors outside: the group's offsets in Kafka follow."""
        if self._commits and offset != self._committed:
            self._committed = offset
            self._connected().commit(_flat(offset))

    # -- where the data is processed

    def read(self, task: Any) -> Iterator[Chunk]:
        reader = RangeReader(self._options, self._timeout, self._reset)
        ranges, schema = [Range(*r) for r in task], self._schema
        if isinstance(schema, KafkaRecordDeserializationSchema):
            return gathered(reader.read(ranges), lambda of: RecordChunks(of, schema))
        return gathered(reader.read_values(ranges, self.stamps_wanted), lambda of: ValueChunks(of, schema))


def _nested(offsets: Mapping[Partition, int]) -> dict[str, Any]:
    """As Spark keeps it: JSON.

    >>> _nested({Partition("orders", 0): 5})
    {'orders': {'0': 5}}
    """
    nested: dict[str, Any] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(partition)] = offset
    return nested


def _flat(offset: Mapping[str, Any]) -> Offsets:
    """The offset of each partition.

    >>> _flat({"orders": {"0": 5}, "#behind": []})
    {KafkaTopicPartition(topic='orders', partition=0): 5}
    """
    return {
        Partition(topic, int(number)): at
        for topic, partitions in offset.items()
        if topic[0] != "#"
        for number, at in partitions.items()
    }
