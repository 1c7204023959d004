"""Builds chunks of elements from Kafka records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np

from penstock.connectors.kafka.protocol.value_block import ValueBlock
from penstock.connectors.kafka.source.planning import OffsetRange
from penstock.connectors.kafka.source.record import KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.source import Chunk
from penstock.formats.bad_record import BadRecord
from penstock.formats.decoding import Decoding
from penstock.formats.schema import DeserializationSchema

Part = TypeVar("Part", contravariant=True)

_CHUNK_SIZE = 40_000  # records
_CHUNK_BYTES = 32 << 20  # approximate; estimated from the first and last record of each block


def split_name(topic: str, partition: int) -> str:
    """Returns the name of a split, in the same form as in Flink.

    >>> split_name("orders", 3)
    'orders-3'
    """
    return f"{topic}-{partition}"


class ValueChunkBuilder:
    """Collects the records of one range and deserializes their values."""

    def __init__(self, range_: OffsetRange, schema: DeserializationSchema[Any]) -> None:
        self._range = range_
        self._decoding = Decoding(schema)
        self._split = split_name(range_.topic, range_.partition)
        self._clear()

    def _clear(self) -> None:
        self._values: list[Any] = []
        self._timestamps: list[int] = []
        self._offsets: list[Any] = []
        self._bad: list[BadRecord] = []
        self._skipped = 0
        self._bytes = 0
        self._start: int | None = None

    def add(self, block: ValueBlock) -> Chunk | None:
        """Adds a block. Returns a chunk if enough records have been collected.

        Values are decoded immediately, while they are in the CPU cache.
        """
        raw, offsets, timestamps = block.values, block.offsets, block.timestamps
        if self._start is None:
            self._start = int(offsets[0])

        def describe(i: int) -> tuple[int, dict[str, Any]]:
            return int(offsets[i]), _metadata(self._range, int(offsets[i]), timestamps[i] if timestamps else None)

        decoded = self._decoding.decode(raw, describe)
        if (kept := decoded.kept_indices) is not None:
            offsets = offsets[kept]
            timestamps = [timestamps[i] for i in kept] if timestamps else timestamps
        self._values += decoded.values
        self._timestamps += timestamps
        self._offsets.append(offsets)
        self._bad += decoded.bad
        self._skipped += decoded.skipped
        self._bytes += len(raw) * max(len(raw[0] or b""), len(raw[-1] or b""))
        return self.flush() if len(self._values) >= _CHUNK_SIZE or self._bytes >= _CHUNK_BYTES else None

    def flush(self) -> Chunk | None:
        """Returns a chunk of the collected records, or None if there are none."""
        if self._start is None:
            return None
        chunk = Chunk(
            self._split,
            self._start,
            self._values,
            _valid_timestamps(self._timestamps),
            self._offsets[0] if len(self._offsets) == 1 else np.concatenate(self._offsets),
            bad=self._bad,
            skipped=self._skipped,
        )
        self._clear()
        return chunk


class RecordChunkBuilder:
    """Collects the records of one range and deserializes them with a KafkaRecordDeserializationSchema."""

    def __init__(self, range_: OffsetRange, schema: KafkaRecordDeserializationSchema[Any]) -> None:
        self._range = range_
        self._schema = schema
        self._split = split_name(range_.topic, range_.partition)
        self._clear()

    def _clear(self) -> None:
        self._values: list[Any] = []
        self._timestamps: list[int] = []
        self._offsets: list[int] = []
        self._bad: list[BadRecord] = []
        self._start: int | None = None

    def add(self, messages: list[Any]) -> Chunk | None:
        """Adds messages. Returns a chunk if enough records have been collected."""
        if self._start is None:
            self._start = messages[0].offset()
        deserialize = self._schema.deserialize
        for message in messages:
            record = KafkaRecord.of(message)
            try:
                elements = list(deserialize(record) or ())  # a function without a yield returns None
            except Exception as error:
                metadata = _metadata(self._range, record.offset, record.timestamp) | {
                    "key": record.key,
                    "headers": record.headers,
                }
                self._bad.append(BadRecord(record.offset, record.value or b"", error, metadata))
                continue
            self._values += elements
            self._offsets += [record.offset] * len(elements)
            self._timestamps += [record.timestamp] * len(elements)
        return self.flush() if len(self._values) + len(self._bad) >= _CHUNK_SIZE else None

    def flush(self) -> Chunk | None:
        """Returns a chunk of the collected records, or None if there are none."""
        if self._start is None:
            return None
        timestamps, offsets = _valid_timestamps(self._timestamps), np.array(self._offsets, np.int64)
        chunk = Chunk(self._split, self._start, self._values, timestamps, offsets, bad=self._bad)
        self._clear()
        return chunk


class ChunkBuilder(Protocol[Part]):
    """Collects the records of one range."""

    def add(self, part: Part, /) -> Chunk | None: ...

    def flush(self) -> Chunk | None: ...


def build_chunks(
    parts: Iterable[tuple[OffsetRange, Part]], create_builder: Callable[[OffsetRange], ChunkBuilder[Part]]
) -> Iterator[Chunk]:
    """Yields chunks of the records that were read from some ranges."""
    builders: dict[OffsetRange, ChunkBuilder[Part]] = {}
    for range_, part in parts:
        builder = builders.get(range_)
        if builder is None:
            builder = builders[range_] = create_builder(range_)
        chunk = builder.add(part)
        if chunk is not None:
            yield chunk
    for builder in builders.values():
        if (chunk := builder.flush()) is not None:
            yield chunk


def _metadata(range_: OffsetRange, offset: int, timestamp: int | None) -> dict[str, Any]:
    return {"topic": range_.topic, "partition": range_.partition, "offset": offset, "timestamp": timestamp}


def _valid_timestamps(timestamps: list[int]) -> list[int] | None:
    """Returns None for topics without timestamps, whose records have -1."""
    return timestamps if timestamps and timestamps[0] >= 0 else None
