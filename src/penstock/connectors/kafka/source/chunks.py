"""Makes chunks of Kafka's messages: values decoded by whole batches, or elements of whole records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np

from penstock.connectors.kafka.blocks import Block
from penstock.connectors.kafka.ranges import Range
from penstock.connectors.kafka.record import KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.source import Chunk
from penstock.formats.bad_record import BadRecord
from penstock.formats.decoding import Decoding
from penstock.formats.schema import DeserializationSchema

Part = TypeVar("Part", contravariant=True)

_CHUNK = 40_000  # records
_CHUNK_BYTES = 32 << 20  # about so much: the size of a chunk's first and last record stands for all


def split_name(topic: str, partition: int) -> str:
    """A split's name is Flink's.

    >>> split_name("orders", 3)
    'orders-3'
    """
    return f"{topic}-{partition}"


class ValueChunks:
    """Gathers the messages of one range; their values become elements."""

    def __init__(self, of: Range, schema: DeserializationSchema[Any]) -> None:
        self._of = of
        self._decoding = Decoding(schema)
        self._split = split_name(of.topic, of.partition)
        self._clear()

    def _clear(self) -> None:
        self._values: list[Any] = []
        self._stamps: list[int] = []
        self._offsets: list[Any] = []
        self._bad: list[BadRecord] = []
        self._skipped = 0
        self._bytes = 0
        self._start: int | None = None

    def add(self, block: Block) -> Chunk | None:
        """A chunk, when enough has come together. Values are decoded at once, while they are in the processor's cache."""
        raw, offsets, stamps = block.values, block.offsets, block.stamps
        if self._start is None:
            self._start = int(offsets[0])

        def place_of(i: int) -> tuple[int, dict[str, Any]]:
            return int(offsets[i]), _facts(self._of, int(offsets[i]), stamps[i] if stamps else None)

        decoded = self._decoding.decode(raw, place_of)
        if (kept := decoded.kept_indices) is not None:
            offsets = offsets[kept]
            stamps = [stamps[i] for i in kept] if stamps else stamps
        self._values += decoded.values
        self._stamps += stamps
        self._offsets.append(offsets)
        self._bad += decoded.bad
        self._skipped += decoded.skipped
        self._bytes += len(raw) * max(len(raw[0] or b""), len(raw[-1] or b""))
        return self.take() if len(self._values) >= _CHUNK or self._bytes >= _CHUNK_BYTES else None

    def take(self) -> Chunk | None:
        """What has come together."""
        if self._start is None:
            return None
        chunk = Chunk(
            self._split,
            self._start,
            self._values,
            _stamped(self._stamps),
            self._offsets[0] if len(self._offsets) == 1 else np.concatenate(self._offsets),
            bad=self._bad,
            skipped=self._skipped,
        )
        self._clear()
        return chunk


class RecordChunks:
    """Gathers the messages of one range; a schema of the user's makes elements of whole records."""

    def __init__(self, of: Range, schema: KafkaRecordDeserializationSchema[Any]) -> None:
        self._of = of
        self._schema = schema
        self._split = split_name(of.topic, of.partition)
        self._clear()

    def _clear(self) -> None:
        self._values: list[Any] = []
        self._stamps: list[int] = []
        self._offsets: list[int] = []
        self._bad: list[BadRecord] = []
        self._start: int | None = None

    def add(self, messages: list[Any]) -> Chunk | None:
        """A chunk, when enough has come together."""
        if self._start is None:
            self._start = messages[0].offset()
        deserialize = self._schema.deserialize
        for message in messages:
            record = KafkaRecord.of(message)
            try:
                made = list(deserialize(record) or ())  # a function without a yield gives None
            except Exception as error:
                facts = _facts(self._of, record.offset, record.timestamp) | {
                    "key": record.key,
                    "headers": record.headers,
                }
                self._bad.append(BadRecord(record.offset, record.value or b"", error, facts))
                continue
            self._values += made
            self._offsets += [record.offset] * len(made)
            self._stamps += [record.timestamp] * len(made)
        return self.take() if len(self._values) + len(self._bad) >= _CHUNK else None

    def take(self) -> Chunk | None:
        """What has come together."""
        if self._start is None:
            return None
        stamps, offsets = _stamped(self._stamps), np.array(self._offsets, np.int64)
        chunk = Chunk(self._split, self._start, self._values, stamps, offsets, bad=self._bad)
        self._clear()
        return chunk


class Chunks(Protocol[Part]):
    """Gathers what was read of one range."""

    def add(self, part: Part, /) -> Chunk | None: ...

    def take(self) -> Chunk | None: ...


def gathered(read: Iterable[tuple[Range, Part]], chunks_of: Callable[[Range], Chunks[Part]]) -> Iterator[Chunk]:
    """What was read of some ranges, in chunks."""
    found: dict[Range, Chunks[Part]] = {}
    for of, part in read:
        chunks = found.get(of)
        if chunks is None:
            chunks = found[of] = chunks_of(of)
        chunk = chunks.add(part)
        if chunk is not None:
            yield chunk
    for chunks in found.values():
        if (chunk := chunks.take()) is not None:
            yield chunk


def _facts(of: Range, offset: int, timestamp: int | None) -> dict[str, Any]:
    return {"topic": of.topic, "partition": of.partition, "offset": offset, "timestamp": timestamp}


def _stamped(stamps: list[int]) -> list[int] | None:
    """Records of topics without timestamps have -1."""
    return stamps if stamps and stamps[0] >= 0 else None
