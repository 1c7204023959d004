"""Makes chunks of Kafka's messages: values decoded by whole batches, or elements of whole records."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.connectors.kafka.reader import Range
from penstock.connectors.kafka.record import KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.source import Chunk
from penstock.formats.bad_record import BadRecord
from penstock.formats.decoding import Decoding
from penstock.formats.schema import DeserializationSchema
from penstock.time import NO_TIMESTAMP

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
        self._messages: list[Any] = []
        self._offsets: list[Any] = []
        self._bytes = 0

    def add(self, messages: list[Any]) -> Chunk | None:
        """A chunk, when enough has come together."""
        first, last, n = messages[0].offset(), messages[-1].offset(), len(messages)
        # Offsets rise: so many of them in a range of this size are all of it.
        dense = last - first + 1 == n
        self._offsets.append(np.arange(first, last + 1) if dense else np.array([m.offset() for m in messages]))
        values = [m.value() for m in messages]
        self._values += values
        self._messages += messages  # for their timestamps, which cost a call each and may not be needed
        self._bytes += n * max(len(values[0] or b""), len(values[-1] or b""))
        return self.take() if len(self._values) >= _CHUNK or self._bytes >= _CHUNK_BYTES else None

    def take(self) -> Chunk | None:
        """What has come together."""
        if not self._values:
            return None
        raw, messages = self._values, self._messages
        offsets = self._offsets[0] if len(self._offsets) == 1 else np.concatenate(self._offsets)
        self._clear()

        def place_of(i: int) -> tuple[int, dict[str, Any]]:
            return int(offsets[i]), _facts(self._of, int(offsets[i]), messages[i].timestamp()[1])

        decoded = self._decoding.decode(raw, place_of)
        kept = decoded.kept_indices
        wanted = messages if kept is None else [messages[i] for i in kept]
        return Chunk(
            self._split,
            int(offsets[0]),
            decoded.values,
            lambda: _stamped([m.timestamp()[1] for m in wanted]),
            offsets if kept is None else offsets[kept],
            bad=decoded.bad,
            skipped=decoded.skipped,
        )


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


def _facts(of: Range, offset: int, timestamp: int) -> dict[str, Any]:
    return {"topic": of.topic, "partition": of.partition, "offset": offset, "timestamp": timestamp}


def _stamped(stamps: list[int]) -> list[int]:
    """Records of topics without timestamps have -1."""
    return [NO_TIMESTAMP] * len(stamps) if stamps and stamps[0] < 0 else stamps
